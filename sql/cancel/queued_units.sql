-- Reads the next page of what is queued for a model, a language pair, or both, in key order. Moves nothing, locks
-- nothing: whoever moves one of them meanwhile keeps it.
SELECT job_id
FROM rewrite_jobs
WHERE
    status = 'queued'
    AND (%(model)s::text IS NULL OR routing_decision ->> 'model' = %(model)s)
    AND (
        %(from_locale)s::text IS NULL
        OR language_pair = jsonb_build_object('from', %(from_locale)s::text, 'to', %(to_locale)s::text)
    )
    AND (%(after)s::uuid IS NULL OR job_id > %(after)s)
ORDER BY job_id
LIMIT %(limit)s
