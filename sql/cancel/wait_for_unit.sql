-- Waits until nobody holds the unit's lock, and takes nothing: the statement is a transaction of its own.
SELECT pg_advisory_xact_lock(rewrite_unit_key(rewrite_request_id, recipient_user_id))
FROM rewrite_jobs
WHERE job_id = %(job_id)s
