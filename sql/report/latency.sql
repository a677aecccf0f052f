-- For each UTC day of the period: how long the units that were completed on it had taken from the queue. DuckDB; reads only.
SELECT
    finished_at::DATE AS day,
    count(*) AS completed,
    round(quantile_cont(epoch(finished_at - created_at), 0.50), 3) AS p50_s,
    round(quantile_cont(epoch(finished_at - created_at), 0.95), 3) AS p95_s,
    round(quantile_cont(epoch(finished_at - created_at), 0.99), 3) AS p99_s
FROM jobs
WHERE status = 'completed' AND finished_at >= getvariable('since') AND finished_at < getvariable('until')
GROUP BY ALL
ORDER BY day
