-- The run's own row, before it does anything.
INSERT INTO worker_runs (run_id, command, worker, environment, version)
VALUES (%(run_id)s, %(command)s, %(worker)s, %(environment)s, %(version)s)
