-- The days of runs with their rows and a fingerprint: xmin changes with every change of a row. Reads only.
SELECT (started_at AT TIME ZONE 'UTC')::date AS day, count(*), sum(hashint8(xmin::text::bigint))::text
FROM worker_runs
WHERE started_at >= %(since)s AND started_at < %(until)s
GROUP BY day
ORDER BY day
