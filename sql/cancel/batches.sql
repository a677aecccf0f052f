-- Reads these batches: whether the provider has them, and under which name and address. Moves nothing.
SELECT
    batch_id,
    state,
    provider_batch_id,
    base_url
FROM rewrite_batches
WHERE batch_id = ANY(%(batch_ids)s)
ORDER BY batch_id
