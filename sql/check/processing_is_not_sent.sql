-- A job that is processing and in a live batch is in one that the provider does not have for certain yet.
-- Planned, uploaded or create_sent: registering the batch moves its jobs in the same transaction.
WITH broken AS MATERIALIZED (
    SELECT j.job_id::text AS id
    FROM rewrite_jobs AS j
    INNER JOIN rewrite_batch_items AS i ON j.job_id = i.job_id AND i.outcome IS NULL
    INNER JOIN rewrite_batches AS b ON i.batch_id = b.batch_id
    WHERE j.status = 'processing' AND b.state NOT IN ('planned', 'uploaded', 'create_sent')
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
