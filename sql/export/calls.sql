-- One day of the ledger, for COPY … TO STDOUT: the columns that rewrite_batch/export/tables.py names, in its order.
-- Reads only. Ids that the provider made up are left out: nobody vouches for what is in them.
SELECT
    batch_id,
    batch_item_index,
    job_id,
    rewrite_request_id,
    attempt,
    provider,
    model,
    source_locale,
    target_locale,
    input_tokens,
    cached_tokens,
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    price_version,
    cost_usd,
    created_at AT TIME ZONE 'UTC'
FROM provider_calls
WHERE created_at >= %(since)s AND created_at < %(until)s
