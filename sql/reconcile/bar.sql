-- Before the input file of a create that nobody saw is deleted: notes that this account has the file and that it is
-- about to go. From here on, not to find it proves nothing. Held by the lease, which this renews.
UPDATE rewrite_batches
SET
    files_deleted_at = now(),
    lease_expires_at = now() + make_interval(secs => %(lease_s)s),
    updated_at = now()
WHERE batch_id = %(batch_id)s AND lease_token = %(lease_token)s AND state = 'create_sent'
