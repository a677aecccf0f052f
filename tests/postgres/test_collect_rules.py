"""The way back to the queue that costs a unit nothing: only whole, and only when nothing was paid."""

from uuid import UUID

import psycopg
import pytest

from rewrite_batch.db import Connection
from tests.items import batch_submitted

RETURN = """UPDATE rewrite_jobs SET status = 'queued', batch_id = NULL, claimed_at = NULL, claimed_by = NULL,
attempt_count = attempt_count - %s, claim_count = claim_count - %s, not_before_at = now(), last_error = 'batch_refused',
last_error_at = now() WHERE job_id = %s"""


def give_back(connection: Connection, job: UUID, *, attempts: int, claims: int) -> None:
    connection.execute(
        "UPDATE rewrite_batch_items SET outcome = 'returned', decided_at = now() WHERE job_id = %s", [job]
    )
    connection.execute(RETURN, [attempts, claims, job])


def test_a_unit_comes_back_with_its_attempt_and_its_claim(connection: Connection) -> None:
    job = batch_submitted(connection)
    give_back(connection, job, attempts=1, claims=1)
    assert connection.execute("SELECT attempt_count, claim_count FROM rewrite_jobs").fetchall() == [(0, 0)]


def test_a_retry_spends_both(connection: Connection) -> None:
    job = batch_submitted(connection)
    give_back(connection, job, attempts=0, claims=0)
    assert connection.execute("SELECT attempt_count, claim_count FROM rewrite_jobs").fetchall() == [(1, 1)]


@pytest.mark.parametrize(("attempts", "claims"), [(0, 1), (1, 2), (2, 1), (1, -1)])
def test_no_other_sum_is_given_back(connection: Connection, attempts: int, claims: int) -> None:
    job = batch_submitted(connection)
    with pytest.raises(psycopg.errors.CheckViolation):
        give_back(connection, job, attempts=attempts, claims=claims)


def test_what_was_paid_is_not_given_back(connection: Connection) -> None:
    job = batch_submitted(connection)
    connection.execute(
        """INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider, model,
            source_locale, target_locale, input_tokens, cached_tokens, cache_write_tokens, output_tokens,
            reasoning_tokens)
        SELECT batch_id, batch_item_index, job_id, rewrite_request_id, attempt, 'openai', 'gpt-5.2', 'en', 'es', 1, 0,
            0, 1, 0
        FROM rewrite_batch_items"""
    )
    with pytest.raises(psycopg.errors.CheckViolation, match="an attempt is one trip"):
        give_back(connection, job, attempts=1, claims=1)
