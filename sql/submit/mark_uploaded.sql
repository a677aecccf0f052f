-- planned -> uploaded. The token is the fence: whoever takes a batch over writes their own, so that while it is ours
-- nobody else has it, however long the upload took; the lease is renewed. A repeat finds another state.
-- `in_doubt`: an answer was lost on the way; for a day, copies of the file are looked for.
UPDATE rewrite_batches
SET
    state = 'uploaded',
    input_file_id = %(input_file_id)s,
    uploaded_at = now(),
    reconciled_at = CASE WHEN %(in_doubt)s THEN now() END,
    lease_expires_at = now() + make_interval(secs => %(lease_s)s),
    updated_at = now()
WHERE batch_id = %(batch_id)s AND state = 'planned' AND lease_token = %(lease_token)s
