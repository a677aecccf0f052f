-- The run's end, once.
UPDATE worker_runs
SET finished_at = now(), exit_code = %(exit_code)s, counts = %(counts)s
WHERE run_id = %(run_id)s AND finished_at IS NULL
