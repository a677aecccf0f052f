"""The same questions as sql/report/, asked of PostgreSQL in plain SQL of its own: another engine, other statements."""

TRIPS = """
    count(*) AS items, count(*) FILTER (WHERE outcome = 'kept') AS completed,
    count(*) FILTER (WHERE outcome IN ('transient', 'permanent')) AS failed,
    count(*) FILTER (WHERE attempt > 1) AS retried
    FROM rewrite_batch_items WHERE decided_at >= %(since)s AND decided_at < %(until)s
    AND outcome IN ('kept', 'transient', 'permanent', 'dropped')
"""
COST_BY_LANGUAGE_PAIR = f"""
WITH pairs AS (
    SELECT source_locale AS s, target_locale AS t FROM rewrite_batch_items WHERE decided_at >= %(since)s
        AND decided_at < %(until)s AND outcome IN ('kept', 'transient', 'permanent', 'dropped')
    UNION SELECT source_locale, target_locale FROM provider_calls WHERE created_at >= %(before)s AND created_at < %(until)s
), trips AS (SELECT source_locale AS s, target_locale AS t, {TRIPS} GROUP BY 1, 2),
now AS (
    SELECT source_locale AS s, target_locale AS t, sum(input_tokens) AS i, sum(cached_tokens) AS c,
        sum(cache_write_tokens) AS w, sum(output_tokens) AS o, sum(reasoning_tokens) AS r, sum(cost_usd) AS usd,
        sum((cost_usd IS NULL)::int) AS unpriced
    FROM provider_calls WHERE created_at >= %(since)s AND created_at < %(until)s GROUP BY 1, 2
), old AS (
    SELECT source_locale AS s, target_locale AS t, sum(cost_usd) AS usd
    FROM provider_calls WHERE created_at >= %(before)s AND created_at < %(since)s GROUP BY 1, 2
)
SELECT s, t, coalesce(items, 0), coalesce(completed, 0), coalesce(failed, 0), coalesce(retried, 0), coalesce(i, 0),
    coalesce(c, 0), coalesce(w, 0), coalesce(o, 0), coalesce(r, 0), paid.usd, coalesce(unpriced, 0),
    round(paid.usd / nullif(completed, 0), 9), round(paid.usd / nullif((SELECT sum(usd) FROM now), 0), 6), old.usd,
    round((paid.usd - old.usd) / nullif(old.usd, 0), 6)
FROM pairs LEFT JOIN trips USING (s, t) LEFT JOIN now USING (s, t) LEFT JOIN old USING (s, t),
LATERAL (SELECT CASE WHEN i IS NULL THEN 0 ELSE now.usd END AS usd) AS paid
"""
COST_BY_MODEL = """
WITH models AS (SELECT DISTINCT provider, model FROM provider_calls WHERE created_at >= %(before)s AND created_at < %(until)s),
now AS (
    SELECT provider, model, count(*) AS n, sum(input_tokens) AS i, sum(cached_tokens) AS c, sum(cache_write_tokens) AS w,
        sum(output_tokens) AS o, sum(reasoning_tokens) AS r, sum(cost_usd) AS usd, sum((cost_usd IS NULL)::int) AS u,
        string_agg(DISTINCT price_version, ',' ORDER BY price_version) AS versions
    FROM provider_calls WHERE created_at >= %(since)s AND created_at < %(until)s GROUP BY 1, 2
), old AS (
    SELECT provider, model, sum(cost_usd) AS usd FROM provider_calls
    WHERE created_at >= %(before)s AND created_at < %(since)s GROUP BY 1, 2
)
SELECT provider, model, coalesce(n, 0), coalesce(i, 0), coalesce(c, 0), coalesce(w, 0), coalesce(o, 0), coalesce(r, 0),
    paid.usd, coalesce(u, 0), round(now.usd / nullif(n - u, 0), 9), round(paid.usd / nullif((SELECT sum(usd) FROM now), 0), 6),
    old.usd, round((paid.usd - old.usd) / nullif(old.usd, 0), 6), versions
FROM models LEFT JOIN now USING (provider, model) LEFT JOIN old USING (provider, model),
LATERAL (SELECT CASE WHEN n IS NULL THEN 0 ELSE now.usd END AS usd) AS paid
"""
COST_BY_DAY = f"""
WITH days AS (
    SELECT d::date AS day FROM generate_series(%(since)s::date, %(until)s::date - 1, interval '1 day') AS d
), trips AS (SELECT (decided_at AT TIME ZONE 'UTC')::date AS day, {TRIPS} GROUP BY 1),
now AS (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS n, sum(input_tokens) AS i, sum(cached_tokens) AS c,
        sum(output_tokens) AS o, sum(cost_usd) AS usd, sum((cost_usd IS NULL)::int) AS u
    FROM provider_calls WHERE created_at >= %(since)s AND created_at < %(until)s GROUP BY 1
)
SELECT day, coalesce(items, 0), coalesce(completed, 0), coalesce(failed, 0), coalesce(retried, 0), coalesce(n, 0),
    coalesce(i, 0), coalesce(c, 0), coalesce(o, 0), CASE WHEN n > 0 THEN usd ELSE 0 END, coalesce(u, 0),
    (SELECT coalesce(sum(usd), 0) FROM now AS earlier WHERE earlier.day <= days.day)
FROM days LEFT JOIN trips USING (day) LEFT JOIN now USING (day)
"""
RELIABILITY = """
WITH ended AS (
    SELECT language_pair ->> 'from' AS s, language_pair ->> 'to' AS t, status, attempt_count, last_error,
        extract(EPOCH FROM finished_at - created_at)::float8 AS took
    FROM rewrite_jobs WHERE finished_at >= %(since)s AND finished_at < %(until)s
), whys AS (
    SELECT s, t, string_agg(last_error || ':' || n, ' ' ORDER BY n DESC, last_error) AS reasons
    FROM (SELECT s, t, last_error, count(*) AS n FROM ended WHERE status = 'failed' GROUP BY 1, 2, 3) AS x GROUP BY 1, 2
), summed AS (
    SELECT s, t, sum((status <> 'canceled')::int) AS units, sum((status = 'completed')::int) AS done,
        sum((status = 'completed' AND attempt_count = 1)::int) AS first,
        sum((status = 'completed' AND attempt_count > 1)::int) AS later, sum((status = 'failed')::int) AS failed,
        sum((status = 'canceled')::int) AS canceled,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY took) FILTER (WHERE status = 'completed') AS p50,
        percentile_cont(0.95) WITHIN GROUP (ORDER BY took) FILTER (WHERE status = 'completed') AS p95,
        percentile_cont(0.99) WITHIN GROUP (ORDER BY took) FILTER (WHERE status = 'completed') AS p99
    FROM ended GROUP BY 1, 2
)
SELECT s, t, units, done, first, later, failed, canceled, round(first::numeric / nullif(units, 0), 6),
    round(done::numeric / nullif(units, 0), 6), p50, p95, p99, reasons
FROM summed LEFT JOIN whys USING (s, t)
"""
BATCHES = """
SELECT b.planned_at AT TIME ZONE 'UTC', b.batch_id, b.model, b.state, b.provider_status, b.item_count,
    (SELECT count(*) FROM rewrite_batch_items i WHERE i.batch_id = b.batch_id AND i.outcome = 'kept'),
    (SELECT count(*) FROM rewrite_batch_items i WHERE i.batch_id = b.batch_id AND i.outcome IN ('transient', 'permanent')),
    (SELECT count(*) FROM rewrite_batch_items i WHERE i.batch_id = b.batch_id AND i.outcome IS NULL),
    t.state, t.reserved_usd, t.settled_usd,
    (SELECT sum(cost_usd) FROM provider_calls c WHERE c.batch_id = b.batch_id),
    (SELECT count(*) FROM provider_calls c WHERE c.batch_id = b.batch_id AND cost_usd IS NULL),
    CASE WHEN b.state = 'settled' THEN
        coalesce((SELECT sum(cost_usd) FROM provider_calls c WHERE c.batch_id = b.batch_id), 0) - coalesce(t.settled_usd, 0)
    END,
    extract(EPOCH FROM b.submitted_at - b.planned_at)::float8, extract(EPOCH FROM b.finished_at - b.submitted_at)::float8,
    extract(EPOCH FROM b.settled_at - b.finished_at)::float8
FROM rewrite_batches b LEFT JOIN token_reservations t USING (batch_id)
WHERE b.planned_at >= %(since)s AND b.planned_at < %(until)s
"""
FUNNEL = """
SELECT stage, n, round(n::numeric / nullif((SELECT count(*) FROM rewrite_jobs WHERE created_at >= %(since)s AND created_at < %(until)s), 0), 6)
FROM (VALUES ('queued', true), ('sent', false), ('ended', false), ('completed', false)) AS x (stage, _),
LATERAL (SELECT count(*) AS n FROM rewrite_jobs WHERE created_at >= %(since)s AND created_at < %(until)s AND CASE stage
    WHEN 'queued' THEN true WHEN 'sent' THEN attempt_count > 0 WHEN 'ended' THEN finished_at IS NOT NULL
    ELSE status = 'completed' END) AS y
"""
LATENCY = """
SELECT (finished_at AT TIME ZONE 'UTC')::date, count(*),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(EPOCH FROM finished_at - created_at)::float8),
    percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(EPOCH FROM finished_at - created_at)::float8),
    percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(EPOCH FROM finished_at - created_at)::float8)
FROM rewrite_jobs WHERE status = 'completed' AND finished_at >= %(since)s AND finished_at < %(until)s GROUP BY 1
"""
REASONS = """
WITH trips AS (
    SELECT outcome, reason, count(*) AS n FROM rewrite_batch_items WHERE decided_at >= %(since)s AND decided_at < %(until)s
        AND outcome <> 'kept' GROUP BY 1, 2
), units AS (
    SELECT last_error AS reason, count(*) AS n FROM rewrite_jobs WHERE status = 'failed' AND finished_at >= %(since)s
        AND finished_at < %(until)s GROUP BY 1
)
SELECT reason, outcome, coalesce(trips.n, 0), coalesce(units.n, 0) FROM trips FULL JOIN units USING (reason)
"""
VIOLATIONS = """
WITH judged AS (
    SELECT target_locale AS t, violations FROM rewrite_batch_items
    WHERE violations IS NOT NULL AND decided_at >= %(since)s AND decided_at < %(until)s
)
SELECT t, code, CASE WHEN code LIKE '%%\\_warn' THEN 'warn' ELSE 'hard' END, count(*),
    (SELECT count(*) FROM judged AS all_of_it WHERE all_of_it.t = fired.t),
    round(count(*)::numeric / (SELECT count(*) FROM judged AS all_of_it WHERE all_of_it.t = fired.t), 6)
FROM (SELECT t, unnest(violations)::text AS code FROM judged) AS fired GROUP BY t, code
"""
# Written as one lookup a cell, unlike the report's joins.
QUALITY = """
WITH judged AS (
    SELECT j.routing_decision ->> 'prompt_version' AS p, i.lexicon_version::text AS l, i.source_locale AS s,
        i.target_locale AS t, i.violations::text[] AS v, i.decided_at AS at
    FROM rewrite_batch_items i JOIN rewrite_jobs j USING (job_id) WHERE i.violations IS NOT NULL AND i.decided_at < %(until)s
), seen AS (SELECT t, p, l, min(at) AS first FROM judged GROUP BY 1, 2, 3),
versions AS (SELECT t, p, l, lag(p) OVER w AS pp, lag(l) OVER w AS pl FROM seen WINDOW w AS (PARTITION BY t ORDER BY first, p, l)),
codes AS (SELECT DISTINCT unnest(v) AS code FROM judged UNION SELECT 'any'),
cells AS (
    SELECT g.p, g.l, g.s, g.t, code, pp, pl,
        (SELECT count(*) FROM judged j WHERE (j.p, j.l, j.s, j.t) = (g.p, g.l, g.s, g.t) AND at >= %(since)s) AS judged,
        (SELECT count(*) FROM judged j WHERE (j.p, j.l, j.s, j.t) = (g.p, g.l, g.s, g.t) AND at >= %(since)s
            AND (code = ANY (v) OR (code = 'any' AND cardinality(v) > 0))) AS hit,
        (SELECT count(*) FROM judged j WHERE (j.p, j.l, j.s, j.t) = (pp, pl, g.s, g.t)) AS old_judged,
        (SELECT count(*) FROM judged j WHERE (j.p, j.l, j.s, j.t) = (pp, pl, g.s, g.t)
            AND (code = ANY (v) OR (code = 'any' AND cardinality(v) > 0))) AS old_hit
    FROM (SELECT DISTINCT p, l, s, t FROM judged) AS g JOIN versions USING (t, p, l), codes
)
SELECT p, l, s, t, code,
    CASE WHEN code = 'any' THEN NULL WHEN code LIKE '%%\\_warn' THEN 'warn' ELSE 'hard' END, judged, hit,
    round(hit::numeric / judged, 6), pp, pl, round(old_hit::numeric / nullif(old_judged, 0), 6),
    round(hit::numeric / judged - old_hit::numeric / nullif(old_judged, 0), 6)
FROM cells WHERE judged > 0 AND (hit > 0 OR old_hit > 0 OR code = 'any')
"""
QUESTIONS = {
    "cost-by-language-pair": COST_BY_LANGUAGE_PAIR,
    "cost-by-model": COST_BY_MODEL,
    "cost-by-day": COST_BY_DAY,
    "reliability": RELIABILITY,
    "batches": BATCHES,
    "funnel": FUNNEL,
    "latency": LATENCY,
    "reasons": REASONS,
    "violations": VIOLATIONS,
    "quality": QUALITY,
}
