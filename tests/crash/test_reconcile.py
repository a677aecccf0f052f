"""What earlier runs left, met by trouble: other settings, other reconcilers, a provider that answers for some only."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from rewrite_batch import cancel
from rewrite_batch.simulator.process import running_simulator
from tests.crash.killer import Point
from tests.crash.test_provider_faults import CREATE, fault
from tests.crash.world import API_KEY, World

CANCEL = "rewrite_batch.provider.batches:cancel"
DELETE = "rewrite_batch.provider.batches:delete_file"
LIST = "rewrite_batch.provider.batches:list_since"


def in_doubt(world: World, *locales: str, kind: str = "reset_after") -> list[dict[str, Any]]:
    """A batch of two units a locale, whose create nobody saw the answer of; the provider's batches."""
    for locale in locales:
        world.enqueue(2, target_locale=locale)
    with fault(world, CREATE, kind, times=len(locales)):
        assert world.submit().code == 75
    assert world.batch_states() == ["create_sent"] * len(locales)
    return world.simulator.state()["batches"]


def twin_of(world: World, batch: dict[str, Any]) -> str:
    world.simulator.advance(1)
    with world.client() as client:
        return client.batches.create(
            input_file_id=batch["input_file_id"],
            endpoint="/v1/responses",
            completion_window="24h",
            metadata=batch["metadata"],
        ).id


def test_collect_alone_adopts_what_submit_left_and_cancels_its_twin(world: World) -> None:
    (first,) = in_doubt(world, "es")
    twin = twin_of(world, first)
    assert world.collect().code == 0
    assert world.statuses() == {"batch_submitted": 2}
    assert world.value("SELECT provider_batch_id FROM rewrite_batches") == first["id"]
    assert world.alerts() == ["twin_cancelled"]
    by_id = {batch["id"]: batch["status"] for batch in world.simulator.state()["batches"]}
    assert by_id[twin] in ("cancelling", "cancelled")
    world.recover()
    assert world.billed() == (1, 2)


def test_collect_alone_gives_up_what_was_never_created_after_the_grace_and_creates_nothing(world: World) -> None:
    in_doubt(world, "es", kind="reset_before")
    world.collect()
    assert world.batch_states() == ["create_sent"], "not before the grace"
    world.age()
    assert world.collect().code == 0
    assert world.batch_states() == ["abandoned"]
    assert world.statuses() == {"queued": 2}
    assert world.files_at_provider() == []
    assert world.calls(CREATE) == 1
    world.recover()
    assert world.billed() == (1, 2)


def test_collect_alone_gives_up_what_was_never_sent_and_deletes_its_file(world: World) -> None:
    world.enqueue(2)
    assert world.submit(Point("rewrite_batch.provider.batches:upload", "after", 0)).was_killed
    world.age()
    assert world.collect().code == 0
    assert world.batch_states() == ["abandoned"]
    assert world.statuses() == {"queued": 2}
    assert world.files_at_provider() == []
    assert world.calls(CREATE) == 0


def test_the_address_that_a_batch_really_went_to_is_on_record(world: World) -> None:
    world.enqueue(1)
    assert world.submit().code == 0
    assert world.value("SELECT base_url FROM rewrite_batches") == world.simulator.base_url


def test_after_a_change_of_address_nothing_is_given_up_and_the_old_one_is_asked_once_allowed(
    world: World, tmp_path: Any
) -> None:
    in_doubt(world, "es")
    world.simulator.advance(10)  # it runs
    with running_simulator(tmp_path / "other", API_KEY, time_scale=0) as other:
        for _ in range(2):
            world.age()
            run = world.submit(REWRITE_BATCH_PROVIDER_BASE_URL=other.base_url)
            assert run.code == 75
            assert run.result["reconciled"]["unreadable"] == 1
        assert other.calls() == []
        assert world.statuses() == {"processing": 2}
        assert world.alerts() == ["address_not_allowed"]
        run = world.submit(
            REWRITE_BATCH_PROVIDER_BASE_URL=other.base_url, REWRITE_BATCH_ALLOWED_BASE_URLS=world.simulator.base_url
        )
        assert run.result["reconciled"]["adopted"] == 1
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 2)


def test_a_key_of_another_account_decides_nothing(world: World) -> None:
    """The other account answers well: it has no such batch. Nor has it the file that we uploaded, and that tells."""
    in_doubt(world, "es")
    world.simulator.advance(10)
    with (
        fault(world, "batches.list", "stale_list", hide=1000, times=None),
        fault(world, "files.retrieve", "status", code=404, times=None),
    ):
        for _ in range(2):
            world.age()
            run = world.submit()
            assert run.code == 75
            assert run.result["reconciled"]["abandoned"] == 0
    assert world.alerts() == ["wrong_account"]
    assert world.statuses() == {"processing": 2}
    assert world.calls("files.delete") == 0
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 2)
    world.recover()


def test_a_batch_of_a_lost_account_is_given_up_once_its_units_are_canceled(world: World) -> None:
    in_doubt(world, "es", kind="reset_before")
    with fault(world, "files.retrieve", "status", code=404, times=None):
        world.age()
        assert world.submit().code == 75
        found = cancel.find(world.connection, batch_ids=world.batch_ids("create_sent"))
        cancel.cancel(world.connection, found.criteria, uuid4(), cancel_at_provider=lambda _id, _url: None)
        assert world.statuses() == {"canceled": 2}
        world.age()
        assert world.submit().result["reconciled"]["abandoned"] == 1
    assert world.batch_states() == ["abandoned"]


def test_a_reconciler_that_lost_its_lease_deletes_nothing_of_a_batch_that_another_adopted(world: World) -> None:
    in_doubt(world, "es")
    world.age()
    with fault(world, "batches.list", "stale_list"):  # the sleeper's list does not show it yet
        sleeper = world.start(Point("rewrite_batch.provider.batches:has_file", "after", 0, "SIGSTOP"))
        sleeper.wait_until_stopped()
    world.age()
    assert world.start().wait().result["reconciled"]["adopted"] == 1
    sleeper.wake().wait()
    world.wait_for_sessions_to_end()
    assert world.calls("files.delete") == 0
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 2)
    world.recover()


def test_a_reconciler_that_lost_its_lease_cancels_no_twin(world: World) -> None:
    """It would cancel the one that the other adopted."""
    (first,) = in_doubt(world, "es")
    second = twin_of(world, first)
    world.age()
    sleeper = world.start(Point("rewrite_batch.reconcile.ledger:renew", "before", 0, "SIGSTOP")).wait_until_stopped()
    world.simulator.end_batch(first["id"], "failed")
    world.age()
    assert world.start().wait().result["reconciled"]["adopted"] == 1
    assert world.value("SELECT provider_batch_id FROM rewrite_batches") == second
    sleeper.wake().wait()
    world.wait_for_sessions_to_end()
    assert world.calls("batches.cancel") == 0
    assert world.billed() == (1, 2)
    world.recover()


def test_the_list_is_read_once_a_pass_whatever_the_number_of_batches(world: World) -> None:
    in_doubt(world, "es", "de")
    assert world.submit().result["reconciled"]["adopted"] == 2
    assert world.calls("batches.list") == 1
    assert world.billed() == (2, 4)


def test_an_address_that_does_not_answer_is_asked_no_more_in_this_pass(world: World) -> None:
    in_doubt(world, "es", "de")
    with fault(world, "batches.list", "status", code=500, times=None):
        run = world.submit()
    assert run.code == 75
    assert run.result["reconciled"]["unreadable"] == 1
    assert world.calls("batches.list") == 3, "three tries, and not three a batch"
    assert world.submit().result["reconciled"]["adopted"] == 2
    world.recover()
    assert world.billed() == (2, 4)


def test_one_batch_that_cannot_be_reconciled_never_stops_another(world: World) -> None:
    first, _second = in_doubt(world, "es", "de")
    twin = twin_of(world, first)
    with fault(world, "batches.cancel", "status", code=422, times=None, match={"provider_batch_id": twin}):
        run = world.submit()
    assert run.code == 75
    assert (run.result["reconciled"]["unreadable"], run.result["reconciled"]["adopted"]) == (1, 1)
    world.recover()
    assert world.billed() == (2, 4)


def test_a_broken_promise_in_one_batch_is_an_alert_and_an_exit_code_and_stops_neither_others_nor_new_work(
    world: World,
) -> None:
    in_doubt(world, "es", "de")
    broken: UUID = world.value("SELECT batch_id FROM rewrite_batches ORDER BY updated_at LIMIT 1")
    world.connection.execute(  # an attempt that somebody counted by hand: the unit cannot be moved
        """UPDATE rewrite_batches SET updated_at = updated_at - interval '1 hour' WHERE batch_id = %s""", [broken]
    )
    world.connection.execute("SET session_replication_role = replica")  # past the guards, as no program of ours can
    world.connection.execute(
        """UPDATE rewrite_jobs SET attempt_count = attempt_count + 1
        WHERE job_id IN (SELECT job_id FROM rewrite_batch_items WHERE batch_id = %s)""",
        [broken],
    )
    world.enqueue(1, target_locale="fr")
    run = world.submit()
    assert run.code == 70, run.stderr
    assert run.result["submitted"] == 1
    assert world.alerts() == ["reconcile_failed"]
    assert sorted(world.batch_states()) == ["create_sent", "submitted", "submitted"]
    assert world.batch_ids("create_sent") == [broken]


def test_a_batch_that_was_put_off_comes_last_next_time(world: World) -> None:
    """The provider fails over one of two: its address is left alone for this pass; the next starts with the other."""
    first, _second = in_doubt(world, "es", "de")
    mine: str = first["metadata"]["batch_id"]
    world.connection.execute(
        "UPDATE rewrite_batches SET updated_at = now() - interval '1 day' WHERE batch_id = %s", [mine]
    )
    twin = twin_of(world, first)
    with fault(world, "batches.cancel", "status", code=500, times=None, match={"provider_batch_id": twin}):
        assert world.submit().result["reconciled"]["adopted"] == 0
        assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.batch_ids("create_sent") == [UUID(mine)]
    world.recover()
    assert world.billed() == (2, 4)


def test_a_twin_that_has_completed_is_adopted_and_money_that_is_lost_is_an_alert(world: World) -> None:
    (first,) = in_doubt(world, "es")
    second = twin_of(world, first)
    third = twin_of(world, first)
    world.simulator.end_batch(second, "completed")
    world.simulator.end_batch(third, "completed")
    assert world.submit().code == 0
    assert world.value("SELECT provider_batch_id FROM rewrite_batches") == second
    assert sorted(world.alerts()) == ["twin_billed", "twin_cancelled"]
    assert world.live_at_provider() == [second, third]
    world.connection.execute("UPDATE rewrite_alerts SET acknowledged_at = now(), acknowledged_by = 'somebody'")
    assert world.submit().code == 0
    assert len(world.alerts()) == 2, "somebody knows already"


def test_an_orphan_that_has_completed_is_an_alert(world: World) -> None:
    """Its create came late, its file could not be deleted, and nobody looked before it ran."""
    world.enqueue(2)
    with fault(world, CREATE, "late_create", seconds=60):
        assert world.submit().code == 75
    world.age()
    with fault(world, "files.delete", "status", code=404, times=None):
        assert world.submit().code == 0
    world.simulator.advance(61)
    late = world.simulator.state()["batches"][0]["id"]
    world.simulator.end_batch(late, "completed")
    assert world.submit().code == 0
    assert world.alerts() == ["orphan_billed"]
    assert world.calls("batches.cancel") == 0


def test_a_second_file_that_the_list_showed_too_late_is_deleted_by_a_later_run(world: World) -> None:
    world.enqueue(2)
    with fault(world, "files.create", "reset_after"), fault(world, "files.list", "stale_list"):
        assert world.submit().code == 0
    assert len(world.files_at_provider()) == 2
    assert world.submit().result["reconciled"]["files_deleted"] == 1
    assert len(world.files_at_provider()) == 1
    assert world.billed() == (1, 2)
    world.recover()


@pytest.mark.parametrize("command", ["submit", "collect"])
def test_a_signal_while_reconcile_works_ends_it_between_two_batches(world: World, command: str) -> None:
    in_doubt(world, "es", "de")
    start = world.submit if command == "submit" else world.collect
    run = start(Point("rewrite_batch.reconcile.ledger:register", "after", 0, "SIGTERM"))
    assert run.code == 143
    assert sorted(world.batch_states()) == ["create_sent", "submitted"]
    world.recover()
    assert world.billed() == (2, 4)
