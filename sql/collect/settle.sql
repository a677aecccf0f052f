-- finished -> settled, by the holder of the lease, once all its items are decided and its reservation is closed; with
-- how far the lines are from the provider's own sums, each kind by itself and without sign, so that a little too much
-- here hides nothing missing there (null: it gave no sums). A repeat finds another state.
WITH used AS (
    SELECT
        coalesce(sum(input_tokens), 0) AS input_tokens,
        coalesce(sum(cached_tokens), 0) AS cached_tokens,
        coalesce(sum(output_tokens), 0) AS output_tokens,
        count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced
    FROM provider_calls
    WHERE batch_id = %(batch_id)s
),

-- What the provider left out is null, and compared with nothing. It may say any number: the sum is no bigint yet.
compared AS (
    SELECT
        b.batch_id,
        used.unpriced,
        used.input_tokens - b.provider_input_tokens AS input_difference,
        used.cached_tokens - b.provider_cached_tokens AS cached_difference,
        used.output_tokens - b.provider_output_tokens AS output_difference
    FROM rewrite_batches AS b
    CROSS JOIN used
    WHERE b.batch_id = %(batch_id)s
)

UPDATE rewrite_batches AS b
SET
    state = 'settled',
    settled_at = now(),
    usage_difference = CASE
        WHEN coalesce(c.input_difference, c.cached_difference, c.output_difference) IS NOT NULL
            THEN
                least(
                    abs(coalesce(c.input_difference, 0))
                    + abs(coalesce(c.cached_difference, 0))
                    + abs(coalesce(c.output_difference, 0)),
                    9223372036854775807
                )
    END,
    lease_token = NULL,
    lease_expires_at = NULL,
    updated_at = now()
FROM compared AS c
WHERE b.batch_id = c.batch_id AND b.state = 'finished' AND b.lease_token = %(lease_token)s
RETURNING
    coalesce(c.input_difference, 0)::numeric(20) AS input_difference,
    coalesce(c.cached_difference, 0)::numeric(20) AS cached_difference,
    coalesce(c.output_difference, 0)::numeric(20) AS output_difference,
    c.unpriced
