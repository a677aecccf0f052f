-- One day of what the checks said of stored outputs: never the output. Reads only.
SELECT
    rewrite_request_id,
    target_locale,
    provider,
    model,
    prompt_version,
    policy_version,
    lexicon_version,
    (eval_result ->> 'schema_valid')::boolean,
    (eval_result ->> 'lexicon_pass')::boolean,
    eval_result ->> 'tone_safety',
    eval_result ->> 'intent_preserved',
    (
        SELECT string_agg(code, ',' ORDER BY code)
        FROM jsonb_array_elements_text(coalesce(nullif(eval_result -> 'violations', 'null'), '[]')) AS code
    ),
    eval_result ->> 'judge_version',
    eval_result ->> 'dataset_version',
    created_at AT TIME ZONE 'UTC'
FROM rewrite_outputs
WHERE created_at >= %(since)s AND created_at < %(until)s
