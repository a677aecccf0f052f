-- Each batch that was planned in the period: how it ended, what was set aside for it, and what its ledger says.
-- DuckDB; reads only.
WITH trips AS (
    SELECT
        batch_id,
        count(*) FILTER (outcome = 'kept') AS completed,
        count(*) FILTER (outcome IN ('transient', 'permanent')) AS failed,
        count(*) FILTER (outcome IS NULL) AS undecided
    FROM items
    GROUP BY ALL
),

money AS (
    SELECT batch_id, sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced_calls
    FROM calls
    GROUP BY ALL
)

SELECT
    b.planned_at,
    b.batch_id,
    b.model,
    b.state,
    b.provider_status,
    b.item_count AS items,
    coalesce(t.completed, 0) AS completed,
    coalesce(t.failed, 0) AS failed,
    coalesce(t.undecided, 0) AS undecided,
    b.reservation_state,
    b.reserved_usd,
    b.settled_usd,
    m.cost_usd,
    coalesce(m.unpriced_calls, 0) AS unpriced_calls,
    CASE WHEN b.state = 'settled' THEN coalesce(m.cost_usd, 0) - coalesce(b.settled_usd, 0) END AS ledger_less_settled_usd,
    round(epoch(b.submitted_at - b.planned_at), 3) AS to_submit_s,
    round(epoch(b.finished_at - b.submitted_at), 3) AS at_provider_s,
    round(epoch(b.settled_at - b.finished_at), 3) AS to_settle_s
FROM batches AS b
LEFT JOIN trips AS t USING (batch_id)
LEFT JOIN money AS m USING (batch_id)
WHERE b.planned_at >= getvariable('since') AND b.planned_at < getvariable('until')
ORDER BY b.planned_at DESC, b.batch_id
