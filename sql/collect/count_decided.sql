-- How many of these items of the batch are decided already. Moves nothing.
SELECT count(*)
FROM rewrite_batch_items
WHERE batch_id = %(batch_id)s AND batch_item_index = ANY(%(indexes)s) AND outcome IS NOT NULL
