-- uploaded -> create_sent, committed before the paid call: from here on only the provider's list tells what happened.
-- The token is the fence, and the lease is renewed.
UPDATE rewrite_batches
SET
    state = 'create_sent',
    create_sent_at = now(),
    lease_expires_at = now() + make_interval(secs => %(lease_s)s),
    updated_at = now()
WHERE batch_id = %(batch_id)s AND state = 'uploaded' AND lease_token = %(lease_token)s
