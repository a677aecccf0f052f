-- One day of jobs, by the time they were queued. Reads only. Who sends and who receives stays in the house.
SELECT
    job_id,
    rewrite_request_id,
    surface,
    rewrite_strength,
    language_pair ->> 'from',
    language_pair ->> 'to',
    lane,
    routing_decision ->> 'provider',
    routing_decision ->> 'model',
    routing_decision ->> 'prompt_version',
    routing_decision ->> 'policy_version',
    routing_decision ->> 'execution_mode',
    status,
    attempt_count,
    max_attempts,
    claim_count,
    last_error,
    provider_batch_id,
    batch_id,
    created_at AT TIME ZONE 'UTC',
    not_before_at AT TIME ZONE 'UTC',
    submitted_at AT TIME ZONE 'UTC',
    finished_at AT TIME ZONE 'UTC'
FROM rewrite_jobs
WHERE created_at >= %(since)s AND created_at < %(until)s
