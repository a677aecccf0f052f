-- Waits until nobody holds the job's row, and takes nothing: the statement is a transaction of its own.
SELECT job_id
FROM rewrite_jobs
WHERE job_id = %(job_id)s
FOR UPDATE
