-- Reads the alerts that nobody has acknowledged, by kind. Moves nothing.
SELECT
    kind,
    count(*) AS alerts,
    extract(EPOCH FROM now() - min(created_at))::float8 AS oldest_s
FROM rewrite_alerts
WHERE acknowledged_at IS NULL
GROUP BY kind
ORDER BY kind
