-- What each language pair cost in the period, and how its trips ended. DuckDB; reads only.
-- Made for tens of millions of rows: `day` is the file's, so no time is looked at; trips are counted by outcome first,
-- and only then told apart (a WHERE would be asked of every row, and cost as much as the counting); both sides are summed
-- before they meet. A pair without a call cost 0; one whose calls have no price cost nobody knows what.
WITH trips AS (
    SELECT
        source_locale,
        target_locale,
        sum(n) FILTER (outcome IN ('kept', 'transient', 'permanent', 'dropped')) AS items,
        sum(n) FILTER (outcome = 'kept') AS completed,
        sum(n) FILTER (outcome IN ('transient', 'permanent')) AS failed,
        sum(again) FILTER (outcome IN ('kept', 'transient', 'permanent', 'dropped')) AS retried
    FROM (
        SELECT source_locale, target_locale, outcome, count(*) AS n, count(*) FILTER (attempt > 1) AS again
        FROM items
        WHERE day >= getvariable('since') AND day < getvariable('until')
        GROUP BY ALL
    ) AS counted
    GROUP BY ALL
    HAVING count(*) FILTER (outcome IN ('kept', 'transient', 'permanent', 'dropped')) > 0
),

money AS (
    SELECT
        source_locale,
        target_locale,
        sum(input_tokens)::BIGINT AS input_tokens,
        sum(cached_tokens)::BIGINT AS cached_tokens,
        sum(cache_write_tokens)::BIGINT AS cache_write_tokens,
        sum(output_tokens)::BIGINT AS output_tokens,
        sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
        sum(cost_usd) AS priced_usd,
        count(*) - count(cost_usd) AS unpriced_calls
    FROM calls
    WHERE day >= getvariable('since') AND day < getvariable('until')
    GROUP BY ALL
),

before AS (
    SELECT source_locale, target_locale, sum(cost_usd) AS previous_cost_usd
    FROM calls
    WHERE day >= getvariable('previous_since') AND day < getvariable('since')
    GROUP BY ALL
),

known AS (
    SELECT *, CASE WHEN unpriced_calls IS NULL THEN 0 ELSE priced_usd END AS cost_usd
    FROM trips
    FULL JOIN money USING (source_locale, target_locale)
    FULL JOIN before USING (source_locale, target_locale)
)

SELECT
    source_locale,
    target_locale,
    coalesce(items, 0)::BIGINT AS items,
    coalesce(completed, 0)::BIGINT AS completed,
    coalesce(failed, 0)::BIGINT AS failed,
    coalesce(retried, 0)::BIGINT AS retried,
    coalesce(input_tokens, 0) AS input_tokens,
    coalesce(cached_tokens, 0) AS cached_tokens,
    coalesce(cache_write_tokens, 0) AS cache_write_tokens,
    coalesce(output_tokens, 0) AS output_tokens,
    coalesce(reasoning_tokens, 0) AS reasoning_tokens,
    cost_usd,
    coalesce(unpriced_calls, 0) AS unpriced_calls,
    round(cost_usd / nullif(completed, 0), 9) AS cost_per_completed_usd,
    round(cost_usd / nullif(sum(cost_usd) OVER (), 0), 6) AS share_of_cost,
    previous_cost_usd,
    round((cost_usd - previous_cost_usd) / nullif(previous_cost_usd, 0), 6) AS change
FROM known
ORDER BY cost_usd DESC NULLS LAST, source_locale, target_locale
