-- Where COPY puts the decided rows of one chunk; gone with the transaction. The key tells the planner that a join on it
-- makes no rows: without, it expects thousands, and reads whole tables for each chunk.
CREATE TEMP TABLE result_stage (
    batch_item_index int PRIMARY KEY,
    outcome text NOT NULL,
    reason text NOT NULL,
    retry_s float8,
    provider_status_code int,
    provider_request_id text,
    answered_at timestamptz,
    rewritten_text text,
    violations text, -- codes with commas between; null: never judged
    lexicon_version text,
    eval_result text,
    model text,
    provider_response_id text,
    input_tokens bigint,
    cached_tokens bigint,
    cache_write_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    price_version text,
    cost_usd numeric
) ON COMMIT DROP
