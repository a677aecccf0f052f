-- What a person must see. The same trouble seen again, under the same key, is one alert until somebody acknowledges it.
INSERT INTO rewrite_alerts (alert_key, kind, run_id, batch_id, batch_item_index, job_id, codes)
VALUES (%(alert_key)s, %(kind)s, %(run_id)s, %(batch_id)s, %(batch_item_index)s, %(job_id)s, %(codes)s)
ON CONFLICT (alert_key) WHERE acknowledged_at IS NULL DO NOTHING
