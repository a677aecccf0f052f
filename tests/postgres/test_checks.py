"""Every CHECK of every table, broken once. Triggers are off here: what holds when they are not looking."""

import psycopg
import pytest

from rewrite_batch.db import Connection
from tests.items import completed

ROWS = """
    INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider, model,
        source_locale, target_locale, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
        price_version, cost_usd)
    SELECT batch_id, batch_item_index, job_id, rewrite_request_id, 1, 'openai', 'gpt-5.2', 'en', 'es', 1, 0, 0, 1, 0,
        'v1', 1
    FROM rewrite_batch_items;
    INSERT INTO token_reservations (batch_id, model, reserved_tokens, reserved_usd)
    SELECT batch_id, 'gpt-5.2', 1, 1 FROM rewrite_batches;
    INSERT INTO model_limits (model) VALUES ('gpt-5.2');
    INSERT INTO outbox_events (event_key, kind, payload) VALUES ('one', 'unit_completed', '{}');
    INSERT INTO worker_runs (run_id, command, worker, environment, version)
    VALUES (gen_random_uuid(), 'submit', 'w', 'test', '1');
    INSERT INTO routing_decisions (routing_decision_id, rewrite_request_id, decision)
    VALUES (gen_random_uuid(), gen_random_uuid(), '{}');
    SET session_replication_role = replica
"""

# Of a job that is completed, in a batch that is submitted; each breaks its own rule and no other.
BREAKS = {
    "model_limits": {
        "model_limits_learned": "enqueued_tokens = 1",
        "model_limits_paused": "paused_until = now()",
    },
    "outbox_events": {
        "outbox_events_one_end": "delivered_at = now(), dead_at = now()",
        "outbox_events_payload": """payload = '{"a": "two words"}'""",
    },
    "provider_calls": {
        "provider_calls_cost": "cost_usd = -1",
        "provider_calls_price": "cost_usd = NULL",
        "provider_calls_tokens": "reasoning_tokens = -1",
    },
    "recipient_preference_snapshots": {"recipient_preference_snapshots_payload": "preference_payload = '[]'"},
    "recipient_snapshots": {"recipient_snapshots_has_recipients": "recipient_user_ids = '{}'"},
    "rewrite_batch_items": {
        "rewrite_batch_items_attempt": "attempt = 0",
        "rewrite_batch_items_decided": "outcome = 'kept'",
        "rewrite_batch_items_index": "batch_item_index = 50000",
    },
    "rewrite_batches": {
        "rewrite_batches_abandoned": "abandoned_at = now()",
        "rewrite_batches_create_sent": "create_sent_at = NULL",
        "rewrite_batches_finished": "state = 'finished'",
        "rewrite_batches_items": "item_count = 50001",
        "rewrite_batches_lease": "lease_token = gen_random_uuid()",
        "rewrite_batches_settled": "settled_at = now()",
        "rewrite_batches_sha256": "input_sha256 = repeat('g', 64)",
        "rewrite_batches_state": "state = 'lost', provider_batch_id = NULL, submitted_at = NULL",
        "rewrite_batches_submitted": "provider_batch_id = NULL",
        "rewrite_batches_uploaded": "input_file_id = NULL",
    },
    "rewrite_jobs": {
        "rewrite_jobs_attempts": "attempt_count = max_attempts + 1",
        "rewrite_jobs_claim_has_holder": "status = 'processing', finished_at = NULL, claimed_by = NULL",
        "rewrite_jobs_error_has_time": "last_error = 'why'",
        "rewrite_jobs_failed_has_reason": "status = 'failed'",
        "rewrite_jobs_final_has_time": "finished_at = NULL",
        "rewrite_jobs_lane": "lane = 'fast_lane'",
        "rewrite_jobs_status": "status = 'lost', finished_at = NULL",
        "rewrite_jobs_strength": "rewrite_strength = 'brutal'",
        "rewrite_jobs_submitted_has_batch": "status = 'batch_submitted', finished_at = NULL",
        "rewrite_jobs_surface": "surface = 'weekly_harmony'",
        "rewrite_jobs_task": "task = 'translation'",
    },
    "rewrite_outputs": {
        "rewrite_outputs_in_target_locale": "output_language = 'de'",
        "rewrite_outputs_something_to_read": "rewritten_text = E' \\n\\t'",
    },
    "rewrite_provider_batches": {
        "rewrite_provider_batches_job_count": "job_count = 0",
        "rewrite_provider_batches_status": "status = 'validating'",
    },
    "rewrite_requests": {
        "rewrite_requests_completed_has_time": "rewrite_completed_at = now()",
        "rewrite_requests_intent": "intent = 'insult'",
        "rewrite_requests_lane": "lane = 'same_language'",
        "rewrite_requests_status": "status = 'running'",
        "rewrite_requests_strength": "rewrite_strength = 'brutal'",
        "rewrite_requests_surface": "surface = 'weekly_harmony'",
        "rewrite_requests_topics": "topics = '[]'",
    },
    "routing_decisions": {"routing_decisions_codes": """decision = '{"model": "two words"}'"""},
    "token_reservations": {
        "token_reservations_amounts": "reserved_usd = -1",
        "token_reservations_closed": "closed_at = now()",
        "token_reservations_settled": "settled_tokens = 1",
        "token_reservations_state": "state = 'lost', closed_at = now()",
    },
    "worker_runs": {
        "worker_runs_counts": """counts = '{"why": "two words"}'""",
        "worker_runs_end_has_code": "exit_code = 0",
        "worker_runs_names": "worker = 'two words'",
    },
}
# What a column's type refuses, in one column of each.
DOMAINS = {
    "locale_is_a_primary_language": "UPDATE rewrite_requests SET source_locale = 'und'",
    "reason_is_a_code": "UPDATE rewrite_jobs SET last_error = 'two words'",
    "version_is_a_code": "UPDATE rewrite_requests SET policy_version = 'two words'",
}


def refusing(connection: Connection, statement: str) -> str | None:
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        connection.execute(statement.encode())
    return refused.value.diag.constraint_name


def test_every_check_refuses_what_it_is_for(connection: Connection) -> None:
    completed(connection)
    connection.execute(ROWS)
    for table, rules in BREAKS.items():
        assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (1,), table
        for rule, change in rules.items():
            assert refusing(connection, f"UPDATE {table} SET {change}") == rule
    for rule, statement in DOMAINS.items():
        assert refusing(connection, statement) == rule


def test_no_check_was_forgotten(connection: Connection) -> None:
    rows = connection.execute(
        "SELECT conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace"
    ).fetchall()
    assert {name for (name,) in rows} == {rule for rules in BREAKS.values() for rule in rules} | set(DOMAINS)
