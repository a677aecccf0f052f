-- processing -> failed, for jobs of this run that must not be sent, each with its reason; their requests fail with
-- them. Held by the claim token: a job that was released or finished meanwhile is left alone, so a repeat does nothing.
WITH refused AS (
    SELECT * FROM unnest(%(job_ids)s::uuid[], %(reasons)s::text[]) AS r (job_id, reason)
),

job AS (
    UPDATE rewrite_jobs AS j
    SET
        status = 'failed',
        finished_at = now(),
        last_error = r.reason,
        last_error_at = now(),
        updated_at = now()
    FROM refused AS r
    WHERE j.job_id = r.job_id AND j.status = 'processing' AND j.claimed_by = %(claim_token)s
    RETURNING j.job_id, j.rewrite_request_id
),

request AS (
    UPDATE rewrite_requests AS q
    SET status = 'failed', updated_at = now()
    FROM job
    WHERE q.rewrite_request_id = job.rewrite_request_id AND q.status NOT IN ('completed', 'failed', 'canceled')
)

SELECT count(*) FROM job
