-- Settled batches whose files may still be at the provider, those first that nobody has looked at for longest. Moves
-- nothing.
SELECT batch_id, base_url, input_file_id, output_file_id, error_file_id
FROM rewrite_batches
WHERE state = 'settled' AND files_deleted_at IS NULL
ORDER BY updated_at, batch_id
LIMIT %(limit)s
