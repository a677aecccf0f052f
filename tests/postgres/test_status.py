"""Status: what it counts, that it moves nothing, and that everybody who may read may ask."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from rich.console import Console

from rewrite_batch.db import Connection
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings
from rewrite_batch.status import read_status, status_tables
from rewrite_batch.submit.claim import claim
from tests.items import TEXT, enqueue_many, enqueue_one, item_document
from tests.ledger import Past, write
from tests.postgres.test_budget import call
from tests.postgres.test_check import mixed, planned, submitted, travel

SETTINGS = Settings()


def shown(connection: Connection, settings: Settings = SETTINGS) -> str:
    console = Console(width=200, highlight=False)
    with console.capture() as capture:
        for each in status_tables(read_status(connection, settings)):
            console.print(each)
    return capture.get()


def count(connection: Connection, what: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {what}".encode()).fetchone()
    assert row is not None
    return row[0]


def test_an_empty_database_has_a_status(connection: Connection) -> None:
    status = read_status(connection, SETTINGS)
    assert set(status.queue.by_state.values()) == {0}
    assert (status.queue.oldest_due_s, status.batches_in_flight, status.runs) == (None, 0, [])
    assert "The queue" in shown(connection)


def test_the_queue_is_counted_by_state(connection: Connection) -> None:
    mixed(connection)
    queue = read_status(connection, SETTINGS).queue
    assert all(queue.by_state.values())
    assert queue.by_state == {
        state: count(connection, f"rewrite_jobs WHERE status = '{state}'") for state in queue.by_state
    }
    assert sum(queue.by_state.values()) == count(connection, "rewrite_jobs")


def test_what_is_due_is_told_from_what_waits_for_its_time(connection: Connection) -> None:
    for not_before in (None, "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "2998-01-01T00:00:00Z"):
        document = item_document()
        document["not_before_at"] = not_before
        enqueue_one(connection, document)
    queue = read_status(connection, SETTINGS).queue
    assert (queue.due, queue.waiting_for_their_time) == (2, 2)
    row = connection.execute("SELECT extract(epoch FROM now() - timestamptz '2001-01-01Z')::float8").fetchone()
    assert row is not None
    assert queue.oldest_due_s == pytest.approx(row[0], abs=60)


def test_nothing_is_the_oldest_when_nothing_is_due(connection: Connection) -> None:
    document = item_document()
    document["not_before_at"] = "2999-01-01T00:00:00Z"
    enqueue_one(connection, document)
    assert read_status(connection, SETTINGS).queue.oldest_due_s is None


def test_a_stale_claim_is_an_old_one_that_is_in_no_live_batch(connection: Connection) -> None:
    enqueue_many(connection, 5)
    planned(connection, 2)
    claim(connection, run_id=uuid4(), limit=2)
    connection.execute("UPDATE rewrite_jobs SET claimed_at = now() - interval '1 day' WHERE status = 'processing'")
    claim(connection, run_id=uuid4(), limit=1)
    assert read_status(connection, SETTINGS).queue.stale_claims == 2


def test_batches_in_flight_say_how_far_they_are_and_who_holds_them(connection: Connection) -> None:
    enqueue_many(connection, 5)
    first, _ = submitted(connection, 3)
    connection.execute(
        "UPDATE rewrite_batch_items SET outcome = 'x', decided_at = now() WHERE batch_id = %s AND batch_item_index < 2",
        [first],
    )
    second, run_id, _ = planned(connection, 2)
    names = {"run_id": run_id, "command": "submit", "worker": "host-7", "environment": "dev", "version": "1"}
    connection.execute(query("runs/start"), names)
    status = read_status(connection, SETTINGS)
    newest, oldest = status.batches
    assert (newest.batch_id, newest.state, newest.items, newest.decided) == (second, "planned", 2, 0)
    assert (newest.lease_run_id, newest.lease_worker, newest.provider_batch_id) == (run_id, "host-7", None)
    assert (oldest.state, oldest.provider_status, oldest.items, oldest.decided) == ("submitted", "validating", 3, 2)
    assert (oldest.provider_batch_id, oldest.model, oldest.lease_run_id) == (f"batch_{first}", "gpt-5.2", None)
    assert 0 <= newest.age_s <= oldest.age_s


def test_a_lease_that_has_run_out_has_no_holder(connection: Connection) -> None:
    enqueue_many(connection, 1)
    planned(connection, 1)
    connection.execute("UPDATE rewrite_batches SET lease_expires_at = now() - interval '1 second'")
    assert read_status(connection, SETTINGS).batches[0].lease_run_id is None


def test_only_the_newest_batches_are_listed_but_all_are_counted(connection: Connection) -> None:
    enqueue_many(connection, 52)
    made = [planned(connection, 1)[0] for _ in range(52)]
    status = read_status(connection, SETTINGS)
    assert (status.batches_in_flight, len(status.batches)) == (52, 50)
    assert [batch.batch_id for batch in status.batches] == made[:1:-1]
    assert "Batches in flight: 52, the newest 50" in shown(connection)


def test_batches_that_are_over_are_not_in_flight(connection: Connection) -> None:
    mixed(connection)
    status = read_status(connection, SETTINGS)
    assert status.batches_in_flight == count(connection, "rewrite_batches WHERE state NOT IN ('settled', 'abandoned')")
    assert {batch.state for batch in status.batches} == {"planned", "uploaded", "create_sent", "submitted", "finished"}


def test_reservations_stand_beside_their_limits_and_caps(connection: Connection) -> None:
    enqueue_many(connection, 3)
    planned(connection, 2)
    submitted(connection, 1)
    settings = Settings(enqueued_token_limits="gpt-5.2=1000,other=7", daily_budget_usd=Decimal(5))
    status = read_status(connection, settings)
    assert [(t.model, t.open_tokens, t.limit) for t in status.tokens] == [("gpt-5.2", 27, 1000), ("other", 0, 7)]
    assert (status.money.open_usd, status.money.day_usd) == (Decimal("0.02"), 0)
    assert (status.money.daily_budget_usd, status.money.monthly_budget_usd) == (5, None)


def test_what_was_spent_is_told_without_a_cap_too(connection: Connection) -> None:
    past = Past(1)
    call(past, datetime.now(UTC), "1.5")
    write(connection, past)
    money = read_status(connection, SETTINGS).money
    assert (money.day_usd, money.month_usd, money.daily_budget_usd) == (Decimal("1.5"), Decimal("1.5"), None)


def test_a_paused_model_says_why_and_until_when(connection: Connection) -> None:
    for model, seconds in (("gpt-5.2", 600), ("done", -1)):
        names = {"model": model, "seconds": seconds, "reason": "insufficient_quota"}
        connection.execute(query("limits/pause"), names)
    [paused] = read_status(connection, SETTINGS).paused
    row = connection.execute("SELECT paused_until FROM model_limits WHERE model = 'gpt-5.2'").fetchone()
    assert (paused.model, paused.reason, (paused.until,)) == ("gpt-5.2", "insufficient_quota", row)


def test_the_last_ten_runs_are_listed_newest_first(connection: Connection) -> None:
    connection.execute(
        """INSERT INTO worker_runs (run_id, command, worker, environment, version, started_at, finished_at,
            exit_code, counts)
        SELECT gen_random_uuid(), 'submit', 'w' || n, 'dev', '1', now() - make_interval(mins => n),
            CASE WHEN n > 1 THEN now() - make_interval(mins => n) + interval '5 seconds' END,
            CASE WHEN n > 1 THEN 0 END, '{"claimed": 3}' FROM generate_series(1, 12) n"""
    )
    runs = read_status(connection, SETTINGS).runs
    assert [run.worker for run in runs] == [f"w{n}" for n in range(1, 11)]
    assert (runs[0].exit_code, runs[0].seconds) == (None, pytest.approx(60, abs=30))
    assert (runs[1].exit_code, runs[1].seconds, runs[1].counts) == (0, 5, {"claimed": 3})


def test_alerts_that_nobody_acknowledged_are_counted_by_kind(connection: Connection) -> None:
    connection.execute(
        """INSERT INTO rewrite_alerts (kind, acknowledged_at)
        VALUES ('twin_cancelled', NULL), ('twin_cancelled', NULL), ('insufficient_quota', NULL), ('old', now())"""
    )
    alerts = read_status(connection, SETTINGS).alerts
    assert [(alert.kind, alert.count) for alert in alerts] == [("insufficient_quota", 1), ("twin_cancelled", 2)]


@pytest.mark.parametrize("role", ["rewrite_analyst", "rewrite_worker"])
def test_everybody_who_may_read_may_ask(connection: Connection, role: str) -> None:
    mixed(connection)
    connection.execute(f"SET ROLE {role}".encode())
    assert read_status(connection, SETTINGS).batches


def test_status_moves_nothing(connection: Connection) -> None:
    mixed(connection)
    tables = ("rewrite_jobs", "rewrite_batches", "rewrite_batch_items", "token_reservations", "worker_runs")
    before = [connection.execute(f"SELECT * FROM {t} ORDER BY 1, 2".encode()).fetchall() for t in tables]
    read_status(connection, SETTINGS)
    assert [connection.execute(f"SELECT * FROM {t} ORDER BY 1, 2".encode()).fetchall() for t in tables] == before


def test_the_status_is_plain_json_and_holds_no_words(connection: Connection) -> None:
    mixed(connection)
    connection.execute(query("limits/pause"), {"model": "gpt-5.2", "seconds": 600, "reason": "rate_limited"})
    printed = json.dumps(read_status(connection, SETTINGS).as_json())
    assert TEXT not in printed + shown(connection)
    data: dict[str, Any] = json.loads(printed)
    assert list(data) == [
        "queue", "batches", "batches_in_flight", "tokens", "money", "paused", "runs", "alerts",
    ]  # fmt: skip


def test_the_tables_say_what_a_person_asks_first(connection: Connection) -> None:
    enqueue_many(connection, 3)
    batch_id, run_id, _ = planned(connection, 1)
    travel(connection, batch_id, run_id, "submitted")
    connection.execute("INSERT INTO rewrite_alerts (kind) VALUES ('twin_cancelled')")
    printed = shown(connection)
    for word in (
        "due now",
        "stale claims",
        str(batch_id),
        "submitted (validating)",
        "gpt-5.2",
        "Money",
        "twin_cancelled",
    ):
        assert word in printed
    assert "Paused models" not in printed, "what is empty is left out"


def test_the_queue_is_counted_in_one_pass_over_an_index(connection: Connection) -> None:
    enqueue_many(connection, 1)
    connection.execute("SET session_replication_role = replica")
    connection.execute(
        """INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            max_attempts, status, last_error, last_error_at, finished_at)
        SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            2, 'failed', 'why', now(), now()
        FROM rewrite_jobs, generate_series(1, 20000)"""
    )
    connection.execute("RESET session_replication_role")
    connection.execute("VACUUM (ANALYZE) rewrite_jobs")
    plan = "\n".join(row[0] for row in connection.execute(b"EXPLAIN " + query("status/jobs")).fetchall())
    assert "Index Only Scan using rewrite_jobs_status_due" in plan
    assert plan.count("Scan") == 1
