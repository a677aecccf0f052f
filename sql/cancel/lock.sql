-- Locks these units, passing over those that somebody works on this moment. It waits for nobody: a register or a
-- release takes thousands of rows in its own order, and two that wait for each other would never end. Moves nothing.
WITH candidate AS MATERIALIZED (
    SELECT
        job_id,
        rewrite_request_id,
        recipient_user_id
    FROM rewrite_jobs
    WHERE job_id = ANY(%(job_ids)s)
    ORDER BY job_id
    FOR UPDATE SKIP LOCKED
)

SELECT job_id
FROM candidate
WHERE pg_try_advisory_xact_lock(rewrite_unit_key(rewrite_request_id, recipient_user_id))
