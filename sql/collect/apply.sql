-- The staged results of the units that this transaction has locked, together or not at all:
--   batch_submitted -> completed with its output, -> queued for another attempt or with nothing spent, -> failed;
--   items are decided, each at its own time; paid lines go into the ledger; final units into the outbox.
-- A unit that was canceled or erased meanwhile is left alone: its item is decided, and what it cost is on record.
-- The fence is in held_unit: its rows are locked, were undecided, and are of this batch and attempt. A repeat finds none.
WITH unit AS MATERIALIZED (
    SELECT
        u.batch_item_index,
        u.job_id,
        u.rewrite_request_id,
        u.recipient_user_id,
        u.becomes,
        u.reason AS final_reason,
        s.outcome,
        s.retry_s,
        s.provider_status_code,
        s.provider_request_id,
        s.answered_at,
        s.rewritten_text,
        s.violations,
        s.lexicon_version,
        s.eval_result,
        s.model,
        s.provider_response_id,
        s.input_tokens,
        s.cached_tokens,
        s.cache_write_tokens,
        s.output_tokens,
        s.reasoning_tokens,
        s.price_version,
        s.cost_usd
    FROM held_unit AS u
    INNER JOIN result_stage AS s ON u.batch_item_index = s.batch_item_index
),

item AS (
    UPDATE rewrite_batch_items AS i
    SET
        outcome = CASE WHEN unit.becomes = 'dropped' THEN 'dropped' ELSE unit.outcome END,
        reason = unit.final_reason,
        violations = string_to_array(unit.violations, ',')::reason_code[],
        lexicon_version = unit.lexicon_version,
        provider_status_code = unit.provider_status_code,
        provider_request_id = unit.provider_request_id,
        answered_at = unit.answered_at,
        decided_at = clock_timestamp()
    FROM unit
    WHERE
        i.batch_id = %(batch_id)s
        AND i.batch_item_index >= %(first)s
        AND i.batch_item_index < %(first)s::int + %(count)s
        AND i.batch_item_index = unit.batch_item_index
    RETURNING i.batch_item_index, i.attempt, i.source_locale, i.target_locale
),

job AS (
    UPDATE rewrite_jobs AS j
    SET
        status = CASE unit.becomes WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' ELSE 'queued' END,
        finished_at = CASE WHEN unit.becomes IN ('completed', 'failed') THEN clock_timestamp() END,
        batch_id = NULL,
        claimed_at = NULL,
        claimed_by = NULL,
        attempt_count = j.attempt_count - (unit.becomes = 'returned')::int,
        claim_count = j.claim_count - (unit.becomes = 'returned')::int,
        not_before_at = CASE
            WHEN unit.becomes = 'retried' THEN now() + make_interval(secs => unit.retry_s)
            ELSE j.not_before_at
        END,
        last_error = CASE WHEN unit.becomes = 'completed' THEN j.last_error ELSE unit.final_reason END,
        last_error_at = CASE WHEN unit.becomes = 'completed' THEN j.last_error_at ELSE clock_timestamp() END,
        updated_at = now()
    FROM unit
    WHERE j.job_id = unit.job_id AND unit.becomes <> 'dropped'
    RETURNING j.job_id, j.routing_decision
),

output AS (
    INSERT INTO rewrite_outputs (
        rewrite_request_id, recipient_user_id, rewritten_text, output_language, target_locale, model, provider,
        prompt_version, policy_version, lexicon_version, eval_result, created_at
    )
    SELECT
        unit.rewrite_request_id,
        unit.recipient_user_id,
        unit.rewritten_text,
        item.target_locale,
        item.target_locale,
        job.routing_decision ->> 'model',
        job.routing_decision ->> 'provider',
        job.routing_decision ->> 'prompt_version',
        job.routing_decision ->> 'policy_version',
        unit.lexicon_version,
        unit.eval_result::jsonb,
        clock_timestamp()
    FROM unit
    INNER JOIN item ON unit.batch_item_index = item.batch_item_index
    INNER JOIN job ON unit.job_id = job.job_id
    WHERE unit.becomes = 'completed'
),

call AS (
    INSERT INTO provider_calls (
        batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider, model, source_locale, target_locale,
        provider_request_id, provider_response_id, input_tokens, cached_tokens, cache_write_tokens, output_tokens,
        reasoning_tokens, price_version, cost_usd
    )
    SELECT
        %(batch_id)s,
        unit.batch_item_index,
        unit.job_id,
        unit.rewrite_request_id,
        item.attempt,
        %(provider)s,
        unit.model,
        item.source_locale,
        item.target_locale,
        unit.provider_request_id,
        unit.provider_response_id,
        unit.input_tokens,
        unit.cached_tokens,
        unit.cache_write_tokens,
        unit.output_tokens,
        unit.reasoning_tokens,
        unit.price_version,
        unit.cost_usd
    FROM unit
    INNER JOIN item ON unit.batch_item_index = item.batch_item_index
    WHERE unit.input_tokens IS NOT NULL
),

notice AS (
    INSERT INTO outbox_events (event_key, kind, payload)
    SELECT
        'rewrite:' || unit.job_id || ':' || unit.becomes,
        'rewrite_' || unit.becomes,
        jsonb_build_object(
            'rewrite_request_id', unit.rewrite_request_id,
            'recipient_user_id', unit.recipient_user_id,
            'job_id', unit.job_id,
            'status', unit.becomes,
            'reason', CASE WHEN unit.becomes = 'failed' THEN unit.final_reason END,
            'attempt', item.attempt,
            'batch_id', %(batch_id)s::uuid,
            'batch_item_index', unit.batch_item_index
        )
    FROM unit
    INNER JOIN item ON unit.batch_item_index = item.batch_item_index
    WHERE unit.becomes IN ('completed', 'failed')
    ON CONFLICT (event_key) DO NOTHING
)

SELECT becomes, final_reason, count(*)
FROM unit
GROUP BY becomes, final_reason
