-- Reads how much waits, due now or later, and since when the longest waiting is due. Counts stop at the limit, so that a
-- long queue costs no more than that; finished jobs are never visited. Moves nothing.
WITH due AS (
    SELECT FROM rewrite_jobs
    WHERE status = 'queued' AND coalesce(not_before_at, created_at) <= now()
    LIMIT %(limit)s
),

later AS (
    SELECT FROM rewrite_jobs
    WHERE status = 'queued' AND coalesce(not_before_at, created_at) > now()
    LIMIT %(limit)s
),

oldest AS (
    SELECT coalesce(not_before_at, created_at) AS due_at
    FROM rewrite_jobs
    WHERE status = 'queued'
    ORDER BY coalesce(not_before_at, created_at)
    LIMIT 1
)

SELECT
    (SELECT count(*) FROM due) AS due,
    (SELECT count(*) FROM later) AS later,
    coalesce((SELECT greatest(extract(EPOCH FROM now() - due_at), 0) FROM oldest), 0)::float8 AS oldest_due_s
