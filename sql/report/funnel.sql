-- Of the units that were queued in the period: how far each has come by now. DuckDB; reads only.
WITH units AS (
    SELECT
        count(*) AS queued,
        count(*) FILTER (attempt_count > 0) AS sent,
        count(*) FILTER (status IN ('completed', 'failed', 'canceled')) AS ended,
        count(*) FILTER (status = 'completed') AS completed
    FROM jobs
    WHERE created_at >= getvariable('since') AND created_at < getvariable('until')
)

SELECT stage, units, round(units / nullif(queued, 0), 6) AS share
FROM (
    SELECT 1 AS place, 'queued' AS stage, queued AS units, queued FROM units
    UNION ALL
    SELECT 2, 'sent', sent, queued FROM units
    UNION ALL
    SELECT 3, 'ended', ended, queued FROM units
    UNION ALL
    SELECT 4, 'completed', completed, queued FROM units
) AS stages
ORDER BY place
