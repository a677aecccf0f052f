-- Batches whose upload or create was once in doubt, and which are decided: for a day, any provider batch of theirs that
-- is not the registered one, and any copy of their file, is looked for. All of them, or some would never be. Moves nothing.
SELECT batch_id, base_url, planned_at, create_sent_at, provider_batch_id, input_file_id
FROM rewrite_batches
WHERE reconciled_at > now() - interval '1 day' AND state NOT IN ('planned', 'uploaded', 'create_sent')
ORDER BY planned_at
