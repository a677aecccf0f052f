-- The jobs that this run holds and that are in no batch, in key order. Moves nothing; release.sql does, chunk by chunk.
SELECT j.job_id
FROM rewrite_jobs AS j
WHERE
    j.claimed_by = %(claim_token)s
    AND j.status = 'processing'
    AND NOT EXISTS (SELECT FROM rewrite_batch_items AS i WHERE i.job_id = j.job_id AND i.outcome IS NULL)
ORDER BY j.job_id
