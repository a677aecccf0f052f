-- A final state is entered once, and nothing happens after it.
-- Judged on the events alone: they stay when a request is erased.
WITH event AS (
    SELECT
        job_id,
        count(*) FILTER (WHERE to_status IN ('completed', 'failed', 'canceled')) AS finals,
        max(event_id) FILTER (WHERE to_status IN ('completed', 'failed', 'canceled')) AS final_event_id,
        max(event_id) AS last_event_id
    FROM rewrite_job_events
    GROUP BY job_id
),

broken AS MATERIALIZED (
    SELECT job_id::text AS id
    FROM event
    WHERE finals > 1 OR final_event_id <> last_event_id
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
