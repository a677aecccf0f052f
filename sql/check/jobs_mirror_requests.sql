-- A job says the same as its request: recipient, snapshots, surface, strength, lane, languages and policy version.
-- A job whose request is gone is broken too: they leave together.
WITH broken AS MATERIALIZED (
    SELECT j.job_id::text AS id
    FROM rewrite_jobs AS j
    LEFT JOIN rewrite_requests AS r ON j.rewrite_request_id = r.rewrite_request_id
    WHERE
        r.rewrite_request_id IS NULL
        OR j.recipient_user_id <> r.recipient_user_id
        OR j.recipient_snapshot_id IS DISTINCT FROM r.recipient_snapshot_id
        OR j.recipient_preference_snapshot_id IS DISTINCT FROM r.recipient_preference_snapshot_id
        OR j.surface <> r.surface
        OR j.rewrite_strength <> r.rewrite_strength
        OR j.lane <> r.lane
        OR j.language_pair IS DISTINCT FROM jsonb_build_object('from', r.source_locale, 'to', r.target_locale)
        OR j.routing_decision ->> 'policy_version' IS DISTINCT FROM r.policy_version
)

SELECT
    (SELECT count(*) FROM broken) AS broken,
    ARRAY(SELECT id FROM broken ORDER BY id LIMIT 20) AS sample
