-- Reads the last runs; one that has not ended has run until now. Moves nothing.
SELECT
    run_id,
    command,
    worker,
    started_at,
    extract(EPOCH FROM coalesce(finished_at, now()) - started_at)::float8 AS seconds,
    exit_code,
    counts
FROM worker_runs
ORDER BY started_at DESC, run_id DESC
LIMIT %(limit)s
