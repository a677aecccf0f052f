-- Fills the stage.
COPY item_stage (
    batch_item_index, job_id, rewrite_request_id, recipient_user_id, batch_group_key, source_locale, target_locale,
    attempt, input_chars, estimated_input_tokens, estimated_output_tokens
) FROM STDIN (FORMAT binary)
