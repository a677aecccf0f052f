"""Claim: a number and this run's token come in, jobs that now belong to the token go out.

One transaction. Repeating it claims the next jobs. At most MAX_CLAIM units at once: each holds an advisory lock in a
lock table that every other session of the server shares.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from rewrite_batch.db import Connection, mark_run
from rewrite_batch.queries import query
from rewrite_batch.submit.check import Row

MAX_CLAIM = 1_000
# Without statistics (right after a bulk load) the planner would rather read the whole queue and sort it.
WALK_THE_INDEX = b"SET LOCAL enable_bitmapscan = off"


@dataclass(slots=True)
class Claimed:
    job_id: UUID
    rewrite_request_id: UUID
    recipient_user_id: UUID
    attempt_count: int
    claim_count: int
    routing_decision: str


def claim(connection: Connection, *, run_id: UUID, limit: int, blocked_models: Collection[str] = ()) -> list[Claimed]:
    with connection.transaction():
        mark_run(connection, run_id)
        connection.execute(WALK_THE_INDEX)
        candidates = connection.execute(
            query("submit/claim_candidates"), {"limit": min(limit, MAX_CLAIM), "blocked_models": list(blocked_models)}
        ).fetchall()
        rows = connection.execute(
            query("submit/claim"), {"job_ids": [row[0] for row in candidates], "claim_token": str(run_id)}
        ).fetchall()
    claimed = {row[0]: Claimed(*row) for row in rows}
    return [claimed[job_id] for (job_id,) in candidates]  # in the order they were waiting


def load(connection: Connection, claimed: list[Claimed]) -> list[Row]:
    """With what each job's request holds."""
    names = {"request_ids": [job.rewrite_request_id for job in claimed]}
    found = {row[0]: row[1:] for row in connection.execute(query("submit/load"), names)}
    return [
        Row(
            job.job_id, job.rewrite_request_id, job.recipient_user_id, job.attempt_count, job.claim_count,
            job.routing_decision, *found.get(job.rewrite_request_id, (None, False, False)),
        )
        for job in claimed
    ]  # fmt: skip
