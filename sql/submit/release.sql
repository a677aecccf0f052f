-- processing -> queued, for jobs of this run that do not go out now: they wait as before, no attempt spent, and the
-- claim is given back unless it may have been the job's doing. A job that is in a batch is never touched here. Held by
-- the claim token, so a repeat does nothing.
WITH job AS (
    UPDATE rewrite_jobs AS j
    SET
        status = 'queued',
        claimed_at = NULL,
        claimed_by = NULL,
        claim_count = claim_count - %(claims_given_back)s,
        last_error = %(reason)s,
        last_error_at = now(),
        updated_at = now()
    WHERE
        j.job_id = ANY(%(job_ids)s)
        AND j.claimed_by = %(claim_token)s
        AND j.status = 'processing'
        AND NOT EXISTS (SELECT FROM rewrite_batch_items AS i WHERE i.job_id = j.job_id AND i.outcome IS NULL)
    RETURNING 1
)

SELECT count(*) FROM job
