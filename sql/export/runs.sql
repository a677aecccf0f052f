-- One day of runs, by the time they started. Reads only.
SELECT
    run_id,
    command,
    worker,
    environment,
    version,
    exit_code,
    counts,
    started_at AT TIME ZONE 'UTC',
    finished_at AT TIME ZONE 'UTC'
FROM worker_runs
WHERE started_at >= %(since)s AND started_at < %(until)s
