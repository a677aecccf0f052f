-- queued, processing or batch_submitted -> canceled, for units that this transaction has locked, with their requests.
-- What is final, is no longer in one of `states`, or is no longer carried by one of `batch_ids` is counted and left
-- alone, so a repeat changes nothing. An item in a live batch stays: its batch is on its way, and whoever collects it
-- finds the unit canceled.
WITH unit AS MATERIALIZED (
    SELECT
        j.job_id,
        CASE
            WHEN j.status IN ('completed', 'failed', 'canceled') THEN 'already_final'
            WHEN j.status <> ALL(%(states)s) THEN 'moved_on'
            WHEN %(batch_ids)s::uuid[] IS NOT NULL AND NOT EXISTS (
                SELECT FROM rewrite_batch_items AS i
                WHERE i.job_id = j.job_id AND i.outcome IS NULL AND i.batch_id = ANY(%(batch_ids)s)
            ) THEN 'moved_on'
            ELSE j.status
        END AS verdict
    FROM rewrite_jobs AS j
    WHERE j.job_id = ANY(%(job_ids)s)
),

job AS (
    UPDATE rewrite_jobs AS j
    SET
        status = 'canceled',
        finished_at = now(),
        batch_id = NULL,
        last_error = 'canceled_by_admin',
        last_error_at = now(),
        updated_at = now()
    FROM unit
    WHERE j.job_id = unit.job_id AND j.status = unit.verdict
    RETURNING j.rewrite_request_id
),

request AS (
    UPDATE rewrite_requests AS q
    SET status = 'canceled', updated_at = now()
    FROM job
    WHERE q.rewrite_request_id = job.rewrite_request_id AND q.status NOT IN ('completed', 'failed', 'canceled')
)

SELECT verdict, count(*)
FROM unit
GROUP BY verdict
