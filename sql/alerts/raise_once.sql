-- What a person must see once, such as money that is spent: acknowledged or not, it is not raised again under its key.
INSERT INTO rewrite_alerts (alert_key, kind, run_id, batch_id, batch_item_index, job_id, codes)
SELECT
    %(alert_key)s::text, %(kind)s::reason_code, %(run_id)s::uuid, %(batch_id)s::uuid, %(batch_item_index)s::int,
    %(job_id)s::uuid, %(codes)s::reason_code[]
WHERE NOT EXISTS (SELECT FROM rewrite_alerts WHERE alert_key = %(alert_key)s)
ON CONFLICT (alert_key) WHERE acknowledged_at IS NULL DO NOTHING
