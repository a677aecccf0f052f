-- Reads the queue by state in one pass over one index (status, not_before_at, created_at): how many jobs; of the queued
-- ones, how many are due, and for how long the longest waiting has been. Moves nothing.
SELECT
    status,
    count(*) AS jobs,
    count(*) FILTER (WHERE coalesce(not_before_at, created_at) <= now()) AS due,
    extract(EPOCH FROM now() - min(coalesce(not_before_at, created_at)))::float8 AS longest_wait_s
FROM rewrite_jobs
GROUP BY status
