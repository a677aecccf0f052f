-- Reads the units of these batches in key order, decided or not. Moves nothing.
SELECT DISTINCT job_id
FROM rewrite_batch_items
WHERE batch_id = ANY(%(batch_ids)s)
ORDER BY job_id
