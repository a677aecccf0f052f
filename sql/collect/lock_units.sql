-- Locks the units of the staged items and takes the contract's lock of each, and notes what each one is now. A unit that
-- somebody works on this moment is passed over: its item stays undecided, and comes again. An item whose unit was erased
-- is dropped whatever its line says, or its batch would stay open for ever. Moves nothing.
INSERT INTO held_unit (batch_item_index, job_id, rewrite_request_id, recipient_user_id, becomes, reason)
WITH candidate AS MATERIALIZED (
    SELECT
        i.batch_item_index,
        j.job_id,
        j.rewrite_request_id,
        j.recipient_user_id,
        j.max_attempts,
        i.attempt,
        j.status,
        j.status = 'batch_submitted' AND j.batch_id = i.batch_id AND j.attempt_count = i.attempt AS is_ours
    FROM result_stage AS s
    INNER JOIN rewrite_batch_items AS i ON i.batch_id = %(batch_id)s AND s.batch_item_index = i.batch_item_index
    INNER JOIN rewrite_jobs AS j ON i.job_id = j.job_id
    WHERE
        i.outcome IS NULL
        AND i.batch_item_index >= %(first)s
        AND i.batch_item_index < %(first)s::int + %(count)s
    ORDER BY j.job_id
    FOR UPDATE OF i, j SKIP LOCKED
)

SELECT
    c.batch_item_index,
    c.job_id,
    c.rewrite_request_id,
    c.recipient_user_id,
    CASE
        WHEN NOT c.is_ours THEN 'dropped'
        WHEN s.outcome = 'kept' THEN 'completed'
        WHEN s.outcome = 'transient' AND c.attempt < c.max_attempts THEN 'retried'
        WHEN s.outcome IN ('quota', 'returned') AND s.input_tokens IS NULL THEN 'returned'
        WHEN s.outcome = 'dropped' THEN 'dropped'
        ELSE 'failed'
    END AS becomes,
    CASE
        WHEN c.is_ours THEN s.reason
        WHEN c.status = 'canceled' THEN 'unit_canceled'
        ELSE 'unit_moved'
    END AS reason
FROM candidate AS c
INNER JOIN result_stage AS s ON c.batch_item_index = s.batch_item_index
WHERE pg_try_advisory_xact_lock(rewrite_unit_key(c.rewrite_request_id, c.recipient_user_id))
UNION ALL
SELECT
    i.batch_item_index,
    i.job_id,
    i.rewrite_request_id,
    i.recipient_user_id,
    'dropped',
    'unit_erased'
FROM result_stage AS s
INNER JOIN rewrite_batch_items AS i ON i.batch_id = %(batch_id)s AND s.batch_item_index = i.batch_item_index
WHERE
    i.outcome IS NULL
    AND i.batch_item_index >= %(first)s
    AND i.batch_item_index < %(first)s::int + %(count)s
    AND NOT EXISTS (SELECT FROM rewrite_jobs AS j WHERE j.job_id = i.job_id)
