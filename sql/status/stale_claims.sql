-- Counts claims older than the claim timeout that are in no live batch: the next submit releases them. Moves nothing.
SELECT count(*)
FROM rewrite_jobs AS j
WHERE
    j.status = 'processing'
    AND j.claimed_at < now() - make_interval(secs => %(claim_timeout_s)s)
    AND NOT EXISTS (SELECT FROM rewrite_batch_items AS i WHERE i.job_id = j.job_id AND i.outcome IS NULL)
