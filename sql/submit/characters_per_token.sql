-- What the ledger teaches: characters of input for each input token, by source language, over the newest calls. The
-- sample is bounded, so that it costs the same in a year. Moves nothing.
SELECT i.source_locale, sum(i.input_chars)::float8 / sum(c.input_tokens)
FROM (
    SELECT batch_id, batch_item_index, input_tokens
    FROM provider_calls
    WHERE input_tokens > 0
    ORDER BY created_at DESC
    LIMIT 20000
) AS c
INNER JOIN rewrite_batch_items AS i ON c.batch_id = i.batch_id AND c.batch_item_index = i.batch_item_index
GROUP BY i.source_locale
HAVING count(*) >= 20
