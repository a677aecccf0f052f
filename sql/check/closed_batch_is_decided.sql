-- A batch that is settled or abandoned has decided every one of its items.
-- An item left without an outcome would keep its unit out of every later batch.
WITH broken AS MATERIALIZED (
    SELECT i.batch_id || '/' || i.batch_item_index AS id
    FROM rewrite_batch_items AS i
    INNER JOIN rewrite_batches AS b ON i.batch_id = b.batch_id
    WHERE i.outcome IS NULL AND b.state IN ('settled', 'abandoned')
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
