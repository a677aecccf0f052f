-- The days of batches with their rows and a fingerprint of both tables: xmin changes with every change of a row. Reads only.
SELECT
    (b.planned_at AT TIME ZONE 'UTC')::date AS day,
    count(*),
    sum(hashint8(b.xmin::text::bigint) + 31 * coalesce(hashint8(t.xmin::text::bigint)::bigint, 0))::text
FROM rewrite_batches AS b
LEFT JOIN token_reservations AS t ON b.batch_id = t.batch_id
WHERE b.planned_at >= %(since)s AND b.planned_at < %(until)s
GROUP BY day
ORDER BY day
