-- Whether a unit of the batch still waits for what became of it; a canceled one does not. Moves nothing.
SELECT EXISTS (
    SELECT
    FROM rewrite_batch_items AS i
    INNER JOIN rewrite_jobs AS j ON i.job_id = j.job_id
    WHERE i.batch_id = %(batch_id)s AND i.outcome IS NULL AND j.status <> 'canceled'
)
