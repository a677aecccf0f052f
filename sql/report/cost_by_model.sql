-- What each model cost in the period, by the name that answered: 0 for one that was not called, unknown for one
-- whose calls have no price. DuckDB; reads only.
WITH money AS (
    SELECT
        provider,
        model,
        count(*) AS calls,
        sum(input_tokens)::BIGINT AS input_tokens,
        sum(cached_tokens)::BIGINT AS cached_tokens,
        sum(cache_write_tokens)::BIGINT AS cache_write_tokens,
        sum(output_tokens)::BIGINT AS output_tokens,
        sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
        sum(cost_usd) AS priced_usd,
        count(*) - count(cost_usd) AS unpriced_calls,
        array_to_string(list_sort(list(DISTINCT price_version)), ',') AS price_versions
    FROM calls
    WHERE day >= getvariable('since') AND day < getvariable('until')
    GROUP BY ALL
),

before AS (
    SELECT provider, model, sum(cost_usd) AS previous_cost_usd
    FROM calls
    WHERE day >= getvariable('previous_since') AND day < getvariable('since')
    GROUP BY ALL
),

known AS (
    SELECT *, CASE WHEN calls IS NULL THEN 0 ELSE priced_usd END AS cost_usd
    FROM money
    FULL JOIN before USING (provider, model)
)

SELECT
    provider,
    model,
    coalesce(calls, 0) AS calls,
    coalesce(input_tokens, 0) AS input_tokens,
    coalesce(cached_tokens, 0) AS cached_tokens,
    coalesce(cache_write_tokens, 0) AS cache_write_tokens,
    coalesce(output_tokens, 0) AS output_tokens,
    coalesce(reasoning_tokens, 0) AS reasoning_tokens,
    cost_usd,
    coalesce(unpriced_calls, 0) AS unpriced_calls,
    round(priced_usd / nullif(calls - unpriced_calls, 0), 9) AS cost_per_call_usd,
    round(cost_usd / nullif(sum(cost_usd) OVER (), 0), 6) AS share_of_cost,
    previous_cost_usd,
    round((cost_usd - previous_cost_usd) / nullif(previous_cost_usd, 0), 6) AS change,
    price_versions
FROM known
ORDER BY cost_usd DESC NULLS LAST, provider, model
