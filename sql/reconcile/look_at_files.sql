-- Puts a batch at the end of those whose files are left: if it fails, the others come first next time.
UPDATE rewrite_batches SET updated_at = now() WHERE batch_id = %(batch_id)s AND files_deleted_at IS NULL
