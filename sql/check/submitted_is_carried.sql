-- A job that is batch_submitted has exactly one live item, in the batch it names, and the provider has that batch.
-- Otherwise nobody would ever collect it.
WITH broken AS MATERIALIZED (
    SELECT j.job_id::text AS id
    FROM rewrite_jobs AS j
    LEFT JOIN rewrite_batch_items AS i ON j.job_id = i.job_id AND i.outcome IS NULL
    LEFT JOIN rewrite_batches AS b ON i.batch_id = b.batch_id
    WHERE j.status = 'batch_submitted'
    GROUP BY j.job_id
    HAVING
        count(i.job_id) <> 1
        OR bool_or(b.state NOT IN ('submitted', 'finished') OR i.batch_id IS DISTINCT FROM j.batch_id)
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
