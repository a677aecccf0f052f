-- Reads the last run of each command that came to its end, when one last ended well, and how many of the last day were
-- killed: an hour old and without an end. Looks back seven days and no further. Moves nothing.
SELECT
    command,
    (array_agg(exit_code ORDER BY finished_at DESC) FILTER (WHERE finished_at IS NOT NULL))[1] AS exit_code,
    (
        array_agg(extract(EPOCH FROM finished_at - started_at)::float8 ORDER BY finished_at DESC)
        FILTER (WHERE finished_at IS NOT NULL)
    )[1] AS seconds,
    coalesce(extract(EPOCH FROM max(finished_at)), 0)::float8 AS last_end,
    coalesce(extract(EPOCH FROM max(finished_at) FILTER (WHERE exit_code = 0)), 0)::float8 AS last_success,
    count(*) FILTER (
        WHERE finished_at IS NULL AND started_at BETWEEN now() - interval '1 day' AND now() - interval '1 hour'
    ) AS killed
FROM worker_runs
WHERE started_at >= now() - interval '7 days'
GROUP BY command
