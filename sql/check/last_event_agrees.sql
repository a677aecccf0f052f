-- The last event of a job says the state it is in and the attempts it has made.
-- An attempt is counted only together with a change of state, so both are in the same event. A job without any event
-- is broken too.
WITH last_event AS (
    SELECT DISTINCT ON (job_id)
        job_id,
        to_status,
        attempt
    FROM rewrite_job_events
    ORDER BY job_id, event_id DESC
),

broken AS MATERIALIZED (
    SELECT j.job_id::text AS id
    FROM rewrite_jobs AS j
    LEFT JOIN last_event AS e ON j.job_id = e.job_id
    WHERE (j.status, j.attempt_count) IS DISTINCT FROM (e.to_status, e.attempt)
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
