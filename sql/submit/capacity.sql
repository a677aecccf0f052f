-- Reads what is in flight and spent, by the database's clock; days and months are UTC. Moves nothing.
-- Without a cap nobody asks what was spent, and the ledger is not read. A batch that is about to be created counts as
-- created, or several runs at once would pass the limit of an hour together.
SELECT
    (SELECT coalesce(jsonb_object_agg(model, tokens), '{}') FROM (
        SELECT model, sum(reserved_tokens) AS tokens FROM token_reservations WHERE state = 'open' GROUP BY model
    ) AS t) AS open_tokens,
    (SELECT coalesce(sum(reserved_usd), 0) FROM token_reservations WHERE state = 'open') AS open_usd,
    (
        SELECT coalesce(sum(cost_usd), 0) FROM provider_calls
        WHERE %(counts_money)s AND created_at >= date_trunc('day', now(), 'UTC')
    ) AS day_usd,
    (
        SELECT coalesce(sum(cost_usd), 0) FROM provider_calls
        WHERE %(counts_money)s AND created_at >= date_trunc('month', now(), 'UTC')
    ) AS month_usd,
    (
        SELECT count(*) FROM rewrite_batches
        WHERE create_sent_at >= now() - interval '1 hour' OR state IN ('planned', 'uploaded')
    ) AS creations_last_hour,
    (SELECT coalesce(jsonb_object_agg(model, enqueued_tokens), '{}') FROM model_limits
        WHERE enqueued_tokens IS NOT NULL) AS learned_limits,
    (SELECT coalesce(jsonb_object_agg(model, pause_reason), '{}') FROM model_limits
        WHERE paused_until > now()) AS paused
