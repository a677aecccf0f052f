-- Counts the jobs asked for by state; one that is not there is in no row. Moves nothing.
SELECT status, count(*)
FROM rewrite_jobs
WHERE job_id = ANY(%(job_ids)s)
GROUP BY status
