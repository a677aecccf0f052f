-- The days of the history of jobs with their rows and a fingerprint; append-only. Reads only.
SELECT (occurred_at AT TIME ZONE 'UTC')::date AS day, count(*), max(event_id)::text
FROM rewrite_job_events
WHERE occurred_at >= %(since)s AND occurred_at < %(until)s
GROUP BY day
ORDER BY day
