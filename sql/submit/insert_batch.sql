-- The intent: a batch in `planned`, held by this run's lease. The key is new each time; a repeat fails on it.
INSERT INTO rewrite_batches (
    batch_id, run_id, environment, batch_group_key, provider, model, prompt_version, policy_version, execution_mode, lane,
    source_locale, target_locale, endpoint, base_url, item_count, estimated_input_tokens, estimated_output_tokens,
    input_sha256, input_bytes, lease_token, lease_expires_at
)
VALUES (
    %(batch_id)s, %(run_id)s, %(environment)s, %(batch_group_key)s, %(provider)s, %(model)s, %(prompt_version)s,
    %(policy_version)s, %(execution_mode)s, %(lane)s, %(source_locale)s, %(target_locale)s, %(endpoint)s, %(base_url)s,
    %(item_count)s, %(estimated_input_tokens)s, %(estimated_output_tokens)s, %(input_sha256)s, %(input_bytes)s,
    %(run_id)s, clock_timestamp() + make_interval(secs => %(lease_s)s)
)
