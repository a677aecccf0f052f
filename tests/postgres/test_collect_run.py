"""Whole collects against the simulator: what becomes of units, money, files and history, whatever the lines say."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rewrite_batch.cancel import Criteria, cancel
from rewrite_batch.collect import apply, decide, poll, settle, write
from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.batch import Held
from rewrite_batch.collect.decide import STAGE_TYPES, StageRow
from rewrite_batch.collect.result import CollectResult
from rewrite_batch.collect.run import collect
from rewrite_batch.errors import ConfigurationError, LeaseLost
from rewrite_batch.outcomes import BY_REASON
from rewrite_batch.submit.run import submit
from tests.postgres.collect_house import House, house, provider

__all__ = ["house", "provider"]


def test_results_become_outputs_and_every_trace_agrees(house: House) -> None:
    house.over(5)
    result = house.collect()
    assert (result.completed, result.settled, result.exit_code) == (5, 1, 0)
    assert house.states() == {"completed": 5}
    assert house.rows(
        "SELECT count(*), count(rewrite_completed_at) FROM rewrite_requests WHERE status = 'completed'"
    ) == [(5, 5)]
    assert (
        house.rows("SELECT output_language, target_locale, model, provider, lexicon_version <> '' FROM rewrite_outputs")
        == [("es", "es", "gpt-5.2", "openai", True)] * 5
    )
    assert house.rows("SELECT state, provider_status, usage_difference FROM rewrite_batches") == [
        ("settled", "completed", 0)
    ]
    assert house.rows("SELECT status, output_file_id IS NOT NULL FROM rewrite_provider_batches") == [
        ("completed", True)
    ]
    assert house.alerts() == []
    house.check_bill()


def test_money_is_settled_exactly_once_with_what_the_lines_cost(house: House) -> None:
    house.over(4)
    house.collect()
    state, tokens, usd = house.rows("SELECT state, settled_tokens, settled_usd FROM token_reservations")[0]
    spent = house.rows("SELECT sum(input_tokens), sum(cost_usd), count(price_version) FROM provider_calls")[0]
    assert (state, tokens, usd, 4) == ("settled", *spent)


def test_a_batch_that_is_not_over_waits_and_nothing_moves(house: House) -> None:
    house.sent(3)
    before = house.snapshot()
    result = house.collect()
    assert (result.polled, dict(result.waiting), result.exit_code) == (1, {"validating": 1}, 0)
    assert house.snapshot() == before


def test_a_second_collect_writes_nothing_and_calls_nobody(house: House) -> None:
    house.over(5)
    house.collect()
    rows, calls = house.snapshot(), len(house.simulator.calls())
    result = house.collect()
    assert result.is_idle
    assert result.exit_code == 0
    assert house.snapshot() == rows
    assert len(house.simulator.calls()) == calls


def test_all_three_files_are_deleted_at_the_provider(house: House) -> None:
    house.sent(4)
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 400, "index": 0})
    house.simulator.finish_all()
    assert len(house.files_at_provider()) == 3
    assert house.collect().files_deleted == 3
    assert house.files_at_provider() == []


def test_files_that_cannot_be_deleted_now_are_deleted_by_a_later_run(house: House) -> None:
    house.over(2)
    fault = house.simulator.arm({"operation": "files.delete", "kind": "status", "code": 500, "times": None})
    result = house.collect()
    assert (result.completed, result.files_left, result.exit_code) == (2, 2, 0)
    assert house.simulator.fired(fault)
    house.simulator.disarm()
    assert house.collect().files_deleted == 2
    assert house.files_at_provider() == []


def test_files_that_can_never_be_deleted_keep_no_others_there(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "FILES_AT_ONCE", 1)
    house.over(1)
    old = house.value("SELECT input_file_id FROM rewrite_batches")
    house.simulator.arm(
        {"operation": "files.delete", "kind": "status", "code": 500, "times": None, "match": {"file_id": old}}
    )
    assert house.collect().files_left == 2
    house.over(1)
    assert [house.collect().files_left for _ in range(2)] in ([0, 2], [2, 0])
    assert len(house.files_at_provider()) == 2


def test_files_at_an_address_that_no_setting_names_are_counted_as_left(house: House) -> None:
    house.over(1)
    fault = house.simulator.arm({"operation": "files.delete", "kind": "status", "code": 500, "times": None})
    house.collect()
    house.simulator.disarm(fault)
    house.connection.execute("ALTER TABLE rewrite_batches DISABLE TRIGGER rewrite_batches_immutable")
    house.connection.execute("UPDATE rewrite_batches SET base_url = 'https://elsewhere.example/v1'")
    result = house.collect()
    assert (result.files_deleted, result.files_left) == (0, 2)


def test_a_key_that_may_not_delete_ends_the_run_with_advice_and_everything_applied(house: House) -> None:
    house.over(2)
    house.simulator.arm({"operation": "files.delete", "kind": "status", "code": 403, "times": None})
    with pytest.raises(ConfigurationError):
        house.collect()
    assert house.states() == {"completed": 2}
    assert house.rows("SELECT exit_code, counts -> 'files_left' FROM worker_runs WHERE command = 'collect'") == [(2, 2)]


CONTENT: list[tuple[dict[str, Any], str, bool]] = [
    # fault of a line, reason of its item, whether the provider bills it
    ({"kind": "http_status", "code": 400}, "bad_request", False),
    ({"kind": "http_status", "code": 401}, "unauthorized", False),
    ({"kind": "http_status", "code": 403}, "forbidden", False),
    ({"kind": "http_status", "code": 404}, "not_found", False),
    ({"kind": "http_status", "code": 408}, "provider_timeout", False),
    ({"kind": "http_status", "code": 409}, "provider_conflict", False),
    ({"kind": "http_status", "code": 413}, "too_large", False),
    ({"kind": "http_status", "code": 422}, "unprocessable", False),
    ({"kind": "http_status", "code": 429}, "rate_limited", False),
    ({"kind": "http_status", "code": 500}, "provider_error", False),
    ({"kind": "http_status", "code": 302}, "unexpected_status", False),
    ({"kind": "status_zero"}, "no_status", False),
    ({"kind": "never_ran", "error_code": "batch_expired"}, "batch_expired", False),
    ({"kind": "refusal"}, "refusal", True),
    ({"kind": "truncated"}, "truncated", True),
    ({"kind": "content_filter"}, "content_filter", True),
    ({"kind": "wrong_label"}, "language", True),
    ({"kind": "wrong_language"}, "language", True),
    ({"kind": "profanity"}, "lexicon", True),
    ({"kind": "blame"}, "lexicon", True),
    ({"kind": "authority"}, "lexicon", True),
    ({"kind": "echo"}, "schema", True),
    ({"kind": "broken_json"}, "schema", True),
    ({"kind": "extra_keys"}, "schema", True),
    ({"kind": "empty"}, "schema", True),
    ({"kind": "no_message"}, "no_answer", True),
    ({"kind": "failed_response"}, "response_failed", True),
    ({"kind": "nul", "level": "inner"}, "unstorable", True),
    ({"kind": "lone_surrogate", "level": "inner"}, "schema", True),
    ({"kind": "line_separator"}, "kept", True),
    ({"kind": "split_message"}, "kept", True),
    ({"kind": "legacy_usage"}, "kept", True),
]


def test_every_kind_of_line_ends_as_the_table_of_outcomes_says_and_is_billed_as_the_provider_bills(
    house: House,
) -> None:
    house.sent(len(CONTENT) + 2)
    for index, (fault, _, _) in enumerate(CONTENT):
        house.simulator.arm({"operation": "line", "index": index, **fault})
    house.simulator.finish_all()
    result = house.collect(backoff=Backoff())
    found = dict(house.rows("SELECT batch_item_index, reason FROM rewrite_batch_items"))
    assert found == {i: reason for i, (_, reason, _) in enumerate(CONTENT)} | {
        len(CONTENT): "kept",
        len(CONTENT) + 1: "kept",
    }
    becomes = {"kept": "completed", "transient": "queued", "permanent": "failed"}
    wanted = Counter(becomes[BY_REASON[reason].kind] for reason in found.values())
    assert house.states() == wanted
    assert result.completed == wanted["completed"]
    billed = {row[0] for row in house.rows("SELECT batch_item_index FROM provider_calls")}
    assert billed == {i for i, (_, _, is_billed) in enumerate(CONTENT) if is_billed} | {len(CONTENT), len(CONTENT) + 1}
    house.check_bill()
    assert house.alerts() == []


def test_what_fails_for_good_stores_no_output_and_its_request_fails_with_it(house: House) -> None:
    house.sent(3)
    house.simulator.arm({"operation": "line", "kind": "refusal", "index": 1})
    house.simulator.finish_all()
    house.collect()
    job = house.job_of(1)
    assert house.rows(f"SELECT status, last_error FROM rewrite_jobs WHERE job_id = '{job}'") == [("failed", "refusal")]
    assert house.rows(
        f"""SELECT r.status, r.rewrite_completed_at, o.rewritten_text FROM rewrite_requests r
        LEFT JOIN rewrite_outputs o USING (rewrite_request_id) JOIN rewrite_jobs j USING (rewrite_request_id)
        WHERE j.job_id = '{job}'"""
    ) == [("failed", None, None)]


def test_a_transient_failure_is_tried_again_with_everything_as_it_was_and_then_completes(house: House) -> None:
    house.sent(3)
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 503, "index": 0})
    house.simulator.finish_all()
    job = house.job_of(0)
    first = house.rows(f"SELECT provider_batch_id, routing_decision FROM rewrite_jobs WHERE job_id = '{job}'")
    assert house.collect().retried == Counter(provider_error=1)
    assert house.states() == {"completed": 2, "queued": 1}
    assert house.value("SELECT count(*) FROM rewrite_requests WHERE status = 'queued'") == 1
    assert house.tick().completed == 1
    assert house.states() == {"completed": 3}
    assert house.rows(f"SELECT provider_batch_id, routing_decision FROM rewrite_jobs WHERE job_id = '{job}'") == first
    assert house.rows(f"SELECT attempt, reason FROM rewrite_batch_items WHERE job_id = '{job}' ORDER BY attempt") == [
        (1, "provider_error"),
        (2, "kept"),
    ]
    house.check_bill()


def test_a_retry_waits_by_the_database_clock_as_long_as_the_rule_says(house: House) -> None:
    house.sent(1)
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 500, "index": 0})
    house.simulator.finish_all()
    house.collect(backoff=Backoff())
    assert house.value("SELECT not_before_at > now() + interval '200 s' FROM rewrite_jobs")
    assert house.value("SELECT not_before_at < now() + interval '400 s' FROM rewrite_jobs")
    house.submit()
    assert house.states() == {"queued": 1}


def test_when_no_attempt_is_left_a_transient_failure_is_final(house: House) -> None:
    house.simulator.settings(bad_shares={"http_500": 1.0})
    house.over(2, max_attempts=2)
    assert house.collect().retried == Counter(provider_error=2)
    assert house.tick().failed == Counter(provider_error=2)
    assert house.states() == {"failed": 2}
    assert house.value("SELECT count(*) FROM rewrite_batch_items WHERE outcome = 'transient'") == 4


def test_items_keep_their_own_times_statuses_and_request_ids(house: House) -> None:
    house.over(6)
    house.collect()
    rows = house.rows(
        "SELECT answered_at, decided_at, provider_status_code, provider_request_id FROM rewrite_batch_items"
    )
    assert len({row[0] for row in rows}) > 1
    assert len({row[1] for row in rows}) > 1
    assert len({row[3] for row in rows}) == 6
    assert {row[2] for row in rows} == {200}


def test_final_units_are_announced_once_without_words(house: House) -> None:
    house.sent(3)
    house.simulator.arm({"operation": "line", "kind": "refusal", "index": 0})
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 500, "index": 1})
    house.simulator.finish_all()
    house.collect()
    rows = house.rows("SELECT kind, payload ->> 'job_id', payload ->> 'reason' FROM outbox_events ORDER BY kind")
    assert [(kind, reason) for kind, _, reason in rows] == [("rewrite_completed", None), ("rewrite_failed", "refusal")]
    assert rows[1][1] == str(house.job_of(0))


def test_a_canceled_unit_stays_canceled_and_what_it_cost_is_on_record(house: House) -> None:
    house.over(3)
    job = house.job_of(1)
    house.connection.execute(
        """UPDATE rewrite_jobs SET status = 'canceled', finished_at = now(), batch_id = NULL,
        last_error = 'canceled_by_admin', last_error_at = now() WHERE job_id = %s""",
        [job],
    )
    house.connection.execute(
        """UPDATE rewrite_requests SET status = 'canceled' FROM rewrite_jobs j
        WHERE j.rewrite_request_id = rewrite_requests.rewrite_request_id AND j.job_id = %s""",
        [job],
    )
    result = house.collect()
    assert (result.completed, result.dropped) == (2, Counter(unit_canceled=1))
    assert house.states() == {"completed": 2, "canceled": 1}
    assert house.value("SELECT count(*) FROM rewrite_outputs") == 2
    house.check_bill()


def erase(house: House, index: int) -> None:
    house.connection.execute(
        """DELETE FROM rewrite_requests
        WHERE rewrite_request_id = (SELECT rewrite_request_id FROM rewrite_jobs WHERE job_id = %s)""",
        [house.job_of(index)],
    )


def test_an_erased_request_leaves_its_cost_and_nothing_else(house: House) -> None:
    house.over(3)
    erase(house, 2)
    result = house.collect()
    assert (result.completed, result.dropped, result.settled) == (2, Counter(unit_erased=1), 1)
    house.check_bill()


ERASED_LINES: list[dict[str, Any]] = [
    {"kind": "http_status", "code": 400},
    {"kind": "http_status", "code": 500},
    {"kind": "refusal"},
    {"kind": "missing"},
    {"kind": "duplicate_different"},
]


def test_an_erased_request_is_dropped_whatever_its_line_says_and_its_batch_is_closed(house: House) -> None:
    house.sent(len(ERASED_LINES) + 1)
    for index, fault in enumerate(ERASED_LINES):
        house.simulator.arm({"operation": "line", "index": index, **fault})
    house.simulator.finish_all()
    for index in range(len(ERASED_LINES)):
        erase(house, index)
    result = house.collect()
    assert (result.completed, result.dropped) == (1, Counter(unit_erased=len(ERASED_LINES)))
    assert (result.settled, result.exit_code) == (1, 0)
    assert house.value("SELECT count(*) FROM token_reservations WHERE state = 'open'") == 0


def test_units_of_a_batch_that_expired_may_all_be_erased(house: House) -> None:
    provider_batch_id = house.sent(2)
    house.simulator.end_batch(provider_batch_id, "expired", share=0.0)
    erase(house, 0)
    erase(house, 1)
    assert (house.collect().settled, house.states()) == (1, {})


def test_a_request_that_is_erased_while_its_answer_is_judged_is_dropped(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.over(2)
    judge = decide.judge

    def judge_while_erased(*given: Any) -> Any:
        found = judge(*given)
        erase(house, 1)
        return found

    monkeypatch.setattr(decide, "judge", judge_while_erased)
    result = house.collect()
    assert (result.completed, result.dropped, result.settled) == (1, Counter(unit_erased=1), 1)
    assert house.value("SELECT count(*) FROM rewrite_outputs") == 1
    house.check_bill()


def test_a_unit_that_somebody_holds_is_left_for_a_later_run_and_the_others_are_written(house: House) -> None:
    house.over(3)
    with house.connected() as other, other.transaction():
        other.execute("SELECT 1 FROM rewrite_jobs WHERE job_id = %s FOR UPDATE", [house.job_of(0)])
        result = house.collect()
        assert (result.completed, result.busy, result.settled) == (2, 1, 0)
        assert (result.exit_code, dict(result.put_off)) == (75, {"units_busy": 1})
    assert house.collect().completed == 1
    assert house.states() == {"completed": 3}
    assert house.value("SELECT state FROM rewrite_batches") == "settled"
    house.check_bill()


def test_the_contracts_lock_of_a_unit_is_respected(house: House) -> None:
    house.over(2)
    with house.connected() as other, other.transaction():
        other.execute(
            """SELECT pg_advisory_xact_lock(rewrite_unit_key(rewrite_request_id, recipient_user_id))
            FROM rewrite_jobs WHERE job_id = %s""",
            [house.job_of(1)],
        )
        assert house.collect().busy == 1
    assert house.collect().completed == 1


def test_a_model_without_a_price_is_unpriced_and_somebody_hears_of_it(house: House) -> None:
    house.over(2, model="gpt-99-fancy")
    house.collect()
    assert house.rows("SELECT cost_usd, price_version FROM provider_calls") == [(None, None)] * 2
    assert house.rows("SELECT state, settled_usd FROM token_reservations") == [("settled", None)]
    assert house.alerts() == ["unpriced"]


def test_packed_batches_of_several_pairs_map_each_line_to_its_own_unit(house: House) -> None:
    house.changes["grouping"] = "packed"
    for target in ("es", "fr", "de", "it"):
        house.enqueue(3, target_locale=target)
    house.submit()
    house.simulator.finish_all()
    assert house.collect().completed == 12
    assert house.value("SELECT count(*) FROM rewrite_batches") == 1
    assert house.rows(
        """SELECT count(*) FROM rewrite_outputs o JOIN rewrite_requests r USING (rewrite_request_id)
        WHERE o.output_language = r.target_locale AND o.recipient_user_id = r.recipient_user_id"""
    ) == [(12,)]


def test_several_chunks_are_written_one_after_the_other(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (apply, write):
        monkeypatch.setattr(module, "MAX_CHUNK", 2)
    house.over(5)
    assert house.collect().completed == 5
    transactions = house.value("SELECT count(DISTINCT xmin::text) FROM rewrite_outputs")
    assert transactions == 3
    assert house.rows(
        "SELECT command, exit_code, counts ->> 'completed' FROM worker_runs WHERE command = 'collect'"
    ) == [("collect", 0, "5")]
    house.check_bill()


def test_a_run_that_lost_its_lease_writes_nothing(house: House) -> None:
    house.over(2)
    with house.connected() as connection:
        started = house.value("SELECT now() + interval '1 s'")
        held = poll.take(connection, run_id=uuid4(), lease_s=60, run_started_at=started)
        assert held is not None
        poll.record(connection, held, None, run_id=_holder(house), lease_s=60, over=True)
        rows = [_kept(index) for index in range(2)]
        before = house.snapshot()
        with pytest.raises(LeaseLost):  # another run's token
            write.write(connection, held, 0, rows, run_id=uuid4(), lease_s=60)
        house.connection.execute("UPDATE rewrite_batches SET lease_expires_at = now() - interval '1 s'")
        with pytest.raises(LeaseLost):  # its own, but it slept too long
            write.write(connection, held, 0, rows, run_id=_holder(house), lease_s=60)
        assert house.snapshot() == before
        with pytest.raises(LeaseLost):
            poll.record(connection, held, None, run_id=uuid4(), lease_s=60, over=True)
    house.connection.execute("UPDATE rewrite_batches SET lease_token = NULL, lease_expires_at = NULL")
    assert house.collect().completed == 2


def _holder(house: House) -> UUID:
    return house.value("SELECT lease_token FROM rewrite_batches")


def _kept(index: int) -> StageRow:
    values: dict[str, Any] = {
        "batch_item_index": index,
        "outcome": "kept",
        "reason": "kept",
        "rewritten_text": "Hola",
        "lexicon_version": "none",
        "eval_result": "{}",
    }
    return tuple(values.get(column) for column in STAGE_TYPES)


def test_a_decided_item_is_not_decided_again_whatever_is_staged_for_it(house: House) -> None:
    house.over(2)
    house.collect()
    before = house.snapshot()
    batch = house.batch_id()
    house.connection.execute("ALTER TABLE rewrite_batches DISABLE TRIGGER USER")
    token = uuid4()
    house.connection.execute(
        """UPDATE rewrite_batches SET state = 'finished', settled_at = NULL, lease_token = %s,
        lease_expires_at = now() + interval '1 h'""",
        [token],
    )
    held = Held(
        batch,
        "finished",
        "gpt-5.2",
        "openai",
        None,
        "b",
        "completed",
        2,
        "f",
        None,
        None,
        datetime.now(UTC),
        1.0,
        1.0,
        None,
    )
    done = write.write(house.connection, held, 0, [_kept(0), _kept(1)], run_id=token, lease_s=60)
    assert (done.became, done.busy) == (Counter(), 2)
    house.connection.execute(
        "UPDATE rewrite_batches SET state = 'settled', settled_at = now(), lease_token = NULL, lease_expires_at = NULL"
    )
    after = house.snapshot()
    for table in ("rewrite_outputs", "rewrite_jobs", "rewrite_batch_items", "provider_calls", "outbox_events"):
        assert after[table] == before[table]


def test_a_unit_that_is_completed_already_is_skipped_although_its_item_is_undecided(
    house: House, tmp_path: Path
) -> None:
    """Nothing of ours makes such a row: it is made by hand, past every trigger."""
    house.over(2)
    house.save_results(tmp_path / "saved")
    assert house.replay(tmp_path / "saved").completed == 2
    before = house.snapshot()
    with house.connection.transaction():
        house.connection.execute("SET LOCAL session_replication_role = replica")
        house.connection.execute(
            "UPDATE rewrite_batch_items SET outcome = NULL, reason = NULL, decided_at = NULL WHERE batch_item_index = 0"
        )
        house.connection.execute("DELETE FROM provider_calls WHERE batch_item_index = 0")
        house.connection.execute("UPDATE rewrite_batches SET state = 'finished', settled_at = NULL")
    result = house.replay(tmp_path / "saved")
    assert (result.completed, result.dropped, result.settled) == (0, Counter(unit_moved=1), 1)
    after = house.snapshot()
    for table in ("rewrite_requests", "rewrite_outputs", "rewrite_jobs", "rewrite_job_events", "outbox_events"):
        assert after[table] == before[table]
    house.check_bill()


@pytest.mark.parametrize("collectors", [2, 8])
def test_any_number_of_collectors_share_the_batches_and_nothing_is_done_twice(house: House, collectors: int) -> None:
    for target in ("es", "fr", "de", "it", "nl", "pt"):
        house.enqueue(3, target_locale=target)
    house.submit()
    house.simulator.finish_all()
    with ThreadPoolExecutor(collectors) as pool:
        results = [each.result() for each in [pool.submit(house.collect) for _ in range(collectors)]]
    assert sum(result.completed for result in results) == 18
    assert sum(result.settled for result in results) == 6
    assert [result.exit_code for result in results] == [0] * collectors
    assert house.states() == {"completed": 18}
    assert house.files_at_provider() == []
    house.check_bill()


def test_cancels_racing_collects_leave_every_unit_in_one_final_state(house: House) -> None:
    for target in ("es", "fr", "de"):
        house.enqueue(8, target_locale=target)
    house.submit()
    house.simulator.finish_all()
    jobs = [row[0] for row in house.rows("SELECT job_id FROM rewrite_jobs ORDER BY md5(job_id::text)")]

    def cancel_some(chosen: list[UUID]) -> int:
        with house.connected() as connection:
            return cancel(connection, Criteria(job_ids=tuple(chosen)), uuid4()).total

    with ThreadPoolExecutor(4) as pool:
        canceling = [pool.submit(cancel_some, jobs[start::4]) for start in range(2)]
        collecting = [pool.submit(house.collect) for _ in range(2)]
        canceled = sum(each.result() for each in canceling)
        completed = sum(each.result().completed for each in collecting)
    completed += house.collect().completed
    assert house.states() == {
        status: count for status, count in (("completed", completed), ("canceled", canceled)) if count
    }
    assert completed + canceled == 24
    assert house.value("SELECT count(*) FROM rewrite_outputs") == completed
    house.check_bill()


def test_a_key_that_is_not_set_is_said_before_anything_is_leased(house: House) -> None:
    house.over(1)
    settings = house.settings().model_copy(update={"openai_api_key": None})
    with pytest.raises(ConfigurationError):
        collect(house.connection, house.connection, settings, run_id=house.batch_id())
    assert house.value("SELECT count(*) FROM worker_runs WHERE command = 'collect'") == 0


def test_a_run_that_is_told_to_stop_at_once_asks_nobody(house: House) -> None:
    house.over(1)
    house.enqueue(1)
    house.simulator.arm({"operation": "batches.create", "kind": "reset_after"})
    submit(house.connection, house.settings(), run_id=uuid4())
    assert house.value("SELECT count(*) FROM rewrite_batches WHERE state = 'create_sent'") == 1
    calls = len(house.simulator.calls())
    with house.connected() as reader:
        result = collect(house.connection, reader, house.settings(), run_id=uuid4(), stop=lambda: True)
    assert (result.polled, result.stopped, len(house.simulator.calls())) == (0, True, calls)


def test_a_run_that_is_told_to_stop_while_it_deletes_leaves_the_other_files_for_the_next_one(house: House) -> None:
    for target in ("es", "fr", "de", "it", "nl", "pt", "sv"):
        house.enqueue(1, target_locale=target)
    house.submit()
    house.simulator.finish_all()

    def stop() -> bool:
        return bool(house.simulator.calls("files.delete"))

    with house.connected() as reader:
        result = collect(house.connection, reader, house.settings(), run_id=uuid4(), stop=stop)
    assert (result.completed, result.settled) == (7, 7)
    assert result.files_left >= 6
    assert len(house.simulator.calls("files.delete")) <= settle.DELETERS
    house.collect()
    assert house.files_at_provider() == []


def test_the_key_goes_to_no_address_that_only_a_row_names(house: House) -> None:
    house.over(1)
    house.connection.execute("ALTER TABLE rewrite_batches DISABLE TRIGGER rewrite_batches_immutable")
    house.connection.execute("UPDATE rewrite_batches SET base_url = 'https://elsewhere.example/v1'")
    result = house.collect()
    assert (result.exit_code, dict(result.put_off)) == (75, {"address_not_allowed": 1})
    assert house.alerts() == ["address_not_allowed"]
    assert house.simulator.calls("batches.retrieve") == []


def test_a_rule_of_the_tables_that_one_batch_breaks_stops_that_batch_alone(house: House) -> None:
    house.sent(2)
    house.enqueue(2, target_locale="fr")
    house.submit()
    house.simulator.finish_all()
    house.connection.execute("ALTER TABLE rewrite_outputs ADD CONSTRAINT no_french CHECK (output_language <> 'fr')")
    result = house.collect()
    assert (result.completed, result.broken, result.exit_code) == (2, 1, 70)
    assert house.states() == {"completed": 2, "batch_submitted": 2}
    assert house.value("SELECT codes FROM rewrite_alerts") == "{sqlstate_23514,no_french}"
    house.connection.execute("ALTER TABLE rewrite_outputs DROP CONSTRAINT no_french")
    assert house.collect().completed == 2
    house.check_bill()


@pytest.mark.parametrize("by_replay", [False, True])
def test_a_defect_that_one_batch_meets_stops_that_batch_alone(
    house: House, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, by_replay: bool
) -> None:
    def again() -> CollectResult:
        return house.replay(tmp_path / "saved") if by_replay else house.collect()

    house.sent(2)
    broken = house.batch_id()
    house.enqueue(2, target_locale="fr")
    house.submit()
    house.simulator.finish_all()
    decided = apply.Applier._stretch  # pyright: ignore[reportPrivateUsage]  a defect is put where it would be

    def fails(self: apply.Applier, held: Held, *arguments: Any) -> list[StageRow]:
        if held.batch_id == broken:
            raise ValueError("words")
        return decided(self, held, *arguments)

    if by_replay:
        house.save_results(tmp_path / "saved")
    monkeypatch.setattr(apply.Applier, "_stretch", fails)
    result = again()
    assert (result.completed, result.exit_code, house.alerts()) == (2, 70, ["defect"])
    monkeypatch.undo()
    assert again().completed == 2


def test_the_workers_role_is_enough(house: House) -> None:
    house.over(3)
    url = make_conninfo(house.url, options="-c role=rewrite_worker")
    connections = (psycopg.connect(url, autocommit=True, prepare_threshold=None) for _ in range(2))
    with next(connections) as connection, next(connections) as reader:
        assert collect(connection, reader, house.settings(), run_id=uuid4()).completed == 3
    assert house.files_at_provider() == []
