-- Each UTC day of the period, days without any call too. DuckDB; reads only.
WITH days AS (
    SELECT unnest(generate_series(getvariable('since')::DATE, getvariable('until')::DATE - 1, INTERVAL 1 DAY))::DATE AS day
),

trips AS (
    SELECT
        day,
        count(*) AS items,
        count(*) FILTER (outcome = 'kept') AS completed,
        count(*) FILTER (outcome IN ('transient', 'permanent')) AS failed,
        count(*) FILTER (attempt > 1) AS retried
    FROM items
    WHERE
        day >= getvariable('since')
        AND day < getvariable('until')
        AND outcome IN ('kept', 'transient', 'permanent', 'dropped')
    GROUP BY ALL
),

money AS (
    SELECT
        day,
        count(*) AS calls,
        sum(input_tokens)::BIGINT AS input_tokens,
        sum(cached_tokens)::BIGINT AS cached_tokens,
        sum(output_tokens)::BIGINT AS output_tokens,
        sum(cost_usd) AS cost_usd,
        count(*) - count(cost_usd) AS unpriced_calls
    FROM calls
    WHERE day >= getvariable('since') AND day < getvariable('until')
    GROUP BY ALL
)

SELECT
    day,
    coalesce(items, 0) AS items,
    coalesce(completed, 0) AS completed,
    coalesce(failed, 0) AS failed,
    coalesce(retried, 0) AS retried,
    coalesce(calls, 0) AS calls,
    coalesce(input_tokens, 0) AS input_tokens,
    coalesce(cached_tokens, 0) AS cached_tokens,
    coalesce(output_tokens, 0) AS output_tokens,
    CASE WHEN calls IS NULL THEN 0 ELSE cost_usd END AS cost_usd,
    coalesce(unpriced_calls, 0) AS unpriced_calls,
    sum(coalesce(cost_usd, 0)) OVER (ORDER BY day) AS cost_so_far_usd
FROM days
LEFT JOIN trips USING (day)
LEFT JOIN money USING (day)
ORDER BY day
