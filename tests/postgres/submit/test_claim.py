"""The claim statement: whom it takes, whom it leaves, and what it reads on the way."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from pydantic import SecretStr

from rewrite_batch.db import Connection
from rewrite_batch.queries import query
from rewrite_batch.submit.claim import MAX_CLAIM, WALK_THE_INDEX
from rewrite_batch.submit.claim import claim as claim_jobs
from tests.items import enqueue_many, enqueue_one, item_document

BACKLOG = 300_000


def claim(connection: Connection, limit: int, run_id: UUID | None = None) -> list[UUID]:
    return [job.job_id for job in claim_jobs(connection, run_id=run_id or uuid4(), limit=limit)]


def test_claim_takes_the_longest_waiting_first(connection: Connection) -> None:
    first, second, third = (enqueue_one(connection) for _ in range(3))
    assert set(claim(connection, 2)) == {first, second}
    assert claim(connection, 2) == [third]
    assert claim(connection, 2) == []


def test_claim_leaves_jobs_whose_time_has_not_come(connection: Connection) -> None:
    document = item_document()
    document["not_before_at"] = "2999-01-01T00:00:00Z"
    enqueue_one(connection, document)
    due = item_document()
    due["not_before_at"] = "2001-01-01T00:00:00Z"
    job = enqueue_one(connection, due)
    assert claim(connection, 10) == [job]


def test_claim_marks_the_holder_by_the_databases_clock(connection: Connection) -> None:
    enqueue_one(connection)
    run_id = uuid4()
    claim(connection, 1, run_id)
    row = connection.execute(
        """SELECT status, claimed_by, claim_count, attempt_count, claimed_at BETWEEN created_at AND now()
        FROM rewrite_jobs"""
    ).fetchone()
    assert row == ("processing", str(run_id), 1, 0, True)
    event = connection.execute("SELECT run_id FROM rewrite_job_events WHERE to_status = 'processing'").fetchone()
    assert event == (run_id,)


def test_claim_takes_at_most_a_thousand_units_at_once(connection: Connection) -> None:
    enqueue_many(connection, MAX_CLAIM + 1)
    assert len(claim(connection, 5_000)) == MAX_CLAIM


@pytest.fixture
def other(database: SecretStr) -> Iterator[Connection]:
    with psycopg.connect(database.get_secret_value(), autocommit=True) as connected:
        yield connected


def test_claim_skips_rows_another_run_holds(connection: Connection, other: Connection) -> None:
    jobs = enqueue_many(connection, 10)
    with other.transaction():
        held = claim(other, 4)
        mine = claim(connection, 100)
    assert len(held) == 4
    assert set(mine) == set(jobs) - set(held)


def test_claim_skips_a_unit_whose_advisory_lock_another_holds(connection: Connection, other: Connection) -> None:
    job = enqueue_one(connection)
    with other.transaction():
        other.execute(
            "SELECT pg_advisory_xact_lock(rewrite_unit_key(rewrite_request_id, recipient_user_id)) FROM rewrite_jobs"
        )
        assert claim(connection, 10) == []
    assert claim(connection, 10) == [job]


def test_the_lock_of_a_unit_is_made_of_both_ids_and_not_of_the_home(connection: Connection) -> None:
    a, b, c = (
        "'0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b'",
        "'0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5c'",
        "gen_random_uuid()",
    )
    keys = (
        f"SELECT count(DISTINCT k) FROM (VALUES (rewrite_unit_key({a}, {b})), (rewrite_unit_key({b}, {a})),"
        f" (rewrite_unit_key({a}, {c})), (rewrite_unit_key({a}, {b}))) v (k)"
    )
    assert connection.execute(keys.encode()).fetchone() == (3,)


def test_claim_does_not_wait_for_a_row_that_another_has_locked(connection: Connection, other: Connection) -> None:
    held, free = enqueue_one(connection), enqueue_one(connection)
    with other.transaction():
        other.execute("SELECT FROM rewrite_jobs WHERE job_id = %s FOR UPDATE", [held])
        connection.execute("SET lock_timeout = '5s'")  # waiting would be an error
        assert claim(connection, 10) == [free]


def test_claim_leaves_models_that_have_no_room(connection: Connection) -> None:
    enqueue_one(connection)
    blocked = claim_jobs(connection, run_id=uuid4(), limit=10, blocked_models=["gpt-5.2"])
    assert blocked == []
    assert len(claim_jobs(connection, run_id=uuid4(), limit=10, blocked_models=["gpt-5-mini"])) == 1


@pytest.fixture
def backlog(connection: Connection) -> Connection:
    """A third waiting their turn, a third waiting for a later time, a third history: 300,000 jobs in all."""
    enqueue_one(connection)
    connection.execute("ALTER TABLE rewrite_jobs SET (autovacuum_enabled = off)")
    connection.execute("SET session_replication_role = replica")  # only to fill the table quickly
    connection.execute(
        """INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            max_attempts, created_at, not_before_at, status, last_error, last_error_at, finished_at)
        SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            2, now() - make_interval(secs => n), CASE n %% 3 WHEN 1 THEN now() + make_interval(secs => n) END,
            CASE n %% 3 WHEN 2 THEN 'failed' ELSE 'queued' END, 'why', now(), CASE n %% 3 WHEN 2 THEN now() END
        FROM rewrite_jobs, generate_series(1, %s) AS n""",
        [BACKLOG],
    )
    connection.execute("RESET session_replication_role")
    return connection


def test_claim_reads_rows_in_proportion_to_what_it_claims(backlog: Connection) -> None:
    for limit in (10, 1_000):
        assert limit <= rows_read(backlog, limit) <= 3 * limit, "before statistics, as right after a bulk load"
    backlog.execute("ANALYZE rewrite_jobs")
    for limit in (10, 1_000):
        assert limit <= rows_read(backlog, limit) <= 3 * limit, "with statistics"


def rows_read(connection: Connection, limit: int) -> float:
    """In the transaction that claim opens."""
    with connection.transaction(force_rollback=True):
        connection.execute(WALK_THE_INDEX)
        plan = explained(connection, "submit/claim", {"limit": limit, "blocked_models": [], "claim_token": "run"})
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 100 * limit
    scans = [node for node in nodes_of(plan) if node.get("Relation Name") == "rewrite_jobs"]
    read = [node["Actual Rows"] * node["Actual Loops"] + node.get("Rows Removed by Filter", 0) for node in scans]
    return sum(rows for node, rows in zip(scans, read, strict=True) if "Scan" in node["Node Type"])


def explained(connection: Connection, name: str, values: dict[str, Any]) -> dict[str, Any]:
    row = connection.execute(b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + query(name), values).fetchone()
    assert row is not None
    return row[0][0]["Plan"]


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes_of(inner)
