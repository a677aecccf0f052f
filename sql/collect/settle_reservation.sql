-- open -> settled with what the lines cost, or -> released when the provider ran nothing. Once: a repeat finds it closed.
-- Money is null when any line has no price: a sum that leaves some out would look exact.
WITH spent AS (
    SELECT
        count(*) AS calls,
        coalesce(sum(input_tokens), 0) AS tokens,
        CASE WHEN bool_and(cost_usd IS NOT NULL) THEN sum(cost_usd) END AS usd
    FROM provider_calls
    WHERE batch_id = %(batch_id)s
)

UPDATE token_reservations AS t
SET
    state = CASE WHEN spent.calls > 0 THEN 'settled' ELSE 'released' END,
    settled_tokens = CASE WHEN spent.calls > 0 THEN spent.tokens END,
    settled_usd = CASE WHEN spent.calls > 0 THEN spent.usd END,
    closed_at = now()
FROM spent
WHERE t.batch_id = %(batch_id)s AND t.state = 'open'
