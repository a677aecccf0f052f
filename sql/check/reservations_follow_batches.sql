-- Each batch has a reservation, open while the batch is on its way or at the provider and closed once it is over.
-- Of a finished batch it may be either: its results are being counted. Abandoned means released: nothing was run.
WITH broken AS MATERIALIZED (
    SELECT b.batch_id::text AS id
    FROM rewrite_batches AS b
    LEFT JOIN token_reservations AS t ON b.batch_id = t.batch_id
    WHERE
        CASE
            WHEN t.batch_id IS NULL THEN true
            WHEN b.state = 'abandoned' THEN t.state <> 'released'
            WHEN b.state = 'settled' THEN t.state = 'open'
            WHEN b.state = 'finished' THEN false
            ELSE t.state <> 'open'
        END
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
