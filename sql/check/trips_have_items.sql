-- Each trip of a job is an item of a batch that the provider has, and each such item is a trip of its job.
-- A unit canceled before its batch was registered made no trip of its own; an erased one is not judged. With the rule
-- on attempts this ties attempt_count to the items: trips less those returned.
WITH trip AS (
    SELECT job_id, batch_id
    FROM rewrite_job_events
    WHERE to_status = 'batch_submitted' AND from_status IS NOT NULL
),

carried AS (
    SELECT i.job_id, i.batch_id
    FROM rewrite_batch_items AS i
    INNER JOIN rewrite_batches AS b ON i.batch_id = b.batch_id
    WHERE b.provider_batch_id IS NOT NULL
),

unmatched AS (
    SELECT
        coalesce(t.job_id, c.job_id) AS job_id,
        t.job_id IS NULL AS is_without_trip
    FROM trip AS t
    FULL JOIN carried AS c ON t.job_id = c.job_id AND t.batch_id = c.batch_id
    WHERE t.job_id IS NULL OR c.job_id IS NULL
),

broken AS MATERIALIZED (
    SELECT DISTINCT j.job_id::text AS id
    FROM unmatched AS u
    INNER JOIN rewrite_jobs AS j ON u.job_id = j.job_id
    WHERE NOT (u.is_without_trip AND j.status = 'canceled')
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
