-- create_sent -> submitted, with the provider's id; by the holder of the lease alone. A repeat finds another state.
UPDATE rewrite_batches
SET
    state = 'submitted',
    provider_batch_id = %(provider_batch_id)s,
    provider_status = %(provider_status)s,
    submitted_at = now(),
    reconciled_at = CASE WHEN %(in_doubt)s THEN now() ELSE reconciled_at END,
    files_deleted_at = NULL,
    lease_token = NULL,
    lease_expires_at = NULL,
    updated_at = now()
WHERE batch_id = %(batch_id)s AND state = 'create_sent' AND lease_token = %(lease_token)s
