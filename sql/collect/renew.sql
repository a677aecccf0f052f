-- Renews the leases that this run still holds on these batches. One that was lost stays lost.
UPDATE rewrite_batches
SET lease_expires_at = now() + make_interval(secs => %(lease_s)s), updated_at = now()
WHERE batch_id = ANY(%(batch_ids)s) AND lease_token = %(lease_token)s AND lease_expires_at > now()
