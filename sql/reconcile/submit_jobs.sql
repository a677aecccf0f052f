-- processing -> batch_submitted for every unit of the batch: the attempt is counted here. A unit that an administrator
-- canceled meanwhile stays canceled. A unit in a live batch cannot be claimed by
-- anybody else, and the batch is under our lease; answers how many moved.
WITH job AS (
    UPDATE rewrite_jobs AS j
    SET
        status = 'batch_submitted',
        attempt_count = j.attempt_count + 1,
        provider_batch_id = coalesce(j.provider_batch_id, %(provider_batch_id)s),
        batch_id = i.batch_id,
        submitted_at = now(),
        updated_at = now()
    FROM rewrite_batch_items AS i
    WHERE
        i.batch_id = %(batch_id)s
        AND i.outcome IS NULL
        AND j.job_id = i.job_id
        AND j.status = 'processing'
        AND j.attempt_count = i.attempt - 1
    RETURNING 1
)

SELECT count(*) FROM job
