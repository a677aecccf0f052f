-- No unit is billed twice for one attempt.
-- An attempt that the provider returned has run nothing, so a line without tokens is no bill.
WITH broken AS MATERIALIZED (
    SELECT job_id::text AS id
    FROM provider_calls
    WHERE input_tokens + output_tokens > 0
    GROUP BY job_id, attempt
    HAVING count(*) > 1
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
