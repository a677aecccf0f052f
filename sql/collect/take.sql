-- Takes the lease of one batch that the provider has and this run has not looked at yet, the one unseen for longest
-- first. Any number of runs may do it at once: each batch goes to one. Moves no state; a repeat takes the next one.
UPDATE rewrite_batches
SET
    lease_token = %(lease_token)s,
    lease_expires_at = now() + make_interval(secs => %(lease_s)s),
    polled_at = now(),
    updated_at = now()
WHERE batch_id = (
    SELECT batch_id
    FROM rewrite_batches
    WHERE
        state IN ('submitted', 'finished')
        AND (lease_expires_at IS NULL OR lease_expires_at < now())
        AND (polled_at IS NULL OR polled_at < %(run_started_at)s)
        AND (%(batch_id)s::uuid IS NULL OR batch_id = %(batch_id)s)
    ORDER BY polled_at NULLS FIRST, planned_at, batch_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING
    batch_id, state, model, provider, base_url, provider_batch_id, provider_status, item_count, input_file_id, output_file_id,
    error_file_id, submitted_at,
    extract(EPOCH FROM now() - submitted_at)::float8 AS since_submitted_s,
    extract(EPOCH FROM now() - finished_at)::float8 AS since_finished_s,
    CASE
        WHEN submitted_at < now() - interval '1 day'
            THEN
                (
                    SELECT extract(EPOCH FROM now() - min(a.created_at))::float8
                    FROM rewrite_alerts AS a
                    WHERE a.batch_id = rewrite_batches.batch_id AND a.kind = 'batch_overdue'
                )
    END AS since_overdue_s
