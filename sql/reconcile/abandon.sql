-- planned, uploaded or create_sent -> abandoned, by the holder of the lease: the provider does not have it. Its items
-- are decided (abandoned), its units go back to the queue with no attempt spent, its reservation is released: together.
-- What was deleted at the provider is looked for once more. The claim is given back too, unless the worker died: a unit that kills its worker is poison after some of them.
WITH batch AS (
    UPDATE rewrite_batches
    SET
        state = 'abandoned',
        abandoned_at = now(),
        reconciled_at = CASE WHEN %(in_doubt)s THEN now() ELSE reconciled_at END,
        files_deleted_at = NULL,
        lease_token = NULL,
        lease_expires_at = NULL,
        updated_at = now()
    WHERE
        batch_id = %(batch_id)s
        AND lease_token = %(lease_token)s
        AND state IN ('planned', 'uploaded', 'create_sent')
    RETURNING batch_id
),

item AS (
    UPDATE rewrite_batch_items AS i
    SET outcome = 'abandoned', reason = %(reason)s, decided_at = now()
    FROM batch
    WHERE i.batch_id = batch.batch_id AND i.outcome IS NULL
    RETURNING i.job_id
),

job AS (
    UPDATE rewrite_jobs AS j
    SET
        status = 'queued',
        claimed_at = NULL,
        claimed_by = NULL,
        claim_count = j.claim_count - %(claims_given_back)s,
        last_error = %(reason)s,
        last_error_at = now(),
        updated_at = now()
    FROM item
    WHERE j.job_id = item.job_id AND j.status = 'processing'
    RETURNING 1
),

reservation AS (
    UPDATE token_reservations AS t
    SET state = 'released', closed_at = now()
    FROM batch
    WHERE t.batch_id = batch.batch_id AND t.state = 'open'
)

SELECT (SELECT count(*) FROM batch), (SELECT count(*) FROM job)
