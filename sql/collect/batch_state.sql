-- How a batch stands in our records. Moves nothing.
SELECT state, item_count FROM rewrite_batches WHERE batch_id = %(batch_id)s
