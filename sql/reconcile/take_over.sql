-- Takes the lease of one batch that an earlier run left before the provider had it for certain: the one that nobody has
-- looked at for longest, so that a bad one never keeps the others waiting. Any number of runs may do it at once: each
-- batch goes to one. `seen` were looked at in this pass; what only a `closed` address can tell keeps its place. Moves
-- no state.
UPDATE rewrite_batches
SET
    lease_token = %(lease_token)s,
    lease_expires_at = now() + make_interval(secs => %(lease_s)s),
    updated_at = now()
WHERE batch_id IN (
    SELECT batch_id
    FROM rewrite_batches
    WHERE
        state IN ('planned', 'uploaded', 'create_sent')
        AND (lease_expires_at IS NULL OR lease_expires_at < now())
        AND batch_id <> ALL(%(seen)s)
        AND (state <> 'create_sent' OR coalesce(base_url, '') <> ALL(%(closed)s))
    ORDER BY updated_at, batch_id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING
    batch_id, state, base_url, input_file_id, item_count, planned_at, create_sent_at,
    extract(epoch FROM now() - create_sent_at)::float8 AS since_create_s, files_deleted_at IS NOT NULL AS is_barred
