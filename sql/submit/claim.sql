-- queued -> processing, for the candidates that this transaction has locked. They belong to `claim_token` from here on,
-- and every later write names it. The ids come as a value, so that the planner knows how few they are. The
-- status need not be named: the rows are locked, and were queued; naming it would walk the whole queue.
UPDATE rewrite_jobs
SET
    status = 'processing',
    claimed_at = now(),
    claimed_by = %(claim_token)s,
    claim_count = claim_count + 1,
    updated_at = now()
WHERE job_id = ANY(%(job_ids)s)
RETURNING job_id, rewrite_request_id, recipient_user_id, attempt_count, claim_count, routing_decision::text
