-- Notes that nothing of the batch is left at the provider; once.
UPDATE rewrite_batches
SET files_deleted_at = now(), updated_at = now()
WHERE batch_id = %(batch_id)s AND files_deleted_at IS NULL
