-- One day of the history of jobs. Reads only. The actor's login name is left out: it may be a person's.
SELECT
    event_id,
    job_id,
    rewrite_request_id,
    from_status,
    to_status,
    attempt,
    reason,
    run_id,
    batch_id,
    occurred_at AT TIME ZONE 'UTC'
FROM rewrite_job_events
WHERE occurred_at >= %(since)s AND occurred_at < %(until)s
