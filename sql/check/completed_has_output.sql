-- A completed job has exactly one output, and no other job has any.
-- The outputs' key allows one a unit; an output whose job is gone is counted too.
WITH broken AS MATERIALIZED (
    SELECT coalesce(j.job_id, o.rewrite_request_id)::text AS id
    FROM rewrite_jobs AS j
    FULL JOIN rewrite_outputs AS o
        ON j.rewrite_request_id = o.rewrite_request_id AND j.recipient_user_id = o.recipient_user_id
    WHERE (j.status IS NOT DISTINCT FROM 'completed') <> (o.rewrite_request_id IS NOT NULL)
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
