-- Reads what each UTC day of this month cost so far. Moves nothing.
SELECT
    (created_at AT TIME ZONE 'UTC')::date AS day,
    count(*) AS calls,
    sum(cost_usd) AS usd,
    count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced_calls
FROM provider_calls
WHERE created_at >= date_trunc('month', now(), 'UTC')
GROUP BY 1
ORDER BY 1
