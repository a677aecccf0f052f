-- What the ledger teaches: tokens that a model thinks with, a call, over the newest calls. Moves nothing.
SELECT model, avg(reasoning_tokens)::float8
FROM (
    SELECT model, reasoning_tokens
    FROM provider_calls
    WHERE input_tokens > 0
    ORDER BY created_at DESC
    LIMIT 20000
) AS c
GROUP BY model
HAVING count(*) >= 20
