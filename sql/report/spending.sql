-- Today and this month, UTC: spent, in flight, and the caps. In flight counts against both, as submit does. DuckDB; reads only.
WITH open AS (
    SELECT coalesce(sum(reserved_usd), 0) AS in_flight_usd, count(*) - count(reserved_usd) AS unpriced_batches
    FROM batches
    WHERE reservation_state = 'open'
),

spent AS (
    SELECT
        coalesce(sum(cost_usd) FILTER (day >= getvariable('today')), 0) AS day_usd,
        coalesce(sum(cost_usd), 0) AS month_usd
    FROM calls
    WHERE day >= date_trunc('month', getvariable('today'))
)

SELECT
    span,
    spent_usd,
    in_flight_usd,
    cap_usd,
    cap_usd - spent_usd - in_flight_usd AS left_usd
FROM (
    SELECT 1 AS place, 'day' AS span, day_usd AS spent_usd, in_flight_usd, getvariable('daily_cap')::DECIMAL(24, 12) AS cap_usd FROM spent, open
    UNION ALL
    SELECT 2, 'month', month_usd, in_flight_usd, getvariable('monthly_cap')::DECIMAL(24, 12) FROM spent, open
) AS spans
ORDER BY place
