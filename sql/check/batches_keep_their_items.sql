-- A batch has as many items as it says, numbered from 0 without a gap.
-- The number is the item's name at the provider.
WITH item AS (
    SELECT
        batch_id,
        count(*) AS items,
        max(batch_item_index) AS last_index
    FROM rewrite_batch_items
    GROUP BY batch_id
),

broken AS MATERIALIZED (
    SELECT b.batch_id::text AS id
    FROM rewrite_batches AS b
    LEFT JOIN item AS i ON b.batch_id = i.batch_id
    WHERE (b.item_count, b.item_count - 1) IS DISTINCT FROM (i.items, i.last_index)
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
