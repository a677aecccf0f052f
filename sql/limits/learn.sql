-- The enqueued-token limit that the provider itself named, with the date. The newest word counts.
INSERT INTO model_limits (model, enqueued_tokens, learned_at)
VALUES (%(model)s, %(enqueued_tokens)s, now())
ON CONFLICT (model) DO UPDATE
SET enqueued_tokens = excluded.enqueued_tokens, learned_at = excluded.learned_at, updated_at = now()
