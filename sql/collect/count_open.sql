-- How many items of the batch are still undecided. Moves nothing.
SELECT count(*) FROM rewrite_batch_items WHERE batch_id = %(batch_id)s AND outcome IS NULL
