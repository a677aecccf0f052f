"""Requests, jobs and batches for tests: small, valid, and different wherever a test says so."""

import json
from typing import Any
from uuid import UUID, uuid4

from psycopg import sql
from psycopg.types.json import Jsonb

from rewrite_batch.contracts.shapes import EnqueueItemV1
from rewrite_batch.db import Connection

TEXT = "Turn the music down, some of us work in the morning!"


def item_document(text: str = TEXT, **overrides: Any) -> dict[str, Any]:
    """A valid EnqueueItemV1 as plain JSON values; `overrides` replace fields of its request."""
    recipient = str(overrides.pop("recipient_user_id", uuid4()))
    source = overrides.pop("source_locale", "en")
    target = overrides.pop("target_locale", "es")
    topics = overrides.pop("topics", ["noise"])
    request: dict[str, Any] = {
        "rewrite_request_id": str(uuid4()),
        "home_id": str(uuid4()),
        "sender_user_id": str(uuid4()),
        "recipient_user_id": recipient,
        "recipient_snapshot_id": str(uuid4()),
        "recipient_preference_snapshot_id": str(uuid4()),
        "surface": "direct_message",
        "original_text": text,
        "topics": topics,
        "intent": "request",
        "rewrite_strength": "full_reframe",
        "source_locale": source,
        "target_locale": target,
        "lane": "same_language" if source == target else "cross_language",
        "classifier_result": {
            "classifier_version": "c1",
            "detected_language": source,
            "topics": topics,
            "intent": "request",
            "rewrite_strength": "full_reframe",
            "confidence": {"topic_confidence": "high", "intent_confidence": "high"},
            "safety_flags": ["none"],
        },
        "context_pack": {
            "context_version": "p1",
            "recipient_user_id": recipient,
            "target_language": target,
            "power": {
                "sender_role": "housemate",
                "recipient_role": "housemate",
                "power_mode": "peer",
                "tone_multiplier": "gentle",
            },
            "topic_scope": {"topics": topics, "included_preference_ids": [], "excluded_preference_ids": []},
            "instructions": {
                "tone": "warm",
                "directness": "soft",
                "framing": ["shared_space"],
                "avoid": ["blame"],
                "do_not_add": ["facts"],
            },
            "recipient_signals": [],
            "safety_notes": [],
        },
        "policy": {
            "tone": "gentle",
            "directness": "soft",
            "emotional_temperature": "cool_down",
            "rewrite_strength": "full_reframe",
        },
        "classifier_version": "c1",
        "context_pack_version": "p1",
        "policy_version": "v1",
        "created_at": "2026-11-01T08:00:00Z",
    }
    return {
        "rewrite_request": {**request, **overrides},
        "routing_decision": {
            "provider": "openai",
            "adapter_kind": "openai_responses",
            "base_url": None,
            "model": "gpt-5.2",
            "prompt_version": "v1",
            "policy_version": "v1",
            "execution_mode": "batch",
            "supports_translation": True,
            "cache_eligible": True,
            "max_retries": 2,
        },
        "preference_payload": {"version": "v1"},
        "max_attempts": 2,
        "not_before_at": None,
    }


def item_line(document: dict[str, Any]) -> str:
    """As the program would send it."""
    return EnqueueItemV1.from_json(json.dumps(document)).to_json()


def enqueue_one(connection: Connection, document: dict[str, Any] | None = None) -> UUID:
    """One unit in the queue; answers its job."""
    items = f"[{item_line(document or item_document())}]"
    row = connection.execute("SELECT job_id FROM enqueue_rewrites(%s)", [items]).fetchone()
    assert row is not None
    return row[0]


def enqueue_many(connection: Connection, count: int) -> list[UUID]:
    items = "[" + ",".join(item_line(item_document()) for _ in range(count)) + "]"
    rows = connection.execute("SELECT job_id FROM enqueue_rewrites(%s)", [items]).fetchall()
    return [row[0] for row in rows]


def import_request(connection: Connection, request: dict[str, Any], **columns: Any) -> None:
    """A request written straight into the tables, with its snapshots, as an importer would."""
    connection.execute(
        """INSERT INTO recipient_snapshots
        VALUES (%(recipient_snapshot_id)s, %(home_id)s, ARRAY[%(recipient_user_id)s]::uuid[])""",
        request,
    )
    connection.execute(
        """INSERT INTO recipient_preference_snapshots
        VALUES (%(recipient_preference_snapshot_id)s, %(recipient_user_id)s, '{}')""",
        request,
    )
    row = {
        **{key: value for key, value in request.items() if key != "policy"},
        "rewrite_request": request,
        **columns,
    }
    values = {key: Jsonb(value) if isinstance(value, (dict, list)) else value for key, value in row.items()}
    names = sql.SQL(", ").join(map(sql.Identifier, values))
    places = sql.SQL(", ").join(map(sql.Placeholder, values))
    connection.execute(sql.SQL("INSERT INTO rewrite_requests ({}) VALUES ({})").format(names, places), values)


def claim(connection: Connection, *jobs: UUID) -> None:
    connection.execute(
        """UPDATE rewrite_jobs SET status = 'processing', claimed_at = now(), claimed_by = 'test',
        claim_count = claim_count + 1 WHERE job_id = ANY(%s)""",
        [list(jobs)],
    )


def submit(connection: Connection, *jobs: UUID, provider_batch_id: str = "batch_1") -> UUID:
    """processing -> batch_submitted, in a batch of their own; answers our batch id."""
    batch = uuid4()
    connection.execute(
        """INSERT INTO rewrite_batches (batch_id, run_id, environment, state, batch_group_key, provider, model,
            endpoint, item_count, estimated_input_tokens, estimated_output_tokens, input_sha256, input_bytes,
            input_file_id, provider_batch_id, uploaded_at, create_sent_at, submitted_at)
        VALUES (%(batch)s, %(batch)s, 'test', 'submitted', 'k', 'openai', 'gpt-5.2', '/v1/responses', %(count)s, 1, 1,
            repeat('0', 64), 1, 'file_1',
            %(provider)s || %(batch)s::text, now(), now(), now())""",
        {"batch": batch, "count": len(jobs), "provider": provider_batch_id},
    )
    connection.execute(
        "SELECT register_provider_batch(%s, '/v1/responses', 'file_1', %s)", [provider_batch_id, len(jobs)]
    )
    connection.execute(
        """UPDATE rewrite_batch_items SET outcome = 'transient', decided_at = now()
        WHERE job_id = ANY(%s) AND outcome IS NULL""",
        [list(jobs)],
    )
    connection.execute(
        """INSERT INTO rewrite_batch_items (batch_id, batch_item_index, job_id, rewrite_request_id, recipient_user_id,
            batch_group_key, source_locale, target_locale, attempt, input_chars, estimated_input_tokens,
            estimated_output_tokens)
        SELECT %s, row_number() OVER () - 1, job_id, rewrite_request_id, recipient_user_id, 'k', 'en', 'es',
            attempt_count + 1, 1, 1, 1
        FROM rewrite_jobs WHERE job_id = ANY(%s)""",
        [batch, list(jobs)],
    )
    connection.execute(
        """UPDATE rewrite_jobs SET status = 'batch_submitted', attempt_count = attempt_count + 1, submitted_at = now(),
        finished_at = NULL,
        provider_batch_id = coalesce(provider_batch_id, %s), batch_id = %s WHERE job_id = ANY(%s)""",
        [provider_batch_id, batch, list(jobs)],
    )
    return batch


COMPLETE = """
WITH output AS (
    INSERT INTO rewrite_outputs (rewrite_request_id, recipient_user_id, rewritten_text, output_language, target_locale,
        model, provider, prompt_version, policy_version, lexicon_version, eval_result)
    SELECT j.rewrite_request_id, j.recipient_user_id, 'Could we keep it quiet at night?', r.target_locale,
        r.target_locale, 'gpt-5.2', 'openai', 'v1', r.policy_version, 'none', '{}'
    FROM rewrite_jobs j JOIN rewrite_requests r USING (rewrite_request_id) WHERE j.job_id = ANY(%(jobs)s)
)
UPDATE rewrite_jobs SET status = 'completed', finished_at = now(), batch_id = NULL WHERE job_id = ANY(%(jobs)s)
"""


def complete(connection: Connection, *jobs: UUID) -> None:
    connection.execute(COMPLETE, {"jobs": list(jobs)})


def enqueued(connection: Connection) -> UUID:
    return enqueue_one(connection)


def processing(connection: Connection) -> UUID:
    job = enqueue_one(connection)
    claim(connection, job)
    return job


def batch_submitted(connection: Connection) -> UUID:
    job = processing(connection)
    submit(connection, job)
    return job


def completed(connection: Connection) -> UUID:
    job = batch_submitted(connection)
    complete(connection, job)
    return job


def failed(connection: Connection) -> UUID:
    job = processing(connection)
    connection.execute(
        """UPDATE rewrite_jobs SET status = 'failed', finished_at = now(), last_error = 'refused', last_error_at = now()
        WHERE job_id = %s""",
        [job],
    )
    return job


def canceled(connection: Connection) -> UUID:
    job = enqueue_one(connection)
    connection.execute("UPDATE rewrite_jobs SET status = 'canceled', finished_at = now() WHERE job_id = %s", [job])
    return job


IN_STATE = {
    "queued": enqueued,
    "processing": processing,
    "batch_submitted": batch_submitted,
    "completed": completed,
    "failed": failed,
    "canceled": canceled,
}
