-- processing -> queued for stale claims that never got into a batch; -> failed (poison) once 10 claims came to nothing.
-- A job in a live batch is left to reconcile, which looks at what was sent. Repeating it finds nothing to do.
WITH stale AS (
    SELECT j.job_id, j.claim_count - j.attempt_count >= %(max_claims)s AS is_poison
    FROM rewrite_jobs AS j
    WHERE
        j.job_id = ANY(%(job_ids)s)
        AND j.status = 'processing'
        AND j.claimed_at < now() - make_interval(secs => %(claim_timeout_s)s)
        AND NOT EXISTS (SELECT FROM rewrite_batch_items AS i WHERE i.job_id = j.job_id AND i.outcome IS NULL)
),

job AS (
    UPDATE rewrite_jobs AS j
    SET
        status = CASE WHEN s.is_poison THEN 'failed' ELSE 'queued' END,
        finished_at = CASE WHEN s.is_poison THEN now() END,
        claimed_at = NULL,
        claimed_by = NULL,
        last_error = CASE WHEN s.is_poison THEN 'poison' ELSE 'stale_claim' END,
        last_error_at = now(),
        updated_at = now()
    FROM stale AS s
    WHERE j.job_id = s.job_id
    RETURNING j.rewrite_request_id, s.is_poison
),

request AS (
    UPDATE rewrite_requests AS q
    SET status = 'failed', updated_at = now()
    FROM job
    WHERE
        q.rewrite_request_id = job.rewrite_request_id
        AND job.is_poison
        AND q.status NOT IN ('completed', 'failed', 'canceled')
)

SELECT count(*) FILTER (WHERE NOT is_poison), count(*) FILTER (WHERE is_poison) FROM job
