-- Gives up every lease of this run on batches that the provider has. Only the holder can; a repeat finds none.
UPDATE rewrite_batches
SET lease_token = NULL, lease_expires_at = NULL, updated_at = now()
WHERE lease_token = %(lease_token)s AND state IN ('submitted', 'finished') AND (%(batch_id)s::uuid IS NULL OR batch_id = %(batch_id)s)
