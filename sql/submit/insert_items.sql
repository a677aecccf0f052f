-- The mapping (batch_id, batch_item_index) -> unit, for jobs that this run still holds. The token is the fence: an old
-- claim that nobody released is still ours. The caller checks that every staged item went in; a unit in another live
-- batch fails on an index. The jobs are locked: a release of stale claims passes them over, or we wait for it and find
-- them gone.
INSERT INTO rewrite_batch_items (
    batch_id, batch_item_index, job_id, rewrite_request_id, recipient_user_id, batch_group_key, source_locale,
    target_locale, attempt, input_chars, estimated_input_tokens, estimated_output_tokens
)
SELECT
    %(batch_id)s,
    s.batch_item_index,
    s.job_id,
    s.rewrite_request_id,
    s.recipient_user_id,
    s.batch_group_key,
    s.source_locale,
    s.target_locale,
    s.attempt,
    s.input_chars,
    s.estimated_input_tokens,
    s.estimated_output_tokens
FROM item_stage AS s
INNER JOIN rewrite_jobs AS j ON s.job_id = j.job_id
WHERE
    j.status = 'processing'
    AND j.claimed_by = %(claim_token)s
    AND j.attempt_count = s.attempt - 1
FOR NO KEY UPDATE OF j
