-- Reads what the runs that ended this UTC day counted: runs by exit code, and units by what became of them and why.
-- No run lasts a day, so the index on the start is enough of a bound. Moves nothing.
WITH ended AS (
    SELECT command, exit_code, counts
    FROM worker_runs
    WHERE
        started_at >= date_trunc('day', now(), 'UTC') - interval '1 day'
        AND finished_at >= date_trunc('day', now(), 'UTC')
)

SELECT 'runs' AS what, command AS name, exit_code::text AS reason, count(*) AS many
FROM ended
GROUP BY command, exit_code

UNION ALL

SELECT c.key, '', '', sum(c.value::text::bigint)
FROM ended, jsonb_each(ended.counts) AS c
WHERE c.key IN ('claimed', 'submitted', 'completed', 'poisoned') AND jsonb_typeof(c.value) = 'number'
GROUP BY c.key

UNION ALL

SELECT c.key, '', r.key, sum(r.value::bigint)
FROM ended,
    jsonb_each(ended.counts) AS c,
    jsonb_each_text(CASE WHEN jsonb_typeof(c.value) = 'object' THEN c.value ELSE '{}' END) AS r
WHERE c.key IN ('failed', 'retried', 'returned', 'dropped')
GROUP BY c.key, r.key
