-- Asked right before each call that cannot be taken back: the batch is still this run's, and stays so for the call.
UPDATE rewrite_batches
SET lease_expires_at = now() + make_interval(secs => %(lease_s)s), updated_at = now()
WHERE batch_id = %(batch_id)s AND lease_token = %(lease_token)s AND state = 'create_sent'
