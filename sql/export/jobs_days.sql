-- The days of jobs with their rows and a fingerprint: xmin changes with every change of a row. Reads only.
SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*), sum(hashint8(xmin::text::bigint))::text
FROM rewrite_jobs
WHERE created_at >= %(since)s AND created_at < %(until)s
GROUP BY day
ORDER BY day
