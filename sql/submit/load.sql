-- Reads what the requests of claimed jobs hold. A request that names a snapshot has it: a foreign key says so. Moves
-- nothing.
SELECT
    rewrite_request_id,
    rewrite_request::text,
    recipient_snapshot_id IS NOT NULL,
    recipient_preference_snapshot_id IS NOT NULL
FROM rewrite_requests
WHERE rewrite_request_id = ANY(%(request_ids)s)
