-- First in every transaction that applies results: only the holder of the lease goes on, its lease is renewed, and the
-- row stays locked, so that nobody can take the batch over before the commit. Moves no state.
UPDATE rewrite_batches
SET lease_expires_at = now() + make_interval(secs => %(lease_s)s), updated_at = now()
WHERE batch_id = %(batch_id)s AND state = 'finished' AND lease_token = %(lease_token)s AND lease_expires_at > now()
