-- Fills the stage.
COPY result_stage (
    batch_item_index, outcome, reason, retry_s, provider_status_code, provider_request_id, answered_at, rewritten_text,
    violations, lexicon_version, eval_result, model, provider_response_id, input_tokens, cached_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, price_version, cost_usd
) FROM STDIN (FORMAT binary)
