-- No unit is in two live batches.
-- Live is an item without an outcome.
WITH broken AS MATERIALIZED (
    SELECT job_id::text AS id
    FROM rewrite_batch_items
    WHERE outcome IS NULL
    GROUP BY job_id
    HAVING count(*) > 1
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
