-- Why trips ended without an output in the period: each reason, its class, and how many units failed of it for good.
-- DuckDB; reads only.
WITH trips AS (
    SELECT outcome, reason, count(*) AS items
    FROM items
    WHERE
        day >= getvariable('since')
        AND day < getvariable('until')
        AND outcome IN ('transient', 'permanent', 'quota', 'returned', 'dropped', 'abandoned')
    GROUP BY ALL
),

units AS (
    SELECT last_error AS reason, count(*) AS failed_units
    FROM jobs
    WHERE status = 'failed' AND finished_at >= getvariable('since') AND finished_at < getvariable('until')
    GROUP BY ALL
)

SELECT reason, outcome, coalesce(items, 0) AS items, coalesce(failed_units, 0) AS failed_units
FROM trips
FULL JOIN units USING (reason)
ORDER BY items DESC, failed_units DESC, reason, outcome
