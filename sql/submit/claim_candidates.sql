-- Locks at most `limit` jobs whose time has come, the longest waiting first, and takes the contract's lock of each unit.
-- A row or a unit that another holds is passed over. Moves nothing; claim.sql does, in the same transaction.
-- The rows come off an index that holds only queued jobs in order of their time, so the work follows `limit` and not the
-- backlog. Models that are paused or have no room are read over.
WITH candidate AS MATERIALIZED (
    SELECT
        job_id,
        rewrite_request_id,
        recipient_user_id
    FROM rewrite_jobs
    WHERE
        status = 'queued'
        AND coalesce(not_before_at, created_at) <= now()
        AND routing_decision ->> 'model' <> ALL(%(blocked_models)s)
    ORDER BY coalesce(not_before_at, created_at), job_id
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)

SELECT job_id
FROM candidate
WHERE pg_try_advisory_xact_lock(rewrite_unit_key(rewrite_request_id, recipient_user_id))
