-- One day of alerts, by the time they were raised. Reads only. Who acknowledged one is left out.
SELECT
    alert_id,
    kind,
    run_id,
    batch_id,
    batch_item_index,
    job_id,
    array_to_string(codes::text[], ','),
    created_at AT TIME ZONE 'UTC',
    acknowledged_at AT TIME ZONE 'UTC'
FROM rewrite_alerts
WHERE created_at >= %(since)s AND created_at < %(until)s
