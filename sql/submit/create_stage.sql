-- Where COPY puts the items of one batch; gone with the transaction.
CREATE TEMP TABLE item_stage (
    batch_item_index int NOT NULL,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    batch_group_key text NOT NULL,
    source_locale text NOT NULL,
    target_locale text NOT NULL,
    attempt int NOT NULL,
    input_chars int NOT NULL,
    estimated_input_tokens int NOT NULL,
    estimated_output_tokens int NOT NULL
) ON COMMIT DROP
