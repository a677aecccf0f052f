-- An attempt is counted when a job goes to the provider, only then, and only a way back to the queue may return it.
-- Returned: the provider refused the whole batch and ran nothing.
WITH event AS (
    SELECT
        job_id,
        from_status,
        to_status,
        attempt - lag(attempt) OVER (PARTITION BY job_id ORDER BY event_id) AS step
    FROM rewrite_job_events
),

broken AS MATERIALIZED (
    SELECT DISTINCT job_id::text AS id
    FROM event
    WHERE
        CASE
            WHEN from_status = 'processing' AND to_status = 'batch_submitted' THEN step <> 1
            WHEN from_status = 'batch_submitted' AND to_status = 'queued' THEN step NOT IN (0, -1)
            ELSE step <> 0
        END
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
