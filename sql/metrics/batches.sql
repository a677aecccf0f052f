-- Reads the batches in flight by state: how many, their items, the age of the oldest. Closed ones are never visited.
-- Moves nothing.
SELECT
    state,
    count(*) AS batches,
    sum(item_count) AS items,
    extract(EPOCH FROM now() - min(planned_at))::float8 AS oldest_s
FROM rewrite_batches
WHERE state NOT IN ('settled', 'abandoned')
GROUP BY state
