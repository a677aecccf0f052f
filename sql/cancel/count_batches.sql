-- Counts the units of these batches by what a cancel would find: the state of one that its batch still carries;
-- `moved_on` for one whose item is decided and which waits or travels again; `unknown` for one that was erased. Moves
-- nothing.
SELECT verdict, count(*)
FROM (
    SELECT DISTINCT ON (i.job_id)
        i.job_id,
        CASE
            WHEN j.job_id IS NULL THEN 'unknown'
            WHEN j.status IN ('completed', 'failed', 'canceled') OR i.outcome IS NULL THEN j.status
            ELSE 'moved_on'
        END AS verdict
    FROM rewrite_batch_items AS i
    LEFT JOIN rewrite_jobs AS j ON i.job_id = j.job_id
    WHERE i.batch_id = ANY(%(batch_ids)s)
    ORDER BY i.job_id, i.outcome IS NOT NULL
) AS unit
GROUP BY verdict
