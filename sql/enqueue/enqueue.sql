-- Nothing -> queued for each new execution unit of the array; a unit that is known changes nothing. Running it again
-- answers the same jobs.
SELECT item, job_id, outcome
FROM enqueue_rewrites(%(items)s)
ORDER BY item
