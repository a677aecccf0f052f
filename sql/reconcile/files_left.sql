-- Abandoned batches whose input file may still be at the provider, those first that nobody has looked at for longest.
-- The provider itself removes a file after three days. Moves nothing.
SELECT batch_id, base_url, input_file_id, planned_at
FROM rewrite_batches
WHERE state = 'abandoned' AND files_deleted_at IS NULL AND abandoned_at > now() - interval '4 days'
ORDER BY updated_at, batch_id
LIMIT %(limit)s
