-- How far back the provider's list must be read, an address: to the oldest create that is undecided, or that was once in
-- doubt and whose twins are still looked for. Moves nothing.
SELECT base_url, min(create_sent_at)
FROM rewrite_batches
WHERE state = 'create_sent' OR reconciled_at > now() - interval '1 day'
GROUP BY base_url
