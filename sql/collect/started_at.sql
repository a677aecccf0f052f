-- When this run began, by the database's clock. Moves nothing.
SELECT started_at FROM worker_runs WHERE run_id = %(run_id)s
