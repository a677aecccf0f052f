"""Release: claims that came to nothing go back to the queue, no attempt spent.

A claim is stale by the database's clock, and only if nothing of it was sent: a unit in a live batch is left to
reconcile. Repeating any of these finds nothing to do.
"""

from uuid import UUID

from rewrite_batch.db import Connection, mark_run
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings

MAX_CLAIMS = 10
CHUNK = 1_000


def release_stale(connection: Connection, settings: Settings, run_id: UUID) -> tuple[int, int]:
    """Stale claims of any run: how many wait again, and how many failed as poison."""
    released, poisoned = 0, 0
    names = {"claim_timeout_s": settings.run_limits.claim_timeout_s, "max_claims": MAX_CLAIMS}
    after: UUID | None = None
    while True:
        with connection.transaction():
            mark_run(connection, run_id)
            rows = connection.execute(query("submit/lock_stale"), {**names, "after": after}).fetchall()
            if not rows:
                return released, poisoned
            jobs = [row[0] for row in rows]
            done = connection.execute(query("submit/release_stale"), {**names, "job_ids": jobs}).fetchone()
            assert done is not None
        released, poisoned, after = released + done[0], poisoned + done[1], jobs[-1]


def release_own(
    connection: Connection,
    run_id: UUID,
    reason: str,
    job_ids: list[UUID] | None = None,
    *,
    spends_claim: bool = False,
) -> int:
    """Units of this run that do not go out now; None is all that are in no batch.

    Chunk by chunk: a run that is being stopped has little time, and what it gave back stays given back.
    """
    token = {"claim_token": str(run_id), "claims_given_back": 0 if spends_claim else 1}
    if job_ids is None:
        job_ids = [row[0] for row in connection.execute(query("submit/held"), token).fetchall()]
    released = 0
    for start in range(0, len(job_ids), CHUNK):
        names = {**token, "reason": reason, "job_ids": job_ids[start : start + CHUNK]}
        with connection.transaction():
            mark_run(connection, run_id)
            row = connection.execute(query("submit/release"), names).fetchone()
        assert row is not None
        released += row[0]
    return released
