-- A request is final exactly when its job is, and in the same state.
-- Before that its status need not follow. A request that was imported without a job is not judged.
WITH broken AS MATERIALIZED (
    SELECT r.rewrite_request_id::text AS id
    FROM rewrite_requests AS r
    INNER JOIN rewrite_jobs AS j ON r.rewrite_request_id = j.rewrite_request_id
    WHERE
        r.status <> j.status
        AND (
            r.status IN ('completed', 'failed', 'canceled')
            OR j.status IN ('completed', 'failed', 'canceled')
        )
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
