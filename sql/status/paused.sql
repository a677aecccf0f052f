-- Reads the models that wait, why, and until when. Moves nothing.
SELECT
    model,
    pause_reason,
    paused_until
FROM model_limits
WHERE paused_until > now()
ORDER BY model
