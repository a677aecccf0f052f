"""The state machine of a job holds whoever writes: here an administrator by hand."""

from itertools import product
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from rewrite_batch.db import Connection
from tests.items import (
    IN_STATE,
    batch_submitted,
    claim,
    complete,
    enqueue_one,
    import_request,
    item_document,
    processing,
    submit,
)

STATES = list(IN_STATE)
FINAL = {"completed", "failed", "canceled"}
ALLOWED = {
    ("queued", "processing"),
    ("processing", "queued"),
    ("processing", "batch_submitted"),
    ("processing", "failed"),
    ("batch_submitted", "queued"),
    ("batch_submitted", "completed"),
    ("batch_submitted", "failed"),
    ("queued", "canceled"),
    ("processing", "canceled"),
    ("batch_submitted", "canceled"),
}
# Everything a state needs besides its name, so that only the transition itself is judged.
MOVE = """
UPDATE rewrite_jobs SET
    status = %(to)s,
    finished_at = CASE WHEN %(to)s IN ('completed', 'failed', 'canceled') THEN now() END,
    claimed_by = CASE WHEN %(to)s <> 'queued' THEN 'test' END,
    claimed_at = CASE WHEN %(to)s <> 'queued' THEN now() END,
    claim_count = claim_count + (status = 'queued' AND %(to)s = 'processing')::int,
    batch_id = NULL,
    not_before_at = now(), last_error = 'why', last_error_at = now()
WHERE job_id = %(job)s
"""


def move(connection: Connection, job: UUID, to: str) -> None:
    if to == "completed":
        complete(connection, job)
        return
    if to == "batch_submitted":
        submit(connection, job)
        return
    connection.execute(MOVE, {"job": job, "to": to})


def status_of(connection: Connection, job: UUID) -> str:
    row = connection.execute("SELECT status FROM rewrite_jobs WHERE job_id = %s", [job]).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(("before", "after"), [p for p in product(STATES, STATES) if p[0] != p[1] and p in ALLOWED])
def test_a_transition_of_the_design_is_allowed_and_writes_one_event(
    connection: Connection, before: str, after: str
) -> None:
    job = IN_STATE[before](connection)
    count = "SELECT count(*) FROM rewrite_job_events WHERE job_id = %s AND from_status = %s AND to_status = %s"
    assert connection.execute(count, [job, before, after]).fetchone() == (0,)

    move(connection, job, after)

    assert status_of(connection, job) == after
    assert connection.execute(count, [job, before, after]).fetchone() == (1,)


@pytest.mark.parametrize(("before", "after"), [p for p in product(STATES, STATES) if p[0] != p[1] and p not in ALLOWED])
def test_any_other_transition_is_refused(connection: Connection, before: str, after: str) -> None:
    job = IN_STATE[before](connection)

    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        move(connection, job, after)

    assert refused.value.diag.constraint_name in {
        "rewrite_jobs_transition",
        "rewrite_outputs_completed",
        "rewrite_outputs_pkey",
    }
    assert status_of(connection, job) == before


@pytest.mark.parametrize("state", sorted(FINAL))
def test_nothing_of_a_final_job_changes(connection: Connection, state: str) -> None:
    job = IN_STATE[state](connection)

    with pytest.raises(psycopg.errors.CheckViolation, match="a final state never changes"):
        connection.execute("UPDATE rewrite_jobs SET last_error = 'x', last_error_at = now() WHERE job_id = %s", [job])


def test_provider_batch_id_is_written_once_and_survives_a_retry(connection: Connection) -> None:
    job = batch_submitted(connection)
    move(connection, job, "queued")
    claim(connection, job)
    submit(connection, job, provider_batch_id="batch_2")  # coalesce keeps the first

    row = connection.execute("SELECT provider_batch_id, attempt_count FROM rewrite_jobs").fetchone()
    assert row == ("batch_1", 2)
    for value in ("'batch_2'", "NULL"):
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(f"UPDATE rewrite_jobs SET provider_batch_id = {value} WHERE job_id = '{job}'".encode())


def test_a_retry_needs_an_attempt_left(connection: Connection) -> None:
    job = batch_submitted(connection)
    move(connection, job, "queued")
    claim(connection, job)
    submit(connection, job)

    with pytest.raises(psycopg.errors.CheckViolation, match="no attempt is left"):
        move(connection, job, "queued")


def test_a_retry_needs_its_time(connection: Connection) -> None:
    job = batch_submitted(connection)

    with pytest.raises(psycopg.errors.CheckViolation, match="a retry has a time"):
        connection.execute(
            """UPDATE rewrite_jobs SET status = 'queued', claimed_by = NULL, claimed_at = NULL, batch_id = NULL
            WHERE job_id = %s""",
            [job],
        )


def test_a_batch_that_ran_nothing_gives_the_attempt_back(connection: Connection) -> None:
    job = batch_submitted(connection)

    connection.execute(
        """UPDATE rewrite_jobs SET status = 'queued', attempt_count = attempt_count - 1, claimed_by = NULL,
        claimed_at = NULL, batch_id = NULL WHERE job_id = %s""",
        [job],
    )

    assert connection.execute("SELECT status, attempt_count FROM rewrite_jobs").fetchone() == ("queued", 0)


@pytest.mark.parametrize("change", ["attempt_count = attempt_count + 1", "claim_count = claim_count + 1"])
def test_counters_move_only_with_their_transition(connection: Connection, change: str) -> None:
    job = processing(connection)

    with pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(f"UPDATE rewrite_jobs SET {change} WHERE job_id = '{job}'".encode())


def test_an_event_says_from_to_attempt_reason_run_batch_and_time(connection: Connection) -> None:
    job = processing(connection)
    run = UUID("0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b")
    with connection.transaction():
        connection.execute("SELECT set_config('rewrite_batch.run_id', %s, true)", [str(run)])
        batch = submit(connection, job)
    move(connection, job, "failed")

    events = connection.execute(
        """SELECT from_status, to_status, attempt, reason, run_id, batch_id, occurred_at IS NOT NULL,
            actor = session_user
        FROM rewrite_job_events WHERE job_id = %s ORDER BY event_id""",
        [job],
    ).fetchall()
    assert events == [
        (None, "queued", 0, None, None, None, True, True),
        ("queued", "processing", 0, None, None, None, True, True),
        ("processing", "batch_submitted", 1, None, run, batch, True, True),
        ("batch_submitted", "failed", 1, "why", None, batch, True, True),
    ]


def test_a_bulk_move_writes_one_event_a_job_and_one_bad_row_stops_them_all(connection: Connection) -> None:
    jobs = [enqueue_one(connection) for _ in range(20)]
    claim(connection, *jobs)
    count = "SELECT count(*) FROM rewrite_job_events WHERE to_status = 'processing'"
    assert connection.execute(count).fetchone() == (20,)

    done = IN_STATE["failed"](connection)
    with pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(
            """UPDATE rewrite_jobs SET status = 'queued', claimed_by = NULL, claimed_at = NULL, finished_at = NULL
            WHERE job_id = ANY(%s)""",
            [[*jobs, done]],
        )
    assert connection.execute("SELECT count(*) FROM rewrite_jobs WHERE status = 'processing'").fetchone() == (20,)


def test_a_final_state_has_its_time_and_no_other_state_does(connection: Connection) -> None:
    job = processing(connection)

    for change in (
        "status = 'failed', last_error = 'x', last_error_at = now()",
        "status = 'canceled'",
        "finished_at = now()",
    ):
        with pytest.raises(psycopg.errors.CheckViolation) as refused:
            connection.execute(f"UPDATE rewrite_jobs SET {change} WHERE job_id = '{job}'".encode())
        assert refused.value.diag.constraint_name == "rewrite_jobs_final_has_time"


def test_a_claim_has_a_holder_and_a_failure_a_reason(connection: Connection) -> None:
    job = enqueue_one(connection)
    with pytest.raises(psycopg.errors.CheckViolation) as no_holder:
        connection.execute("UPDATE rewrite_jobs SET status = 'processing', claim_count = 1 WHERE job_id = %s", [job])
    assert no_holder.value.diag.constraint_name == "rewrite_jobs_claim_has_holder"

    claim(connection, job)
    with pytest.raises(psycopg.errors.CheckViolation) as no_reason:
        connection.execute("UPDATE rewrite_jobs SET status = 'failed', finished_at = now() WHERE job_id = %s", [job])
    assert no_reason.value.diag.constraint_name == "rewrite_jobs_failed_has_reason"


def test_a_reason_is_a_code_and_never_a_sentence(connection: Connection) -> None:
    job = processing(connection)

    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        connection.execute(
            "UPDATE rewrite_jobs SET last_error = 'Turn the music down!', last_error_at = now() WHERE job_id = %s",
            [job],
        )
    assert refused.value.diag.constraint_name == "reason_is_a_code"


def test_legacy_names_are_stored_under_the_canonical_ones(connection: Connection) -> None:
    """As an import of old rows would: insert them under the names they had."""
    document = item_document()["rewrite_request"]
    import_request(connection, document, status="running")
    assert connection.execute("SELECT status FROM rewrite_requests").fetchone() == ("processing",)

    connection.execute(
        """INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            max_attempts, status, claimed_by, claimed_at)
        SELECT gen_random_uuid(), rewrite_request_id, recipient_user_id, recipient_snapshot_id,
            recipient_preference_snapshot_id, 'complaint_rewrite', 'direct_message', rewrite_strength,
            '{"from": "en", "to": "es"}', lane, %s, 2, 'running', 'old', now()
        FROM rewrite_requests""",
        [Jsonb(item_document()["routing_decision"])],
    )
    assert connection.execute("SELECT status FROM rewrite_jobs").fetchone() == ("processing",)


def test_a_unit_that_succeeded_elsewhere_is_imported_in_one_statement(connection: Connection) -> None:
    """Its request, job and output are judged together, at the statement's end: in two they would be refused."""
    document = item_document()
    import_request(connection, document["rewrite_request"])
    connection.execute("CREATE TEMP TABLE old AS SELECT * FROM rewrite_requests")
    connection.execute("DELETE FROM rewrite_requests")
    connection.execute("UPDATE old SET status = 'succeeded', rewrite_completed_at = now()")
    parts = {
        "request": "INSERT INTO rewrite_requests SELECT * FROM old",
        "job": """INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
            recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
            max_attempts, attempt_count, status, finished_at)
            SELECT gen_random_uuid(), rewrite_request_id, recipient_user_id, recipient_snapshot_id,
            recipient_preference_snapshot_id, 'complaint_rewrite', surface, rewrite_strength,
            '{"from": "en", "to": "es"}', lane, %s, 2, 1, 'succeeded', now()
            FROM old""",
        "output": """INSERT INTO rewrite_outputs SELECT rewrite_request_id, recipient_user_id, 'hola', 'es', 'es',
            'gpt-5.2', 'openai', 'v1', 'v1', 'none', '{}' FROM old""",
    }
    route = [Jsonb(document["routing_decision"])]
    with pytest.raises(psycopg.errors.CheckViolation), connection.transaction():
        connection.execute(f"WITH r AS ({parts['request']}) {parts['job']}".encode(), route)
    with pytest.raises(psycopg.errors.CheckViolation), connection.transaction():
        connection.execute(parts["request"].encode())

    connection.execute(f"WITH r AS ({parts['request']}), j AS ({parts['job']}) {parts['output']}".encode(), route)

    stored = connection.execute("SELECT r.status, j.status FROM rewrite_requests r JOIN rewrite_jobs j USING (lane)")
    assert stored.fetchall() == [("completed", "completed")]
    assert connection.execute("SELECT to_status FROM rewrite_job_events").fetchall() == [("completed",)]
