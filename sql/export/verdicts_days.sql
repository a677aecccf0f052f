-- The days of stored outputs with their rows and a fingerprint: written once, but erased with their request. Reads only.
SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*), max(created_at AT TIME ZONE 'UTC')::text
FROM rewrite_outputs
WHERE created_at >= %(since)s AND created_at < %(until)s
GROUP BY day
ORDER BY day
