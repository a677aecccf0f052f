-- Counts what is queued for a model, a language pair, or both. Moves nothing.
SELECT status, count(*)
FROM rewrite_jobs
WHERE
    status = 'queued'
    AND (%(model)s::text IS NULL OR routing_decision ->> 'model' = %(model)s)
    AND (
        %(from_locale)s::text IS NULL
        OR language_pair = jsonb_build_object('from', %(from_locale)s::text, 'to', %(to_locale)s::text)
    )
GROUP BY status
