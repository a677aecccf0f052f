-- Each event begins in the state where the one before it ended, along an edge that is allowed.
-- A first event comes from nowhere; an import may put a job into any state.
WITH event AS (
    SELECT
        job_id,
        from_status,
        to_status,
        lag(to_status) OVER (PARTITION BY job_id ORDER BY event_id) AS was
    FROM rewrite_job_events
),

broken AS MATERIALIZED (
    SELECT DISTINCT job_id::text AS id
    FROM event
    WHERE
        from_status IS DISTINCT FROM was
        OR (
            from_status IS NOT NULL
            AND (from_status, to_status) NOT IN (
                ('queued', 'processing'),
                ('queued', 'canceled'),
                ('processing', 'queued'),
                ('processing', 'batch_submitted'),
                ('processing', 'failed'),
                ('processing', 'canceled'),
                ('batch_submitted', 'queued'),
                ('batch_submitted', 'completed'),
                ('batch_submitted', 'failed'),
                ('batch_submitted', 'canceled')
            )
        )
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
