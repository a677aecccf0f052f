-- Reads what the batches closed this UTC day and month cost, one row a batch and not one a line. Moves nothing.
-- A batch id begins with the time it was made (UUIDv7, 48 bits of milliseconds), so the primary key alone leaves out
-- everything older than the month before this one: a batch is closed within days of its making.
WITH periods AS (
    SELECT
        date_trunc('day', now(), 'UTC') AS today,
        date_trunc('month', now(), 'UTC') AS this_month
),

first_batch AS (
    SELECT
        rpad(
            lpad(to_hex((extract(EPOCH FROM this_month - interval '31 days') * 1000)::bigint), 12, '0'), 32, '0'
        )::uuid AS batch_id
    FROM periods
)

SELECT
    coalesce(sum(t.settled_usd) FILTER (WHERE t.closed_at >= p.today), 0) AS day_usd,
    coalesce(sum(t.settled_usd), 0) AS month_usd,
    count(*) FILTER (WHERE t.settled_usd IS NULL) AS unpriced
FROM token_reservations AS t
CROSS JOIN periods AS p
WHERE
    t.batch_id >= (SELECT f.batch_id FROM first_batch AS f)
    AND t.state = 'settled'
    AND t.closed_at >= p.this_month
