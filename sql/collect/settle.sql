-- finished -> settled, by the holder of the lease, once all its items are decided and its reservation is closed; with
-- what the lines used beyond the provider's own sum (null: it gave none). A repeat finds another state.
WITH used AS (
    SELECT
        coalesce(sum(input_tokens), 0) AS input_tokens,
        coalesce(sum(output_tokens), 0) AS output_tokens,
        count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced
    FROM provider_calls
    WHERE batch_id = %(batch_id)s
)

UPDATE rewrite_batches AS b
SET
    state = 'settled',
    settled_at = now(),
    usage_difference = CASE
        WHEN b.provider_input_tokens IS NOT NULL AND b.provider_output_tokens IS NOT NULL
            THEN used.input_tokens + used.output_tokens - b.provider_input_tokens - b.provider_output_tokens
    END,
    lease_token = NULL,
    lease_expires_at = NULL,
    updated_at = now()
FROM used
WHERE b.batch_id = %(batch_id)s AND b.state = 'finished' AND b.lease_token = %(lease_token)s
RETURNING
    b.usage_difference,
    coalesce(
        used.input_tokens <> b.provider_input_tokens OR used.output_tokens <> b.provider_output_tokens, false
    ) AS differs,
    used.unpriced
