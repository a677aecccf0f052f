-- Reads what a submit would take next, page by page in the order of the claim, with the claim that it would count.
-- Moves nothing, locks nothing.
SELECT
    j.job_id,
    j.rewrite_request_id,
    j.recipient_user_id,
    j.attempt_count,
    j.claim_count + 1,
    j.routing_decision::text,
    r.rewrite_request::text,
    r.recipient_snapshot_id IS NOT NULL,
    r.recipient_preference_snapshot_id IS NOT NULL,
    coalesce(j.not_before_at, j.created_at)
FROM rewrite_jobs AS j
INNER JOIN rewrite_requests AS r ON j.rewrite_request_id = r.rewrite_request_id
WHERE
    j.status = 'queued'
    AND coalesce(j.not_before_at, j.created_at) <= now()
    AND j.routing_decision ->> 'model' <> ALL(%(blocked_models)s)
    AND (
        %(after_at)s::timestamptz IS NULL
        OR (coalesce(j.not_before_at, j.created_at), j.job_id) > (%(after_at)s::timestamptz, %(after_id)s::uuid)
    )
ORDER BY coalesce(j.not_before_at, j.created_at), j.job_id
LIMIT %(limit)s
