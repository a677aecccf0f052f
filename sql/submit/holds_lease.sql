-- Right before the paid call: still `create_sent` and still under this run's token, or the call is not made. The lease
-- is renewed and the time noted again, because the grace of a create that nobody saw is counted from here: a run that
-- slept until now must get all of it.
UPDATE rewrite_batches
SET
    create_sent_at = now(),
    lease_expires_at = now() + make_interval(secs => %(lease_s)s),
    updated_at = now()
WHERE
    batch_id = %(batch_id)s
    AND state = 'create_sent'
    AND lease_token = %(lease_token)s
