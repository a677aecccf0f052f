-- The days of items with their rows and a fingerprint: xmin changes with every change of a row. Reads only.
SELECT
    (coalesce(decided_at, created_at) AT TIME ZONE 'UTC')::date AS day,
    count(*),
    sum(hashint8(xmin::text::bigint))::text
FROM rewrite_batch_items
WHERE coalesce(decided_at, created_at) >= %(since)s AND coalesce(decided_at, created_at) < %(until)s
GROUP BY day
ORDER BY day
