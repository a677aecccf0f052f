-- The days of the ledger with their rows and a fingerprint: append-only, so the count and the newest row tell. Reads only.
SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*), max(created_at AT TIME ZONE 'UTC')::text
FROM provider_calls
WHERE created_at >= %(since)s AND created_at < %(until)s
GROUP BY day
ORDER BY day
