"""The oracle: silent on every state that a run can leave, and each rule catches the breakage it is there for."""

from decimal import Decimal
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from psycopg import errors

from rewrite_batch.check import Broken, check, rules, sentence_of
from rewrite_batch.db import Connection, mark_run
from rewrite_batch.provider.batches import ProviderBatch
from rewrite_batch.queries import query
from rewrite_batch.reconcile import ledger
from rewrite_batch.settings import Settings
from rewrite_batch.submit.check import Row
from rewrite_batch.submit.claim import claim
from rewrite_batch.submit.group import GroupKey, Unit
from rewrite_batch.submit.intent import Planned, write_intent
from rewrite_batch.submit.release import release_own, release_stale
from tests.items import COMPLETE, enqueue_many, enqueue_one, item_document

SETTINGS = Settings()
KEY = GroupKey("openai", "gpt-5.2", "v1", "v1", "batch", "cross_language", "en", "es")
OPEN = ("planned", "uploaded", "create_sent", "submitted")


def intend(connection: Connection, claimed: list[Row], run_id: UUID) -> UUID:
    """A batch of what a run has claimed, on record; nothing of it is sent yet."""
    units = [
        Unit(c.job_id, c.rewrite_request_id, c.recipient_user_id, c.attempt_count + 1, KEY, 9, 9, 9, 9) for c in claimed
    ]
    batch = Planned(uuid4(), units, None, Path("unused"), "0" * 64, 0, 9, Decimal("0.01"))
    assert write_intent(connection, batch, run_id=run_id, settings=SETTINGS, lease_s=600) is None
    return batch.batch_id


def planned(connection: Connection, count: int = 2) -> tuple[UUID, UUID, list[UUID]]:
    """The next jobs of the queue in a batch of a run: batch, run, jobs in the order of its items."""
    run_id = uuid4()
    claimed = claim(connection, run_id=run_id, limit=count)
    return intend(connection, claimed, run_id), run_id, [job.job_id for job in claimed]


def travel(connection: Connection, batch_id: UUID, run_id: UUID, state: str) -> None:
    """On from `planned`, by the statements of submit."""
    lease = {"batch_id": batch_id, "lease_token": run_id, "lease_s": 600}
    uploaded = {**lease, "input_file_id": f"file-{batch_id}", "in_doubt": False}
    steps = [
        lambda: connection.execute(query("submit/mark_uploaded"), uploaded),
        lambda: connection.execute(query("submit/mark_create_sent"), lease),
        lambda: register(connection, batch_id, run_id),
    ]
    for step in steps[: OPEN.index(state)]:
        step()


def register(connection: Connection, batch_id: UUID, run_id: UUID) -> int:
    items = connection.execute("SELECT item_count FROM rewrite_batches WHERE batch_id = %s", [batch_id]).fetchone()
    assert items is not None
    found = ProviderBatch(f"batch_{batch_id}", "validating", f"file-{batch_id}", 0, str(batch_id), "dev")
    return ledger.register(connection, batch_id=batch_id, run_id=run_id, item_count=items[0], found=found)


def submitted(connection: Connection, count: int = 2) -> tuple[UUID, list[UUID]]:
    batch_id, run_id, jobs = planned(connection, count)
    travel(connection, batch_id, run_id, "submitted")
    return batch_id, jobs


def cancel_jobs(connection: Connection, jobs: list[UUID]) -> None:
    names = {"job_ids": jobs, "states": ["queued", "processing", "batch_submitted"], "batch_ids": None}
    connection.execute(query("cancel/cancel"), names)


def collect(connection: Connection, batch_id: UUID, jobs: list[UUID], *, outcome: str) -> None:
    """What a collector leaves of a batch: every item decided alike, billed, the reservation settled."""
    names = {"batch": batch_id, "jobs": jobs, "outcome": outcome}
    with connection.transaction():
        connection.execute(  # what the provider returns it has not run, and nobody pays for it
            """INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider,
                model, source_locale, target_locale, input_tokens, cached_tokens, cache_write_tokens, output_tokens,
                reasoning_tokens)
            SELECT batch_id, batch_item_index, job_id, rewrite_request_id, attempt, 'openai', 'gpt-5.2', source_locale,
                target_locale, 9, 0, 0, 9, 0
            FROM rewrite_batch_items WHERE batch_id = %(batch)s AND %(outcome)s <> 'returned'""",
            names,
        )
        connection.execute(
            """UPDATE rewrite_batch_items SET outcome = %(outcome)s, decided_at = now()
            WHERE batch_id = %(batch)s""",
            names,
        )
        if outcome == "completed":
            connection.execute(COMPLETE, names)
            connection.execute(
                """UPDATE rewrite_requests SET status = 'completed', rewrite_completed_at = now()
                FROM rewrite_jobs j WHERE j.rewrite_request_id = rewrite_requests.rewrite_request_id
                AND j.job_id = ANY(%(jobs)s)""",
                names,
            )
        else:
            connection.execute(
                """UPDATE rewrite_jobs SET status = 'queued', claimed_at = NULL, claimed_by = NULL, batch_id = NULL,
                    not_before_at = created_at, last_error = 'transient', last_error_at = now(),
                    attempt_count = attempt_count - (%(outcome)s = 'returned')::int
                WHERE job_id = ANY(%(jobs)s) AND status = 'batch_submitted'""",
                names,
            )
        connection.execute(
            """UPDATE token_reservations SET state = 'settled', settled_tokens = 9, closed_at = now()
            WHERE batch_id = %(batch)s""",
            names,
        )
        connection.execute(
            """UPDATE rewrite_batches SET state = 'settled', finished_at = now(), settled_at = now()
            WHERE batch_id = %(batch)s""",
            names,
        )


def mixed(connection: Connection) -> None:
    """Something in every state that the program leaves, finished or killed."""
    enqueue_many(connection, 2)
    batch_id, jobs = submitted(connection)
    collect(connection, batch_id, jobs, outcome="returned")
    batch_id, jobs = submitted(connection)
    collect(connection, batch_id, jobs, outcome="transient")
    batch_id, jobs = submitted(connection)
    collect(connection, batch_id, jobs, outcome="completed")

    for state in OPEN:
        enqueue_many(connection, 3)
        batch_id, run_id, jobs = planned(connection, 3)
        travel(connection, batch_id, run_id, state)
        cancel_jobs(connection, jobs[:1])
    for state in OPEN[:3]:
        enqueue_many(connection, 2)
        batch_id, run_id, jobs = planned(connection)
        cancel_jobs(connection, jobs[:1])
        travel(connection, batch_id, run_id, state)
        ledger.abandon(connection, batch_id=batch_id, run_id=run_id, reason="never_sent", spends_claim=True)

    enqueue_many(connection, 3)
    batch_id, run_id, jobs = planned(connection, 3)
    cancel_jobs(connection, jobs[:1])
    travel(connection, batch_id, run_id, "submitted")  # registered after one of its units was canceled
    connection.execute(
        """DELETE FROM rewrite_requests WHERE rewrite_request_id = (SELECT rewrite_request_id FROM rewrite_jobs
        WHERE job_id = %s)""",
        [jobs[1]],
    )
    connection.execute(
        "UPDATE rewrite_batches SET state = 'finished', finished_at = now() WHERE batch_id = %s", [batch_id]
    )
    refuse_and_release(connection)


def refuse_and_release(connection: Connection) -> None:
    enqueue_many(connection, 3)
    run_id = uuid4()
    claimed = [job.job_id for job in claim(connection, run_id=run_id, limit=100)]
    with connection.transaction():
        mark_run(connection, run_id)
        names = {"job_ids": claimed[:1], "reasons": ["unsupported_adapter"], "claim_token": str(run_id)}
        connection.execute(query("submit/fail"), names)
    release_own(connection, run_id, "run_ended")
    for _ in range(10):
        claim(connection, run_id=uuid4(), limit=1)
        connection.execute(
            """UPDATE rewrite_jobs SET claimed_at = claimed_at - interval '2 hours' WHERE status = 'processing'
            AND job_id NOT IN (SELECT job_id FROM rewrite_batch_items WHERE outcome IS NULL)"""
        )
        release_stale(connection, SETTINGS, uuid4())
    document = item_document()
    document["not_before_at"] = "2999-01-01T00:00:00Z"
    enqueue_one(connection, document)
    enqueue_many(connection, 2)
    claim(connection, run_id=uuid4(), limit=1)


@pytest.fixture
def healthy(connection: Connection) -> Connection:
    mixed(connection)
    return connection


def named(broken: list[Broken]) -> set[str]:
    return {each.rule for each in broken}


def test_an_empty_database_breaks_nothing(connection: Connection) -> None:
    assert check(connection) == []


def test_every_state_that_a_run_can_leave_is_healthy(healthy: Connection) -> None:
    states = {row[0] for row in healthy.execute("SELECT DISTINCT status FROM rewrite_jobs").fetchall()}
    assert states == {"queued", "processing", "batch_submitted", "completed", "failed", "canceled"}
    batches = {row[0] for row in healthy.execute("SELECT DISTINCT state FROM rewrite_batches").fetchall()}
    assert batches == {*OPEN, "finished", "settled", "abandoned"}
    reasons = {row[0] for row in healthy.execute("SELECT DISTINCT last_error FROM rewrite_jobs").fetchall()}
    assert {"poison", "unsupported_adapter", "canceled_by_admin"} <= reasons
    assert check(healthy) == []


ONE = {status: f"(SELECT min(job_id::text)::uuid FROM rewrite_jobs WHERE status = '{status}')" for status in (
    "queued", "processing", "batch_submitted", "completed", "failed", "canceled")}  # fmt: skip
CARRIED = """(SELECT min(job_id::text)::uuid FROM rewrite_jobs JOIN rewrite_batch_items USING (job_id)
    WHERE status = 'processing' AND outcome IS NULL)"""
COPY_ITEM = """INSERT INTO rewrite_batch_items SELECT {batch}, {index}, job_id, rewrite_request_id, recipient_user_id,
    batch_group_key, source_locale, target_locale, attempt, 9, 9, 9, {outcome}, NULL, NULL, NULL, now(), {decided}
    FROM rewrite_batch_items {which}"""
EVENT = """INSERT INTO rewrite_job_events (job_id, rewrite_request_id, from_status, to_status, attempt, actor)
    SELECT job_id, rewrite_request_id, {edge}, {attempt}, 'test' FROM rewrite_jobs WHERE job_id = {job}"""
NEXT_BATCH = "(SELECT min(batch_id::text)::uuid FROM rewrite_batches WHERE state = '{}')"
COPY_CALL = """INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider,
    model, source_locale, target_locale, input_tokens, cached_tokens, cache_write_tokens, output_tokens,
    reasoning_tokens)
    SELECT {batch}, {index}, job_id, rewrite_request_id, {attempt}, 'openai', 'gpt-5.2', 'en', 'es', 9, 0, 0, 9, 0
    FROM provider_calls WHERE input_tokens > 0 LIMIT 1"""

# Each list is tried statement by statement on a healthy database: every one must be caught by its rule.
PLANTS: dict[str, list[str]] = {
    "completed_has_output": [
        "DELETE FROM rewrite_outputs",
        f"DELETE FROM rewrite_jobs WHERE job_id = {ONE['completed']}",
        f"""UPDATE rewrite_outputs SET (rewrite_request_id, recipient_user_id) = (SELECT rewrite_request_id,
            recipient_user_id FROM rewrite_jobs WHERE job_id = {ONE["failed"]}) WHERE rewrite_request_id =
            (SELECT rewrite_request_id FROM rewrite_jobs WHERE job_id = {ONE["completed"]})""",
    ],
    "final_once": [
        EVENT.format(edge="'failed', 'failed'", attempt="attempt_count", job=ONE["failed"]),
        EVENT.format(edge="'completed', 'queued'", attempt="attempt_count", job=ONE["completed"]),
    ],
    "last_event_agrees": [
        f"UPDATE rewrite_jobs SET status = 'failed' WHERE job_id = {ONE['canceled']}",
        f"UPDATE rewrite_jobs SET attempt_count = attempt_count + 1 WHERE job_id = {ONE['queued']}",
        f"DELETE FROM rewrite_job_events WHERE job_id = {ONE['queued']}",
    ],
    "events_continue": [
        EVENT.format(edge="'processing', 'queued'", attempt="attempt_count", job=ONE["queued"]),
        f"DELETE FROM rewrite_job_events WHERE to_status = 'processing' AND job_id = {ONE['failed']}",
        EVENT.format(edge="'queued', 'completed'", attempt="attempt_count", job=ONE["queued"]),
        EVENT.format(edge="NULL, 'queued'", attempt="attempt_count", job=ONE["queued"]),
    ],
    "attempts_count_trips": [
        "UPDATE rewrite_job_events SET attempt = attempt + 1 WHERE to_status = 'processing'",
        "UPDATE rewrite_job_events SET attempt = attempt + 1 WHERE to_status = 'batch_submitted'",
        """UPDATE rewrite_job_events SET attempt = attempt - 2
            WHERE from_status = 'batch_submitted' AND to_status = 'queued'""",
    ],
    "trips_have_items": [
        "DELETE FROM rewrite_batch_items WHERE outcome = 'completed'",
        "DELETE FROM rewrite_job_events WHERE to_status = 'batch_submitted'",
        """UPDATE rewrite_job_events SET batch_id = gen_random_uuid() WHERE to_status = 'batch_submitted'""",
        COPY_ITEM.format(
            batch=NEXT_BATCH.format("submitted"),
            index=7,
            outcome="'x'",
            decided="now()",
            which="WHERE outcome = 'completed' LIMIT 1",
        ),
    ],
    "one_live_batch": [
        """DROP INDEX rewrite_batch_items_one_live_batch;"""
        + COPY_ITEM.format(
            batch=NEXT_BATCH.format("planned"),
            index=7,
            outcome="NULL",
            decided="NULL",
            which=f"WHERE job_id = {ONE['batch_submitted']} AND outcome IS NULL",
        ),
    ],
    "live_item_has_live_job": [
        "UPDATE rewrite_jobs SET status = 'queued', claimed_by = NULL, claimed_at = NULL, batch_id = NULL"
        f" WHERE job_id = {CARRIED}",
        f"UPDATE rewrite_jobs SET status = 'completed', finished_at = now() WHERE job_id = {CARRIED}",
        "UPDATE rewrite_batch_items SET outcome = NULL, decided_at = NULL WHERE outcome = 'completed'",
    ],
    "closed_batch_is_decided": [
        "UPDATE rewrite_batch_items SET outcome = NULL, decided_at = NULL WHERE outcome = 'completed'",
        "UPDATE rewrite_batches SET state = 'abandoned', abandoned_at = now() WHERE state = 'planned'",
        "UPDATE rewrite_batches SET state = 'settled', settled_at = now() WHERE state = 'finished'",
    ],
    "submitted_is_carried": [
        f"UPDATE rewrite_batch_items SET outcome = 'x', decided_at = now() WHERE job_id = {ONE['batch_submitted']}",
        f"UPDATE rewrite_jobs SET batch_id = gen_random_uuid() WHERE job_id = {ONE['batch_submitted']}",
        """UPDATE rewrite_batches SET state = 'create_sent', provider_batch_id = NULL, submitted_at = NULL
            WHERE state = 'submitted'""",
    ],
    "processing_is_not_sent": [
        """UPDATE rewrite_batches SET state = 'submitted', submitted_at = now(), provider_batch_id = 'p'
            WHERE state = 'create_sent'""",
        "UPDATE rewrite_batches SET state = 'abandoned', abandoned_at = now() WHERE state = 'planned'",
    ],
    "reservations_follow_batches": [
        f"DELETE FROM token_reservations WHERE batch_id = {NEXT_BATCH.format('finished')}",
        f"""UPDATE token_reservations SET state = 'released', closed_at = now()
            WHERE batch_id = {NEXT_BATCH.format("submitted")}""",
        f"""UPDATE token_reservations SET state = 'open', closed_at = NULL, settled_tokens = NULL
            WHERE batch_id = {NEXT_BATCH.format("settled")}""",
        f"""UPDATE token_reservations SET state = 'open', closed_at = NULL
            WHERE batch_id = {NEXT_BATCH.format("abandoned")}""",
    ],
    "batches_keep_their_items": [
        "UPDATE rewrite_batches SET item_count = item_count + 1 WHERE state = 'planned'",
        "DELETE FROM rewrite_batch_items WHERE outcome = 'abandoned'",
        "UPDATE rewrite_batch_items SET batch_item_index = 7 WHERE batch_item_index = 0 AND outcome = 'abandoned'",
    ],
    "provider_batches_registered": [
        "DELETE FROM rewrite_provider_batches",
        "UPDATE rewrite_provider_batches SET job_count = job_count + 1",
    ],
    "requests_agree": [
        "UPDATE rewrite_requests SET status = 'queued', rewrite_completed_at = NULL WHERE status = 'completed'",
        "UPDATE rewrite_requests SET status = 'failed' WHERE status = 'canceled'",
        f"""UPDATE rewrite_requests SET status = 'canceled' WHERE rewrite_request_id =
            (SELECT rewrite_request_id FROM rewrite_jobs WHERE job_id = {ONE["queued"]})""",
    ],
    "jobs_mirror_requests": [
        f"UPDATE rewrite_jobs SET {change} WHERE job_id = {ONE['queued']}"
        for change in (
            "recipient_user_id = gen_random_uuid()",
            "recipient_snapshot_id = gen_random_uuid()",
            "recipient_preference_snapshot_id = gen_random_uuid()",
            "surface = 'other'",
            "rewrite_strength = 'light_touch'",
            "lane = 'same_language'",
            """language_pair = '{"from": "es", "to": "en"}'""",
            """routing_decision = routing_decision || '{"policy_version": "v9"}'""",
            "rewrite_request_id = gen_random_uuid()",
        )
    ],
    "no_unit_lost": [f"DELETE FROM rewrite_jobs WHERE job_id = {ONE['queued']}"],
    "first_provider_batch_stays": [
        f"UPDATE rewrite_jobs SET provider_batch_id = 'batch_other' WHERE job_id = {ONE['completed']}",
        f"UPDATE rewrite_jobs SET provider_batch_id = NULL WHERE job_id = {ONE['completed']}",
        f"UPDATE rewrite_jobs SET provider_batch_id = 'batch_other' WHERE job_id = {ONE['failed']}",
    ],
    "calls_belong_to_items": [
        COPY_CALL.format(batch="gen_random_uuid()", index=0, attempt=1),
        COPY_CALL.format(batch=NEXT_BATCH.format("submitted"), index=0, attempt=1),
        "UPDATE provider_calls SET attempt = attempt + 1",
        """UPDATE rewrite_batches SET state = 'create_sent', provider_batch_id = NULL, submitted_at = NULL,
            settled_at = NULL WHERE state = 'settled'""",
    ],
    "billed_once_an_attempt": [COPY_CALL.format(batch="gen_random_uuid()", index=0, attempt="attempt")],
}


def test_every_rule_has_a_breakage_that_it_must_catch() -> None:
    assert sorted(PLANTS) == rules()


@pytest.mark.parametrize("rule", sorted(PLANTS))
def test_a_rule_catches_what_it_is_there_for(healthy: Connection, rule: str) -> None:
    for statement in PLANTS[rule]:
        with healthy.transaction(force_rollback=True):
            healthy.execute("SET LOCAL session_replication_role = replica")
            for part in statement.split(";"):
                assert healthy.execute(part.encode()).rowcount != 0, "the breakage was planted"
            row = healthy.execute(query(f"check/{rule}")).fetchone()
            assert row is not None
            assert row[0] >= 1, statement
            assert 1 <= len(row[1]) <= 20
    assert check(healthy) == []


def test_what_is_broken_is_named_with_its_rule_its_number_and_twenty_ids(connection: Connection) -> None:
    jobs = enqueue_many(connection, 25)
    connection.execute("SET session_replication_role = replica")
    connection.execute("UPDATE rewrite_jobs SET surface = 'other'")
    connection.execute("RESET session_replication_role")
    [broken] = check(connection)
    assert (broken.rule, broken.count) == ("jobs_mirror_requests", 25)
    assert broken.sentence.startswith("A job says the same as its request")
    assert broken.sample == sorted(map(str, jobs))[:20]
    assert broken.as_json()["count"] == 25


@pytest.mark.parametrize("rule", rules())
def test_the_header_of_a_rule_says_it_in_one_sentence(rule: str) -> None:
    assert sentence_of(rule)[0].isupper()
    assert sentence_of(rule).count(".") == 1


@pytest.mark.parametrize("role", ["rewrite_analyst", "rewrite_worker"])
def test_everybody_who_may_read_may_check(healthy: Connection, role: str) -> None:
    healthy.execute(f"SET ROLE {role}".encode())
    assert check(healthy) == []


def test_check_cannot_write_and_leaves_the_session_as_it_was(connection: Connection) -> None:
    before = connection.execute("SHOW work_mem").fetchone()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewrite_batch.check.rules", lambda: ["../submit/lock_capacity"])
        patch.setattr("rewrite_batch.check.query", lambda _name: b"DELETE FROM rewrite_alerts")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]  a stand-in
        with pytest.raises(errors.ReadOnlySqlTransaction):
            check(connection)
    assert connection.execute("SHOW work_mem").fetchone() == before
    assert connection.execute("SHOW transaction_read_only").fetchone() == ("off",)
