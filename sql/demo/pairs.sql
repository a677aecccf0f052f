-- What became of the units of each language pair: sent, completed, failed, tried more than once; tokens and money of
-- every attempt. Reads; no text.
WITH spent AS (
    SELECT job_id, sum(input_tokens + output_tokens) AS tokens, sum(cost_usd) AS usd
    FROM provider_calls
    GROUP BY job_id
)

SELECT
    j.language_pair ->> 'from' AS source_locale,
    j.language_pair ->> 'to' AS target_locale,
    count(*) FILTER (WHERE j.attempt_count > 0) AS sent,
    count(*) FILTER (WHERE j.status = 'completed') AS completed,
    count(*) FILTER (WHERE j.attempt_count > 1) AS retried,
    count(*) FILTER (WHERE j.status NOT IN ('completed', 'failed')) AS undecided,
    coalesce(sum(spent.tokens), 0)::bigint AS tokens,
    coalesce(sum(spent.usd), 0) AS usd,
    coalesce(
        (
            SELECT jsonb_object_agg(f.last_error, f.jobs)
            FROM (
                SELECT last_error, count(*) AS jobs
                FROM rewrite_jobs AS k
                WHERE k.status = 'failed' AND k.language_pair = j.language_pair
                GROUP BY last_error
            ) AS f
        ),
        '{}'
    ) AS failed
FROM rewrite_jobs AS j
LEFT JOIN spent ON j.job_id = spent.job_id
GROUP BY j.language_pair
ORDER BY 1, 2
