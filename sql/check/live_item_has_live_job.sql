-- The job of a live item is processing or batch_submitted, unless an administrator canceled it or it was erased.
-- A queued one could be claimed into a second batch; a completed or failed one has its outcome already.
WITH broken AS MATERIALIZED (
    SELECT i.batch_id || '/' || i.batch_item_index AS id
    FROM rewrite_batch_items AS i
    INNER JOIN rewrite_jobs AS j ON i.job_id = j.job_id
    WHERE i.outcome IS NULL AND j.status NOT IN ('processing', 'batch_submitted', 'canceled')
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
