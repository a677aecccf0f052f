"""A whole submit, against the simulator: what goes out, what waits, what fails, and what it costs."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, get_args
from uuid import UUID, uuid4

import psycopg
import pytest
from pydantic import SecretStr

from rewrite_batch.check import check
from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.settings import Settings, load_settings
from rewrite_batch.simulator.process import Simulator, running_simulator
from rewrite_batch.submit.check import Reason
from rewrite_batch.submit.estimate import REASONING_TOKENS
from rewrite_batch.submit.group import Limits
from rewrite_batch.submit.plan import plan
from rewrite_batch.submit.render import render
from rewrite_batch.submit.run import SubmitResult, submit
from tests.items import enqueue_one, item_document
from tests.ledger import Past, write
from tests.postgres.test_budget import call
from tests.postgres.test_check import planned

KEY = "sk-submit"
Run = Callable[..., SubmitResult]


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    with running_simulator(tmp_path_factory.mktemp("provider") / "state", KEY, time_scale=0) as simulator:
        yield simulator


@pytest.fixture
def simulator(provider: Simulator) -> Simulator:
    provider.reset()
    return provider


@pytest.fixture
def settings(simulator: Simulator, tmp_path: Path) -> Callable[..., Settings]:
    def with_these(**changes: str) -> Settings:
        names = {f"REWRITE_BATCH_{name.upper()}": value for name, value in changes.items()}
        base = {
            "OPENAI_API_KEY": KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(tmp_path / "spool"),
            "REWRITE_BATCH_RETRY_BASE_S": "0.01",
        }
        return load_settings({**base, **names})

    return with_these


@pytest.fixture
def run(connection: Connection, settings: Callable[..., Settings]) -> Iterator[Run]:
    def once(**changes: str) -> SubmitResult:
        return submit(connection, settings(**changes), run_id=uuid4())

    yield once
    assert check(connection) == []


def queue(connection: Connection, count: int, **overrides: Any) -> list[UUID]:
    return [enqueue_one(connection, item_document(**overrides)) for _ in range(count)]


def states(connection: Connection) -> dict[str, int]:
    return dict(connection.execute("SELECT status, count(*) FROM rewrite_jobs GROUP BY 1").fetchall())


def test_jobs_go_out_one_batch_a_group_and_are_registered(
    connection: Connection, simulator: Simulator, run: Run
) -> None:
    queue(connection, 3)
    queue(connection, 2, target_locale="fr")
    result = run()
    assert (result.claimed, result.submitted, result.exit_code) == (5, 5, 0)
    assert sorted(batch["items"] for batch in result.batches) == [2, 3]
    assert states(connection) == {"batch_submitted": 5}
    simulator.finish_all()
    assert simulator.ledger_summary()["total"]["lines"] == 5
    row = connection.execute(
        "SELECT count(DISTINCT provider_batch_id), min(attempt_count), max(attempt_count) FROM rewrite_jobs"
    ).fetchone()
    assert row == (2, 1, 1)


def test_packed_puts_the_groups_of_a_model_into_one_file(connection: Connection, run: Run) -> None:
    queue(connection, 2)
    queue(connection, 2, target_locale="fr")
    result = run(grouping="packed")
    assert [batch["items"] for batch in result.batches] == [4]
    keys = connection.execute("SELECT count(DISTINCT batch_group_key) FROM rewrite_batch_items").fetchone()
    assert keys == (2,)


def test_when_nothing_is_pending_nobody_is_called(simulator: Simulator, run: Run) -> None:
    result = run()
    assert result.is_idle
    assert simulator.calls() == []


def test_what_must_not_be_sent_fails_with_its_reason_and_the_others_go_on(
    connection: Connection, simulator: Simulator, run: Run
) -> None:
    def routed(**changes: Any) -> None:
        document = item_document()
        document["routing_decision"] |= changes
        enqueue_one(connection, document)

    good = queue(connection, 2)
    routed(adapter_kind="google_batch")
    routed(base_url="https://evil.example/v1")
    routed(prompt_version="v999")
    routed(execution_mode="async")
    result = run()
    assert result.failed == {
        "unsupported_adapter": 1,
        "base_url_not_allowed": 1,
        "unknown_prompt_version": 1,
        "unsupported_execution_mode": 1,
    }
    assert result.submitted == len(good)
    assert states(connection) == {"failed": 4, "batch_submitted": 2}
    assert simulator.state()["calls"]["batches.create"] == 1
    requests = connection.execute("SELECT status, count(*) FROM rewrite_requests GROUP BY 1 ORDER BY 1").fetchall()
    assert dict(requests)["failed"] == 4


JOB = "UPDATE rewrite_jobs SET {} WHERE job_id = %(job_id)s"
REQUEST = """UPDATE rewrite_requests SET {} WHERE rewrite_request_id =
    (SELECT rewrite_request_id FROM rewrite_jobs WHERE job_id = %(job_id)s)"""
ROUTED = JOB.format("routing_decision = routing_decision || '{}'")
BROKEN = {
    "poison": JOB.format("claim_count = 10"),
    "routing_invalid": ROUTED.format('{"max_retries": "many"}'),
    "unsupported_adapter": ROUTED.format('{"provider": "google"}'),
    "unsupported_execution_mode": ROUTED.format('{"execution_mode": "async"}'),
    "base_url_not_allowed": ROUTED.format('{"base_url": "https://evil.example/v1"}'),
    "unknown_prompt_version": ROUTED.format('{"prompt_version": "v999"}'),
    "locale_unknown": REQUEST.format("""rewrite_request = rewrite_request || '{"source_locale": "unknown"}'"""),
    "request_invalid": REQUEST.format("rewrite_request = rewrite_request - 'topics'"),
    "snapshot_missing": REQUEST.format("recipient_preference_snapshot_id = NULL"),
}


def test_every_reason_but_the_size_has_a_row_that_is_refused_for_it() -> None:
    assert BROKEN.keys() | {"line_too_large"} == set(get_args(Reason))


@pytest.mark.parametrize("reason", list(BROKEN))
def test_each_reason_ends_its_own_job_before_anything_is_spent_and_the_others_go_on(
    connection: Connection, settings: Callable[..., Settings], simulator: Simulator, reason: str
) -> None:
    bad, good = queue(connection, 2)
    with connection.transaction():  # past the guards, as an import or an older program could have left it
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(BROKEN[reason].encode(), {"job_id": bad})
    assert plan(connection, settings()).refused == {reason: 1}
    result = submit(connection, settings(), run_id=uuid4())
    assert (result.failed, result.submitted, result.exit_code) == ({reason: 1}, 1, 0)
    rows = "SELECT job_id, status, last_error, attempt_count FROM rewrite_jobs ORDER BY status DESC"
    assert connection.execute(rows).fetchall() == [(bad, "failed", reason, 0), (good, "batch_submitted", None, 1)]
    event = "SELECT reason FROM rewrite_job_events WHERE job_id = %s AND to_status = 'failed'"
    assert connection.execute(event, [bad]).fetchall() == [(reason,)]
    simulator.finish_all()
    assert simulator.ledger_summary()["total"]["lines"] == 1


def test_a_line_too_large_for_the_provider_fails_and_the_others_go_on(
    connection: Connection, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract's longest texts are far below the limit, so the limit comes down to them."""
    queue(connection, 2)
    enqueue_one(connection, item_document("Turn it down! " * 1_000))
    monkeypatch.setattr("rewrite_batch.submit.prepare.Limits", partial(Limits, max_line_bytes=15_000))
    result = run()
    assert (result.failed, result.submitted) == ({"line_too_large": 1}, 2)
    assert states(connection) == {"failed": 1, "batch_submitted": 2}


def test_an_address_on_the_allow_list_is_used(connection: Connection, simulator: Simulator, run: Run) -> None:
    document = item_document()
    document["routing_decision"]["base_url"] = simulator.base_url
    enqueue_one(connection, document)
    assert run(allowed_base_urls=simulator.base_url).submitted == 1


def test_a_budget_counts_what_is_in_flight_and_the_rest_waits(connection: Connection, run: Run) -> None:
    queue(connection, 4)
    first = run(daily_budget_usd="0.02", jobs_per_run="2")
    assert first.submitted == 2
    second = run(daily_budget_usd=str(first.batches[0]["estimated_usd"]))
    assert (second.submitted, second.exit_code) == (0, 0)
    assert "budget" in second.waiting
    assert states(connection) == {"batch_submitted": 2, "queued": 2}
    assert run(daily_budget_usd="100", monthly_budget_usd="0").submitted == 0
    assert run(daily_budget_usd="100", monthly_budget_usd="100").submitted == 2


def test_a_budget_that_holds_a_part_lets_that_part_go(connection: Connection, run: Run) -> None:
    queue(connection, 6)
    one = Decimal(run(jobs_per_run="1").batches[0]["estimated_usd"])
    result = run(daily_budget_usd=str(one * 4))
    assert (result.submitted, result.waiting) == (3, {"budget": 2})
    assert states(connection) == {"batch_submitted": 4, "queued": 2}


def test_a_cap_counts_what_its_day_or_month_spent_beside_what_is_in_flight(connection: Connection, run: Run) -> None:
    queue(connection, 5)
    one = Decimal(run(jobs_per_run="1").batches[0]["estimated_usd"])
    now = datetime.now(UTC)
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    past = Past(1)
    call(past, month, "3")
    call(past, month - timedelta(microseconds=1), "1000")
    write(connection, past)
    result = run(monthly_budget_usd=str(3 + one * 2), daily_budget_usd="100")
    assert (result.submitted, result.waiting) == (1, {"budget": 3})

    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    past = Past(2)
    call(past, day, "2")
    write(connection, past)
    spent = 5 if day == month else 2
    result = run(daily_budget_usd=str(spent + one * 3), monthly_budget_usd="100")
    assert (result.submitted, result.waiting) == (1, {"budget": 2})
    assert states(connection) == {"batch_submitted": 3, "queued": 2}
    connection.execute("SET session_replication_role = replica")  # rows of no batch, which nothing of ours writes
    connection.execute("DELETE FROM provider_calls")
    connection.execute("RESET session_replication_role")


def test_a_dry_run_keeps_to_budget_and_pauses_as_the_run_does(
    connection: Connection, settings: Callable[..., Settings], run: Run
) -> None:
    queue(connection, 3)
    one = Decimal(run(jobs_per_run="1").batches[0]["estimated_usd"])
    planned = plan(connection, settings(daily_budget_usd=str(one * 2)))
    assert (planned.as_json()["items"], planned.waiting) == (1, {"budget": 1})
    assert plan(connection, settings(daily_budget_usd="0")).as_json()["would_wait"] == {"budget": 0}
    assert plan(connection, settings(creations_per_hour="1")).as_json()["would_wait"] == {"creation_rate": 0}
    connection.execute(
        """INSERT INTO model_limits (model, paused_until, pause_reason)
        VALUES ('gpt-5.2', now() + interval '1 hour', 'insufficient_quota')"""
    )
    paused = plan(connection, settings())
    assert (paused.jobs, paused.waiting) == (0, {"model_paused": 0})


def test_a_row_that_our_own_code_stumbles_over_stops_nobody_and_is_poison_in_the_end(
    connection: Connection, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bad,) = queue(connection, 1, target_locale="fr")
    queue(connection, 2)

    def stumble(request: Any, *rest: Any) -> Any:
        if request.target_locale == "fr":
            raise ZeroDivisionError
        return render(request, *rest)

    monkeypatch.setattr("rewrite_batch.submit.draft.render", stumble)
    first = run()
    assert (first.submitted, first.waiting) == (2, {"draft_failed": 1})
    assert connection.execute("SELECT kind FROM rewrite_alerts").fetchall() == [("draft_failed",)]
    for _ in range(9):
        assert run().waiting == {"draft_failed": 1}
    assert run().failed == {"poison": 1}
    row = connection.execute("SELECT status, last_error FROM rewrite_jobs WHERE job_id = %s", [bad]).fetchone()
    assert row == ("failed", "poison")


def test_the_tokens_that_a_model_thinks_with_are_in_the_estimate(connection: Connection, run: Run) -> None:
    queue(connection, 1)
    document = item_document()
    document["routing_decision"]["model"] = "gpt-4.1"
    enqueue_one(connection, document)
    tokens = {batch["model"]: batch["estimated_output_tokens"] for batch in run().batches}
    assert tokens["gpt-5.2"] == tokens["gpt-4.1"] + REASONING_TOKENS


def test_a_model_without_a_price_waits_under_a_budget_and_goes_without_one(connection: Connection, run: Run) -> None:
    document = item_document()
    document["routing_decision"]["model"] = "mystery-1"
    enqueue_one(connection, document)
    assert run(daily_budget_usd="100").waiting == {"unpriced_model": 1}
    assert run().submitted == 1
    assert connection.execute("SELECT reserved_usd FROM token_reservations").fetchone() == (None,)


def test_the_token_limit_of_a_model_holds_and_waiting_costs_nothing(connection: Connection, run: Run) -> None:
    queue(connection, 5)
    limit = "gpt-5.2=4000"
    result = run(enqueued_token_limits=limit)
    assert 0 < result.submitted < 5
    for _ in range(12):  # more ticks than claims would make poison
        run(enqueued_token_limits=limit)
    assert states(connection) == {"batch_submitted": result.submitted, "queued": 5 - result.submitted}
    counts = connection.execute("SELECT max(claim_count), max(attempt_count) FROM rewrite_jobs WHERE status = 'queued'")
    assert counts.fetchone() == (0, 0)
    reserved = connection.execute("SELECT sum(reserved_tokens) <= 4000 FROM token_reservations").fetchone()
    assert reserved == (True,)


def test_a_learned_limit_counts_until_a_setting_says_otherwise(connection: Connection, run: Run) -> None:
    queue(connection, 2)
    connection.execute("INSERT INTO model_limits (model, enqueued_tokens, learned_at) VALUES ('gpt-5.2', 10, now())")
    assert run().submitted == 0
    assert run(enqueued_token_limits="gpt-5.2=1000000").submitted == 2


def test_a_paused_model_waits_and_another_goes_on(connection: Connection, run: Run) -> None:
    queue(connection, 2)
    document = item_document()
    document["routing_decision"]["model"] = "gpt-5-mini"
    other = enqueue_one(connection, document)
    connection.execute(
        """INSERT INTO model_limits (model, paused_until, pause_reason)
        VALUES ('gpt-5.2', now() + interval '1 hour', 'insufficient_quota')"""
    )
    result = run()
    assert (result.submitted, result.waiting) == (1, {"model_paused": 0})
    sent = connection.execute("SELECT job_id FROM rewrite_jobs WHERE status = 'batch_submitted'").fetchall()
    assert sent == [(other,)]


def test_the_creations_of_an_hour_are_limited(connection: Connection, run: Run) -> None:
    queue(connection, 1)
    queue(connection, 1, target_locale="fr")
    result = run(creations_per_hour="1")
    assert (result.submitted, result.waiting) == (1, {"creation_rate": 1})


def test_a_run_takes_no_more_jobs_than_it_may(connection: Connection, run: Run) -> None:
    queue(connection, 5)
    result = run(jobs_per_run="3")
    assert (result.submitted, result.waiting, result.exit_code) == (3, {"jobs_per_run": 0}, 0)
    assert states(connection) == {"batch_submitted": 3, "queued": 2}


def test_a_run_whose_time_is_over_claims_nothing_and_says_so(connection: Connection, run: Run) -> None:
    queue(connection, 2)
    result = run(run_seconds="1e-9")
    assert (result.claimed, result.waiting, result.exit_code) == (0, {"run_seconds": 0}, 0)
    assert not result.is_idle
    assert states(connection) == {"queued": 2}


def test_a_batch_that_another_run_is_about_to_create_counts_for_the_hour(connection: Connection, run: Run) -> None:
    queue(connection, 1)
    planned(connection, 1)
    queue(connection, 1, target_locale="fr")
    result = run(creations_per_hour="1")
    assert (result.submitted, result.waiting) == (0, {"creation_rate": 0})


def test_a_limit_counts_for_any_number_of_runs_at_once(
    connection: Connection, database: SecretStr, settings: Callable[..., Settings]
) -> None:
    """Each sees room when it starts; the second one's intent finds that the first one's took it."""
    queue(connection, 1)
    queue(connection, 1, target_locale="fr")
    one = settings(jobs_per_run="1", creations_per_hour="1")
    others: list[SubmitResult] = []

    def meanwhile(step: str, _count: int) -> None:
        if step == "rendered":
            with psycopg.connect(database.get_secret_value(), autocommit=True, prepare_threshold=None) as other:
                others.append(submit(other, one, run_id=uuid4()))

    late = submit(connection, one, run_id=uuid4(), progress=meanwhile)
    assert [other.submitted for other in others] == [1]
    assert (late.claimed, late.submitted, late.waiting["creation_rate"]) == (1, 0, 1)
    assert states(connection) == {"batch_submitted": 1, "queued": 1}


def test_a_run_that_is_asked_to_stop_lets_go_of_what_it_holds(
    connection: Connection, settings: Callable[..., Settings], simulator: Simulator
) -> None:
    queue(connection, 3)
    rendered: list[int] = []
    result = submit(
        connection,
        settings(),
        run_id=uuid4(),
        stop=lambda: bool(rendered),
        progress=lambda step, count: rendered.append(count) if step == "rendered" else None,
    )
    assert (result.claimed, result.submitted) == (3, 0)
    assert states(connection) == {"queued": 3}
    assert simulator.calls() == []


def test_with_connections_to_claim_and_to_send_the_result_is_the_same(
    connection: Connection, database: SecretStr, settings: Callable[..., Settings]
) -> None:
    queue(connection, 7)
    url = database.get_secret_value()
    with (
        psycopg.connect(url, autocommit=True, prepare_threshold=None) as claimer,
        psycopg.connect(url, autocommit=True, prepare_threshold=None) as sender,
    ):
        few = settings(jobs_per_run="5", items_per_batch="2")
        result = submit(connection, few, run_id=uuid4(), claimer=claimer, sender=sender)
    assert (result.claimed, result.submitted) == (5, 5)
    assert sorted(batch["items"] for batch in result.batches) == [1, 2, 2]
    assert states(connection) == {"batch_submitted": 5, "queued": 2}


def test_a_dry_run_says_what_would_go_out_changes_nothing_and_calls_nobody(
    connection: Connection, settings: Callable[..., Settings], simulator: Simulator, run: Run
) -> None:
    queue(connection, 3)
    queue(connection, 2, target_locale="fr")
    bad = item_document()
    bad["routing_decision"]["prompt_version"] = "v999"
    enqueue_one(connection, bad)
    before = connection.execute("SELECT j::text FROM rewrite_jobs j ORDER BY 1").fetchall()

    planned = plan(connection, settings())

    assert connection.execute("SELECT j::text FROM rewrite_jobs j ORDER BY 1").fetchall() == before
    assert simulator.calls() == []
    assert planned.refused == {"unknown_prompt_version": 1}
    assert sorted(group.items for group in planned.groups) == [2, 3]
    sent = run()
    assert sum(b["estimated_input_tokens"] for b in sent.batches) == planned.as_json()["estimated_input_tokens"]
    assert sum(b["bytes"] for b in sent.batches) == sum(group.size for group in planned.groups)


def test_a_dry_run_counts_the_claim_that_the_run_would_make(
    connection: Connection, settings: Callable[..., Settings], run: Run
) -> None:
    queue(connection, 1)
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("UPDATE rewrite_jobs SET claim_count = 10")
    assert plan(connection, settings()).refused == {"poison": 1}
    assert run().failed == {"poison": 1}


def test_nothing_is_left_in_the_spool(connection: Connection, settings: Callable[..., Settings], run: Run) -> None:
    queue(connection, 3)
    run()
    assert list(settings().spool_dir.iterdir()) == []


def test_the_run_is_on_record_with_its_counts(connection: Connection, run: Run) -> None:
    queue(connection, 2)
    result = run()
    row = connection.execute(
        "SELECT run_id, command, exit_code, counts ->> 'submitted', finished_at IS NOT NULL FROM worker_runs"
    ).fetchone()
    assert row == (result.run_id, "submit", 0, "2", True)


def test_stale_claims_are_released_unless_something_was_sent(connection: Connection, run: Run) -> None:
    stale, fresh = queue(connection, 2)
    connection.execute(
        """UPDATE rewrite_jobs SET status = 'processing', claimed_by = 'dead', claim_count = claim_count + 1,
        claimed_at = now() - CASE job_id WHEN %s THEN interval '1 day' ELSE interval '0' END""",
        [stale],
    )
    result = run()
    assert (result.stale_released, result.submitted) == (1, 1)
    assert connection.execute("SELECT status FROM rewrite_jobs WHERE job_id = %s", [fresh]).fetchone() == (
        "processing",
    )


def test_a_job_that_ten_claims_could_not_send_is_poison(connection: Connection, run: Run) -> None:
    (job,) = queue(connection, 1)
    for turn in range(10):
        connection.execute(
            """UPDATE rewrite_jobs SET status = 'processing', claimed_by = 'dead', claim_count = claim_count + 1,
            claimed_at = now() - interval '1 day' WHERE job_id = %s""",
            [job],
        )
        result = run(jobs_per_run="1", enqueued_token_limits="gpt-5.2=1")
        assert (result.stale_released, result.poisoned) == ((1, 0) if turn < 9 else (0, 1))
    row = connection.execute("SELECT status, last_error FROM rewrite_jobs").fetchone()
    assert row == ("failed", "poison")
    assert connection.execute("SELECT status FROM rewrite_requests").fetchone() == ("failed",)


def test_without_a_key_nothing_is_claimed(connection: Connection, settings: Callable[..., Settings]) -> None:
    queue(connection, 2)
    without = settings().model_copy(update={"openai_api_key": None})
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        submit(connection, without, run_id=uuid4())
    assert states(connection) == {"queued": 2}
    assert connection.execute("SELECT max(claim_count) FROM rewrite_jobs").fetchone() == (0,)


def test_a_run_that_fails_is_on_record_with_its_exit_code(
    connection: Connection, settings: Callable[..., Settings], simulator: Simulator
) -> None:
    queue(connection, 2)
    fault = simulator.arm({"operation": "files.create", "kind": "status", "code": 401})
    with pytest.raises(ConfigurationError):
        submit(connection, settings(), run_id=uuid4())
    assert simulator.fired(fault) == 1
    assert connection.execute("SELECT exit_code FROM worker_runs").fetchone() == (2,)
    assert states(connection) == {"queued": 2}
