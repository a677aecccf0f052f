-- A job that has ever been is there as long as its request is.
-- Its first event tells of it; erasing the request takes both away.
WITH broken AS MATERIALIZED (
    SELECT e.job_id::text AS id
    FROM rewrite_job_events AS e
    INNER JOIN rewrite_requests AS r ON e.rewrite_request_id = r.rewrite_request_id
    LEFT JOIN rewrite_jobs AS j ON e.job_id = j.job_id
    WHERE e.from_status IS NULL AND j.job_id IS NULL
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
