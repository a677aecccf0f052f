-- Of the units that ended in the period: how many at the first trip, how many after retries, why not, and how long it
-- took from the queue to the end. DuckDB; reads only.
WITH ended AS (
    SELECT *, epoch(finished_at - created_at) AS seconds
    FROM jobs
    WHERE finished_at >= getvariable('since') AND finished_at < getvariable('until')
),

reasons AS (
    SELECT source_locale, target_locale, string_agg(last_error || ':' || units, ' ' ORDER BY units DESC, last_error) AS reasons
    FROM (
        SELECT source_locale, target_locale, last_error, count(*) AS units
        FROM ended
        WHERE status = 'failed'
        GROUP BY ALL
    ) AS counted
    GROUP BY ALL
)

SELECT
    source_locale,
    target_locale,
    count(*) FILTER (status <> 'canceled') AS units,
    count(*) FILTER (status = 'completed') AS completed,
    count(*) FILTER (status = 'completed' AND attempt_count <= 1) AS first_pass,
    count(*) FILTER (status = 'completed' AND attempt_count > 1) AS after_retry,
    count(*) FILTER (status = 'failed') AS failed,
    count(*) FILTER (status = 'canceled') AS canceled,
    round(first_pass / nullif(units, 0), 6) AS first_pass_rate,
    round(completed / nullif(units, 0), 6) AS success_rate,
    round(quantile_cont(seconds, 0.50) FILTER (status = 'completed'), 3) AS p50_s,
    round(quantile_cont(seconds, 0.95) FILTER (status = 'completed'), 3) AS p95_s,
    round(quantile_cont(seconds, 0.99) FILTER (status = 'completed'), 3) AS p99_s,
    any_value(reasons) AS reasons
FROM ended
LEFT JOIN reasons USING (source_locale, target_locale)
GROUP BY source_locale, target_locale
ORDER BY units DESC, source_locale, target_locale
