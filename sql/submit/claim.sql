-- queued -> processing, for at most `limit` jobs whose time has come, the longest waiting first, with what their requests
-- hold. They belong to `claim_token` from here on, and every later write names it. A row or a unit (the contract's
-- lock) that another holds is passed over, and so are models that are paused or have no room. Repeating it claims the
-- next ones.
-- The candidates come off an index that holds only queued jobs in order of their time, so the work follows `limit` and
-- not the backlog. The update gets their ids as an array, so that the planner looks each up and never walks the queue; it
-- need not name the status, for the rows are locked and were queued when they were.
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
),

claimed AS (
    UPDATE rewrite_jobs
    SET
        status = 'processing',
        claimed_at = now(),
        claimed_by = %(claim_token)s,
        claim_count = claim_count + 1,
        updated_at = now()
    WHERE
        job_id = ANY(ARRAY(
            SELECT job_id FROM candidate
            WHERE pg_try_advisory_xact_lock(rewrite_unit_key(rewrite_request_id, recipient_user_id))
        ))
    RETURNING
        coalesce(not_before_at, created_at) AS due_at,
        job_id,
        rewrite_request_id,
        recipient_user_id,
        attempt_count,
        claim_count,
        routing_decision
)

SELECT
    c.due_at,
    c.job_id,
    c.rewrite_request_id,
    c.recipient_user_id,
    c.attempt_count,
    c.claim_count,
    c.routing_decision::text,
    r.rewrite_request::text,
    -- A request that names a snapshot has it: a foreign key says so.
    r.recipient_snapshot_id IS NOT NULL,
    r.recipient_preference_snapshot_id IS NOT NULL
FROM claimed AS c
LEFT JOIN rewrite_requests AS r ON c.rewrite_request_id = r.rewrite_request_id
