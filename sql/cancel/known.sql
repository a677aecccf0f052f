-- Which of these jobs are there at all. Moves nothing.
SELECT job_id
FROM rewrite_jobs
WHERE job_id = ANY(%(job_ids)s)
ORDER BY job_id
