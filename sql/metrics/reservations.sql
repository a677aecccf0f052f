-- Reads what is reserved for batches in flight, by model; closed reservations are never visited. Moves nothing.
SELECT
    model,
    sum(reserved_tokens) AS tokens,
    coalesce(sum(reserved_usd), 0) AS usd,
    count(*) FILTER (WHERE reserved_usd IS NULL) AS unpriced
FROM token_reservations
WHERE state = 'open'
GROUP BY model
