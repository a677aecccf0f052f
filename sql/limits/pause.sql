-- No work for this model until the time given; a later time wins, so a repeat changes nothing.
INSERT INTO model_limits (model, paused_until, pause_reason)
VALUES (%(model)s, now() + make_interval(secs => %(seconds)s), %(reason)s)
ON CONFLICT (model) DO UPDATE
SET paused_until = excluded.paused_until, pause_reason = excluded.pause_reason, updated_at = now()
WHERE model_limits.paused_until IS NULL OR model_limits.paused_until < excluded.paused_until
