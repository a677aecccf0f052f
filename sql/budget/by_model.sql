-- Reads what each model spent today and this month (UTC, by the database's clock) and has in flight. Moves nothing.
-- A ledger row names the snapshot that answered: it counts for its family, as the reservation does.
WITH spent AS (
    SELECT
        regexp_replace(model, '-\d{4}-\d{2}-\d{2}$', '') AS model,
        coalesce(sum(cost_usd) FILTER (WHERE created_at >= date_trunc('day', now(), 'UTC')), 0) AS day_usd,
        coalesce(sum(cost_usd), 0) AS month_usd,
        count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced_calls
    FROM provider_calls
    WHERE created_at >= date_trunc('month', now(), 'UTC')
    GROUP BY 1
),

open AS (
    SELECT
        regexp_replace(model, '-\d{4}-\d{2}-\d{2}$', '') AS model,
        coalesce(sum(reserved_usd), 0) AS in_flight_usd,
        sum(reserved_tokens)::bigint AS in_flight_tokens,
        count(*) FILTER (WHERE reserved_usd IS NULL) AS unpriced_batches
    FROM token_reservations
    WHERE state = 'open'
    GROUP BY 1
)

SELECT
    model,
    coalesce(day_usd, 0) AS day_usd,
    coalesce(month_usd, 0) AS month_usd,
    coalesce(in_flight_usd, 0) AS in_flight_usd,
    coalesce(in_flight_tokens, 0) AS in_flight_tokens,
    coalesce(unpriced_calls, 0) AS unpriced_calls,
    coalesce(unpriced_batches, 0) AS unpriced_batches
FROM spent
FULL JOIN open USING (model)
ORDER BY month_usd DESC, model
