-- Each line of the cost ledger is of an item, names the item's job and attempt, and the provider has its batch.
-- What was never sent costs nothing.
WITH broken AS MATERIALIZED (
    SELECT c.batch_id || '/' || c.batch_item_index AS id
    FROM provider_calls AS c
    LEFT JOIN rewrite_batch_items AS i ON c.batch_id = i.batch_id AND c.batch_item_index = i.batch_item_index
    LEFT JOIN rewrite_batches AS b ON c.batch_id = b.batch_id
    WHERE
        (c.job_id, c.rewrite_request_id, c.attempt) IS DISTINCT FROM (i.job_id, i.rewrite_request_id, i.attempt)
        OR b.provider_batch_id IS NULL
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
