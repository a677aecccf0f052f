"""Claim: a number and this run's token come in, jobs that now belong to the token go out, with their requests.

One transaction. Repeating it claims the next jobs. At most MAX_CLAIM units at once: each holds an advisory lock in a
lock table that every other session of the server shares.
"""

from collections.abc import Collection
from operator import itemgetter
from uuid import UUID

from rewrite_batch.db import Connection, mark_run
from rewrite_batch.queries import query
from rewrite_batch.submit.check import Row

MAX_CLAIM = 1_000
# Without statistics (right after a bulk load) the planner would rather read the whole queue and sort it.
WALK_THE_INDEX = b"SET LOCAL enable_bitmapscan = off"
_as_they_waited = itemgetter(0, 1)  # due_at, job_id: an UPDATE answers in any order


def claim(connection: Connection, *, run_id: UUID, limit: int, blocked_models: Collection[str] = ()) -> list[Row]:
    names = {"limit": min(limit, MAX_CLAIM), "blocked_models": list(blocked_models), "claim_token": str(run_id)}
    with connection.transaction(), connection.cursor(binary=True) as cursor:
        mark_run(connection, run_id)
        connection.execute(WALK_THE_INDEX)
        rows = cursor.execute(query("submit/claim"), names).fetchall()
    return [Row(*row[1:]) for row in sorted(rows, key=_as_they_waited)]
