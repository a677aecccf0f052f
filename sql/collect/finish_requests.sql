-- The requests of the units that this transaction decided: completed when all their jobs are, failed when none is open
-- and one has failed. Others stay as they are, so a repeat changes nothing.
UPDATE rewrite_requests AS r
SET
    status = ended.status,
    rewrite_completed_at = CASE WHEN ended.status = 'completed' THEN clock_timestamp() END,
    updated_at = now()
FROM (
    SELECT
        u.rewrite_request_id,
        CASE WHEN bool_and(j.status = 'completed') THEN 'completed' ELSE 'failed' END AS status
    FROM held_unit AS u
    INNER JOIN rewrite_jobs AS j ON u.rewrite_request_id = j.rewrite_request_id
    WHERE u.becomes IN ('completed', 'failed')
    GROUP BY u.rewrite_request_id
    HAVING bool_and(j.status IN ('completed', 'failed', 'canceled'))
) AS ended
WHERE r.rewrite_request_id = ended.rewrite_request_id AND r.status NOT IN ('completed', 'failed', 'canceled')
