"""What the provider can do to us, one fault a test: each asserts that its fault fired and what is on the bill."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.crash.killer import Point
from tests.crash.world import World

CREATE = "batches.create"


@contextmanager
def fault(world: World, operation: str, kind: str, **more: Any) -> Generator[None]:
    """A fault that is armed and never fires fails its test."""
    number = world.simulator.arm({"operation": operation, "kind": kind, **more})
    yield
    assert world.simulator.fired(number) >= 1, f"{kind} of {operation} never fired"
    world.simulator.disarm(number)


LOST_REPLIES: dict[str, dict[str, Any]] = {
    "reset": {"kind": "reset_after"},
    "timeout": {"kind": "hang_after"},
    "status 500": {"kind": "status", "code": 500, "after_work": True},
    "status 408": {"kind": "status", "code": 408, "after_work": True},
    "status 409": {"kind": "status", "code": 409, "after_work": True},
    "half an answer": {"kind": "broken_json"},
    "a web page": {"kind": "html", "after_work": True},
    "cut off": {"kind": "truncate", "how": "close"},
}


@pytest.mark.parametrize("lost", list(LOST_REPLIES))
def test_a_create_whose_reply_is_lost_is_adopted_and_never_repeated(world: World, lost: str) -> None:
    world.enqueue(3)
    with fault(world, CREATE, **LOST_REPLIES[lost]):
        run = world.submit(REWRITE_BATCH_PROVIDER_TIMEOUT_S="1")
    assert run.code == 75
    assert run.result["undecided"] == 3
    assert world.statuses() == {"processing": 3}
    assert world.batch_states() == ["create_sent"]
    run = world.submit()  # at once: what is found needs no grace
    assert run.code == 0
    assert run.result["reconciled"]["adopted"] == 1
    assert world.statuses() == {"batch_submitted": 3}
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 3)
    world.recover()


NEVER_DONE: dict[str, dict[str, Any]] = {
    "reset": {"kind": "reset_before"},
    "timeout": {"kind": "hang_before"},
    "status 500": {"kind": "status", "code": 500},
    "status 503": {"kind": "status", "code": 503},
    "a web page": {"kind": "html"},
}


@pytest.mark.parametrize("never", list(NEVER_DONE))
def test_a_create_that_nobody_saw_is_made_again_only_after_the_grace(world: World, never: str) -> None:
    world.enqueue(3)
    with fault(world, CREATE, **NEVER_DONE[never]):
        assert world.submit(REWRITE_BATCH_PROVIDER_TIMEOUT_S="1").code == 75
    early = world.submit()
    assert early.result["reconciled"]["waiting"] == 1
    assert world.statuses() == {"processing": 3}
    assert world.calls(CREATE) == 1
    world.recover()
    assert world.statuses() == {"batch_submitted": 3}
    assert world.batch_states() == ["abandoned", "submitted"]
    assert world.calls(CREATE) == 2
    assert world.billed() == (1, 3)
    world.check(at_rest=True)


def test_a_late_create_within_the_grace_is_adopted(world: World) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "late_create", seconds=60):
        assert world.submit().code == 75
    assert world.submit().result["reconciled"]["waiting"] == 1
    world.simulator.advance(61)
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 3)
    world.recover()


def test_a_create_that_arrives_after_we_gave_up_finds_no_file_and_bills_nothing(world: World) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "late_create", seconds=60):
        assert world.submit().code == 75
    world.age()
    assert world.submit().code == 0
    assert world.statuses() == {"batch_submitted": 3}
    world.simulator.advance(61)  # there it is, and without its file it fails
    assert world.billed() == (1, 3)
    world.recover()
    late, ours = world.simulator.state()["batches"]
    assert (late["status"], ours["status"]) == ("failed", "completed")


def test_a_create_that_arrives_when_its_file_is_gone_and_is_then_adopted_goes_out_again(world: World) -> None:
    """Whoever deleted the file died before it gave the batch up: the next run finds the batch, which cannot run."""
    world.enqueue(3)
    with fault(world, CREATE, "late_create", seconds=60):
        assert world.submit().code == 75
    world.age()
    assert world.submit(Point("rewrite_batch.reconcile.ledger:abandon", "before", 0)).was_killed
    world.simulator.advance(61)
    world.recover()
    assert world.batch_states() == ["submitted"], "the late batch was not adopted"
    assert world.billed() == (0, 0)
    world.bring_home()
    assert world.statuses() == {"completed": 3}
    assert world.billed() == (1, 3)


def test_a_late_create_whose_file_could_not_be_deleted_is_cancelled_before_it_runs(world: World) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "late_create", seconds=60):
        assert world.submit().code == 75
    world.age()
    # "Not found", and yet it is there: the provider's parts do not agree with each other.
    with fault(world, "files.delete", "status", code=404, times=None):
        assert world.submit().code == 0
    world.simulator.advance(61)
    assert len(world.live_at_provider()) == 2
    run = world.submit()
    assert run.result["reconciled"]["orphans_cancelled"] == 1
    assert world.alerts() == ["orphan_cancelled"]
    assert len(world.live_at_provider()) == 1
    assert world.billed() == (1, 3)


def test_a_file_that_could_not_be_deleted_is_deleted_by_the_next_run_and_the_batch_waits(world: World) -> None:
    world.enqueue(2)
    with fault(world, CREATE, "reset_before"):
        assert world.submit().code == 75
    world.age()
    with fault(world, "files.delete", "status", code=500, times=None):
        assert world.submit().code == 75
        assert world.calls(CREATE) == 1, "the door was not barred, and yet a second create was sent"
    world.recover()
    assert world.billed() == (1, 2)


def test_a_list_that_lags_is_asked_again_and_nothing_is_created_twice(world: World) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "reset_after"), fault(world, "batches.list", "stale_list"):
        assert world.submit().code == 75
        assert world.submit().result["reconciled"]["waiting"] == 1
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 3)
    world.recover()


UNREADABLE: dict[str, dict[str, Any]] = {
    "status 500": {"kind": "status", "code": 500},
    "reset": {"kind": "reset_before"},
    "timeout": {"kind": "hang_before"},
    "half an answer": {"kind": "broken_json"},
    "a web page": {"kind": "html"},
    "rate limit": {"kind": "status", "code": 429, "retry_after": "3600"},
    "not found": {"kind": "status", "code": 404},
}


@pytest.mark.parametrize("unreadable", list(UNREADABLE))
def test_a_list_that_cannot_be_read_never_means_that_it_is_not_there(world: World, unreadable: str) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "reset_after"):
        assert world.submit().code == 75
    world.simulator.advance(10)  # it runs: deleting its file would not help any more
    with fault(world, "batches.list", **UNREADABLE[unreadable], times=None):
        for _ in range(2):
            world.age()
            run = world.submit(REWRITE_BATCH_PROVIDER_TIMEOUT_S="1")
            assert run.code == 75
            assert run.result["reconciled"]["unreadable"] == 1
    assert world.statuses() == {"processing": 3}
    assert world.calls(CREATE) == 1
    assert world.calls("files.delete") == 0
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.billed() == (1, 3)
    world.recover()


@pytest.mark.parametrize("answer", ["{}", '{"error": {"message": "busy"}}', '{"data": null}', '{"data": {}}'])
def test_an_answer_that_is_no_list_never_means_that_it_is_not_there(world: World, answer: str) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "reset_after"):
        assert world.submit().code == 75
    world.simulator.advance(10)
    world.gateway = {"GET /v1/batches": answer}
    world.age()
    run = world.submit()
    assert "gateway" in run.reached, "nobody asked for the list"
    world.gateway = {}
    world.submit()
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 3)


def test_of_twins_the_oldest_is_adopted_and_the_others_are_cancelled_with_an_alert(world: World) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "reset_after"):
        assert world.submit().code == 75
    (first,) = world.simulator.state()["batches"]
    with world.client() as client:
        for _ in range(2):
            world.simulator.advance(1)
            client.batches.create(
                input_file_id=first["input_file_id"],
                endpoint="/v1/responses",
                completion_window="24h",
                metadata=first["metadata"],
            )
    run = world.submit()
    assert run.code == 0
    assert run.result["reconciled"]["twins_cancelled"] == 2
    assert world.alerts() == ["twin_cancelled"] * 2
    assert world.value("SELECT provider_batch_id FROM rewrite_batches") == first["id"]
    assert world.live_at_provider() == [first["id"]]
    assert world.billed() == (1, 3)
    world.recover()


def test_a_twin_that_cannot_be_cancelled_now_is_cancelled_by_the_next_run(world: World) -> None:
    world.enqueue(2)
    with fault(world, CREATE, "reset_after"):
        assert world.submit().code == 75
    (first,) = world.simulator.state()["batches"]
    world.simulator.advance(1)
    with world.client() as client:
        client.batches.create(
            input_file_id=first["input_file_id"], endpoint="/v1/responses", completion_window="24h",
            metadata=first["metadata"],
        )  # fmt: skip
    with fault(world, "batches.cancel", "status", code=500, times=None):
        assert world.submit().code == 75
    assert world.submit().code == 0
    assert world.live_at_provider() == [first["id"]]
    assert world.billed() == (1, 2)
    world.recover()


@pytest.mark.parametrize("kind", ["reset_after", "hang_after", "broken_json", "html"])
def test_an_upload_whose_reply_is_lost_leaves_one_file_and_that_one_is_used(world: World, kind: str) -> None:
    world.enqueue(3)
    more: dict[str, Any] = {"after_work": True} if kind == "html" else {}
    with fault(world, "files.create", kind, **more):
        run = world.submit(REWRITE_BATCH_PROVIDER_TIMEOUT_S="1")
    assert run.code == 0
    assert world.statuses() == {"batch_submitted": 3}
    assert world.calls("files.create") == 1
    assert len(world.files_at_provider()) == 1
    assert world.billed() == (1, 3)
    world.recover()


def test_an_upload_that_fails_twice_is_tried_a_third_time(world: World) -> None:
    world.enqueue(3)
    with fault(world, "files.create", "status", code=500, times=2):
        assert world.submit().code == 0
    assert world.calls("files.create") == 3
    assert len(world.files_at_provider()) == 1
    assert world.billed() == (1, 3)
    world.recover()


def test_an_upload_that_never_works_gives_the_units_back_with_nothing_spent(world: World) -> None:
    world.enqueue(3)
    with fault(world, "files.create", "status", code=503, times=None):
        assert world.submit().code == 75
    assert world.statuses() == {"queued": 3}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(0, 0)]
    assert world.calls(CREATE) == 0
    assert world.billed() == (0, 0)
    world.recover()
    assert world.billed() == (1, 3)


def in_90_seconds() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "90"}, 90),
        ({"retry_after_ms": "90000"}, 90),
        ({"retry_after": "date"}, 90),
        ({"retry_after": "soon"}, 60),
        ({"retry_after": "-5"}, 60),
        ({}, 60),
    ],
)
def test_a_rate_limit_on_create_pauses_the_model_as_long_as_it_says(
    world: World, headers: dict[str, str], seconds: int
) -> None:
    world.enqueue(3)
    given = {name: in_90_seconds() if value == "date" else value for name, value in headers.items()}
    with fault(world, CREATE, "status", code=429, error_code="rate_limit_exceeded", **given):
        run = world.submit()
    assert run.code == 0
    assert run.result["waiting"] == {"rate_limited": 3}
    paused = world.value("SELECT extract(epoch FROM paused_until - updated_at)::float8 FROM model_limits")
    assert seconds - 10 < paused <= seconds
    assert world.value("SELECT pause_reason FROM model_limits") == "rate_limited"
    assert world.statuses() == {"queued": 3}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(0, 0)]
    assert world.submit().result["claimed"] == 0, "the model is paused"
    assert world.billed() == (0, 0)
    world.connection.execute("UPDATE model_limits SET paused_until = now() - interval '1 second'")
    world.recover()
    assert world.calls(CREATE) == 2
    assert world.billed() == (1, 3)


def test_a_model_without_quota_pauses_with_an_alert_and_the_other_model_goes_on(world: World) -> None:
    world.enqueue(3, model="gpt-5.2")
    world.enqueue(2, model="gpt-5-mini")
    world.simulator.settings(quota_exhausted_models=["gpt-5.2"])
    run = world.submit()
    assert run.code == 0
    assert run.result["waiting"] == {"insufficient_quota": 3}
    assert world.statuses() == {"queued": 3, "batch_submitted": 2}
    assert world.alerts() == ["insufficient_quota"]
    assert world.rows("SELECT model, pause_reason FROM model_limits") == [("gpt-5.2", "insufficient_quota")]
    refused = [call for call in world.simulator.calls(CREATE) if call["status"] == 429]
    assert len(refused) == 1
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs WHERE status = 'queued'") == [
        (0, 0)
    ]
    assert world.billed() == (1, 2)
    world.simulator.settings(quota_exhausted_models=[])
    world.connection.execute("UPDATE model_limits SET paused_until = now() - interval '1 second'")
    world.recover()
    assert world.billed() == (2, 5)


def test_a_model_that_runs_out_of_quota_again_raises_an_alert_again(world: World) -> None:
    world.simulator.settings(quota_exhausted_models=["gpt-5.2"])
    for _ in range(2):
        world.enqueue(1)
        world.submit()
        world.connection.execute("UPDATE rewrite_alerts SET acknowledged_at = now(), acknowledged_by = 'somebody'")
        world.connection.execute("UPDATE model_limits SET paused_until = now() - interval '1 day'")
    assert world.alerts() == ["insufficient_quota"] * 2


@pytest.mark.parametrize("code", [400, 404, 413, 422])
def test_a_create_that_is_refused_gives_the_units_back_raises_an_alert_and_leaves_no_file(
    world: World, code: int
) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "status", code=code):
        run = world.submit()
    assert run.code == 0
    assert world.statuses() == {"queued": 3}
    assert world.alerts() == ["create_refused"]
    assert world.billed() == (0, 0)
    world.recover()
    assert world.billed() == (1, 3)


def test_a_batch_that_is_refused_at_every_tick_does_not_go_on_for_ever(world: World) -> None:
    world.enqueue(2)
    with fault(world, CREATE, "status", code=400, times=None):
        for _ in range(12):
            world.submit()
            if world.statuses() == {"failed": 2}:
                break
    assert world.statuses() == {"failed": 2}


@pytest.mark.parametrize("code", [401, 403])
@pytest.mark.parametrize("operation", ["files.create", CREATE])
def test_a_refused_key_ends_the_run_with_exit_code_2_and_the_units_wait(
    world: World, operation: str, code: int
) -> None:
    world.enqueue(2, target_locale="es")
    world.enqueue(2, target_locale="de")
    with fault(world, operation, "status", code=code, times=None):
        run = world.submit()
    assert run.code == 2
    assert "OPENAI_API_KEY" in run.stderr
    assert world.statuses() == {"queued": 4}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(0, 0)]
    assert world.billed() == (0, 0)
    world.recover()
    assert world.billed() == (2, 4)


def test_a_key_refused_while_reconciling_leaves_every_batch_for_the_next_run(world: World) -> None:
    world.enqueue(2)
    with fault(world, CREATE, "reset_after"):
        assert world.submit().code == 75
    with fault(world, "batches.list", "status", code=401):
        assert world.submit().code == 2
    assert world.statuses() == {"processing": 2}
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.billed() == (1, 2)
    world.recover()


def test_a_refused_connection_is_a_definite_no(world: World) -> None:
    world.enqueue(3)
    world.simulator.refuse()
    run = world.submit()
    assert (run.code, run.result["waiting"]) == (75, {"provider_unreachable": 3})
    assert world.statuses() == {"queued": 3}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(0, 0)]
    world.simulator.accept()
    assert world.calls("files.create") == 0
    world.recover()
    assert world.billed() == (1, 3)


def test_a_connection_refused_right_before_the_create_is_a_definite_no(world: World) -> None:
    """The run is stopped with its file uploaded; then the provider goes away."""
    world.enqueue(3)
    run = world.start(Point("rewrite_batch.provider.batches:create", "before", 0, "SIGSTOP")).wait_until_stopped()
    world.simulator.refuse()
    run.wake().wait()
    world.simulator.accept()
    assert run.result["waiting"] == {"provider_unreachable": 3} or run.result["undecided"] == 3
    assert world.calls(CREATE) == 0
    world.recover()
    assert world.billed() == (1, 3)


def test_a_provider_that_dies_and_comes_back_between_two_runs_has_lost_nothing(world: World) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "reset_after"):
        assert world.submit().code == 75
    world.simulator.kill()
    assert world.submit().code == 75
    world.simulator.start()
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.billed() == (1, 3)
    world.recover()


def test_one_bad_batch_never_stops_another(world: World) -> None:
    """Of five: one is refused, one is undecided, three go through."""
    for locale in ("es", "de", "fr", "it", "pt"):
        world.enqueue(2, target_locale=locale)
    with fault(world, CREATE, "status", code=400), fault(world, CREATE, "reset_after", skip=1):
        run = world.submit()
    assert run.code == 75
    assert world.statuses() == {"queued": 2, "processing": 2, "batch_submitted": 6}
    assert sorted(world.batch_states()) == ["abandoned", "create_sent", "submitted", "submitted", "submitted"]
    world.recover()
    assert world.billed() == (5, 10)


def test_two_creates_in_a_row_that_are_undecided_end_the_run_and_the_rest_waits(world: World) -> None:
    for locale in ("es", "de", "fr", "it"):
        world.enqueue(2, target_locale=locale)
    with fault(world, CREATE, "reset_after", times=None):
        run = world.submit()
    assert run.code == 75
    assert run.result["undecided"] == 4
    assert world.statuses() == {"processing": 4, "queued": 4}
    assert world.calls(CREATE) == 2
    world.recover()
    assert world.calls(CREATE) == 4
    assert world.billed() == (4, 8)
