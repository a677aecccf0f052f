-- One day of items: of those decided on it, and of those planned on it that are still undecided. Reads only.
SELECT
    batch_id,
    batch_item_index,
    job_id,
    rewrite_request_id,
    source_locale,
    target_locale,
    attempt,
    input_chars,
    estimated_input_tokens,
    estimated_output_tokens,
    outcome,
    reason,
    array_to_string(violations::text[], ','),
    lexicon_version,
    provider_status_code,
    created_at AT TIME ZONE 'UTC',
    decided_at AT TIME ZONE 'UTC'
FROM rewrite_batch_items
WHERE coalesce(decided_at, created_at) >= %(since)s AND coalesce(decided_at, created_at) < %(until)s
