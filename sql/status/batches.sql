-- Reads the newest batches in flight, how far each has come and who holds it now; the last column counts all of them.
-- Moves nothing.
WITH newest AS MATERIALIZED (
    SELECT
        batch_id,
        provider_batch_id,
        model,
        state,
        provider_status,
        item_count,
        planned_at,
        CASE WHEN lease_expires_at > now() THEN lease_token END AS lease_run_id,
        count(*) OVER () AS in_flight
    FROM rewrite_batches
    WHERE state NOT IN ('settled', 'abandoned')
    ORDER BY planned_at DESC, batch_id DESC
    LIMIT %(limit)s
)

SELECT
    b.batch_id,
    b.provider_batch_id,
    b.model,
    b.state,
    b.provider_status,
    b.item_count,
    (
        SELECT count(*) FROM rewrite_batch_items AS i
        WHERE i.batch_id = b.batch_id AND i.outcome IS NOT NULL
    ) AS decided,
    extract(EPOCH FROM now() - b.planned_at)::float8 AS age_s,
    b.lease_run_id,
    r.worker AS lease_worker,
    b.in_flight
FROM newest AS b
LEFT JOIN worker_runs AS r ON b.lease_run_id = r.run_id
ORDER BY b.planned_at DESC, b.batch_id DESC
