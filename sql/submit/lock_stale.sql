-- Locks jobs whose claim is older than the claim timeout by the database's clock, skipping those that somebody is
-- working on this moment. Moves nothing: release_stale decides, in a statement of its own that sees what was committed
-- while this one waited for nobody.
SELECT job_id
FROM rewrite_jobs
WHERE
    status = 'processing'
    AND claimed_at < now() - make_interval(secs => %(claim_timeout_s)s)
    AND (%(after)s::uuid IS NULL OR job_id > %(after)s)
ORDER BY job_id
LIMIT 1000
FOR UPDATE SKIP LOCKED
