-- How much of the input came from the provider's cache, and what that saved: what the same tokens would have cost as
-- plain input, less what reading and writing the cache cost. Null: the price book no longer has that version.
-- DuckDB; reads only.
WITH called AS (
    SELECT
        c.*,
        coalesce(c.input_tokens > p.long_above_tokens, false) AS long,
        p.input,
        p.cached_input,
        p.cache_write,
        p.long_input,
        p.long_cached_input,
        p.long_cache_write
    FROM calls AS c
    LEFT JOIN prices AS p
        ON
            c.price_version = p.version
            AND c.provider = p.provider
            AND regexp_replace(c.model, '-[0-9]{4}-[0-9]{2}-[0-9]{2}$', '') = p.model
    WHERE c.day >= getvariable('since') AND c.day < getvariable('until')
)

SELECT
    provider,
    model,
    count(*) AS calls,
    count(*) FILTER (cached_tokens > 0) AS calls_with_hit,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(cached_tokens)::BIGINT AS cached_tokens,
    sum(cache_write_tokens)::BIGINT AS cache_write_tokens,
    round(sum(cached_tokens) / nullif(sum(input_tokens), 0), 6) AS hit_rate,
    sum(cost_usd) AS cost_usd,
    sum(
        (
            cached_tokens::DECIMAL(18, 0) * (CASE WHEN long THEN long_input - long_cached_input ELSE input - cached_input END)::DECIMAL(12, 6)
            - cache_write_tokens::DECIMAL(18, 0) * (CASE WHEN long THEN long_cache_write - long_input ELSE cache_write - input END)::DECIMAL(12, 6)
        ) * 0.000001
    )::DECIMAL(38, 12) AS saved_usd,
    count(*) - count(input) AS calls_without_rates
FROM called
GROUP BY provider, model
ORDER BY cached_tokens DESC, provider, model
