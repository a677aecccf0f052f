-- Units of the batch that are not in it although nobody canceled or erased them: there must be none.
SELECT count(*)
FROM rewrite_batch_items AS i
INNER JOIN rewrite_jobs AS j ON i.job_id = j.job_id
WHERE i.batch_id = %(batch_id)s AND i.outcome IS NULL AND j.status NOT IN ('batch_submitted', 'canceled')
