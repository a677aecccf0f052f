-- Gives the batch to whoever reconciles next. Only the holder can.
UPDATE rewrite_batches
SET lease_token = NULL, lease_expires_at = NULL, updated_at = now()
WHERE batch_id = %(batch_id)s AND lease_token = %(lease_token)s
