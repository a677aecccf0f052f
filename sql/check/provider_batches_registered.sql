-- Each batch that the provider has is in the registry of provider batches, with its number of items.
-- Both are written by one transaction.
WITH broken AS MATERIALIZED (
    SELECT b.batch_id::text AS id
    FROM rewrite_batches AS b
    LEFT JOIN rewrite_provider_batches AS p ON b.provider_batch_id = p.provider_batch_id
    WHERE b.provider_batch_id IS NOT NULL AND p.job_count IS DISTINCT FROM b.item_count
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
