-- Reads the undecided items of one chunk of a batch, with what the checks need of their requests. Moves nothing.
SELECT
    i.batch_item_index,
    i.job_id,
    i.attempt,
    i.source_locale,
    i.target_locale,
    r.original_text,
    r.intent,
    r.context_pack -> 'power' ->> 'power_mode',
    r.topics
FROM rewrite_batch_items AS i
LEFT JOIN rewrite_requests AS r ON i.rewrite_request_id = r.rewrite_request_id
WHERE
    i.batch_id = %(batch_id)s
    AND i.batch_item_index >= %(first)s
    AND i.batch_item_index < %(first)s::int + %(count)s
    AND i.outcome IS NULL
ORDER BY i.batch_item_index
