-- The provider_batch_id of a job is that of the first batch in which it went to the provider.
-- Only jobs that began here, queued and without an attempt, are judged: an import may bring an older one.
WITH began_here AS (
    SELECT job_id
    FROM rewrite_job_events
    WHERE from_status IS NULL AND to_status = 'queued' AND attempt = 0
),

first_trip AS (
    SELECT DISTINCT ON (job_id)
        job_id,
        batch_id
    FROM rewrite_job_events
    WHERE to_status = 'batch_submitted'
    ORDER BY job_id, event_id
),

broken AS MATERIALIZED (
    SELECT j.job_id::text AS id
    FROM rewrite_jobs AS j
    INNER JOIN began_here AS e ON j.job_id = e.job_id
    LEFT JOIN first_trip AS t ON j.job_id = t.job_id
    LEFT JOIN rewrite_batches AS b ON t.batch_id = b.batch_id
    WHERE j.provider_batch_id IS DISTINCT FROM b.provider_batch_id
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
