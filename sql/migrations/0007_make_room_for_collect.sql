-- What collect needs: when a batch was last polled, what the provider says it used, each item's own time at the
-- provider; and the way back to the queue that costs a unit nothing, neither an attempt nor a claim.
SET LOCAL ROLE rewrite_owner;

ALTER TABLE rewrite_batches
ADD COLUMN polled_at timestamptz, -- one run looks at a batch once
ADD COLUMN provider_input_tokens bigint, -- the provider's own sums, and what the lines say beyond them
ADD COLUMN provider_output_tokens bigint,
ADD COLUMN usage_difference bigint;

ALTER TABLE rewrite_batch_items ADD COLUMN answered_at timestamptz; -- the provider's clock

-- As in 0004, but for the rule on claims.
CREATE OR REPLACE FUNCTION check_job_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken record;
BEGIN
    EXECUTE $query$
        SELECT job_id, from_status, to_status, rule
        FROM (
            SELECT
                n.job_id,
                o.status AS from_status,
                n.status AS to_status,
                CASE
                    WHEN o.status IN ('completed', 'failed', 'canceled') THEN 'a final state never changes'
                    WHEN o.provider_batch_id IS DISTINCT FROM n.provider_batch_id AND o.provider_batch_id IS NOT NULL
                        THEN 'provider_batch_id is written once'
                    -- A release that is not the job's doing (no room, provider away) gives the claim back; so does a
                    -- return of a batch that the provider refused whole, together with the attempt.
                    WHEN
                        n.claim_count <> o.claim_count + (o.status = 'queued' AND n.status = 'processing')::int
                        AND NOT (
                            (o.status, n.status) = ('processing', 'queued') AND n.claim_count = o.claim_count - 1
                        )
                        AND NOT (
                            (o.status, n.status) = ('batch_submitted', 'queued')
                            AND n.claim_count = o.claim_count - 1
                            AND n.attempt_count = o.attempt_count - 1
                        )
                        THEN 'claim_count rises by one with each claim, and only then'
                    WHEN o.provider_batch_id IS DISTINCT FROM n.provider_batch_id AND n.status <> 'batch_submitted'
                        THEN 'provider_batch_id comes with batch_submitted'
                    WHEN
                        n.status = 'batch_submitted'
                        AND o.status <> 'batch_submitted'
                        AND NOT EXISTS (
                            SELECT FROM rewrite_batch_items AS i
                            WHERE
                                i.job_id = n.job_id
                                AND i.batch_id = n.batch_id
                                AND i.outcome IS NULL
                                AND i.attempt = n.attempt_count
                        )
                        THEN 'it is no item of its batch'
                    WHEN o.status = 'batch_submitted' AND n.status = o.status AND n.batch_id <> o.batch_id
                        THEN 'it stays in its batch'
                    WHEN n.status = 'canceled' AND n.attempt_count = o.attempt_count THEN NULL
                    WHEN
                        (o.status, n.status) = ('processing', 'batch_submitted')
                        AND n.attempt_count = o.attempt_count + 1 THEN NULL
                    -- The provider ran nothing (it refused the whole batch): the attempt is given back.
                    WHEN
                        (o.status, n.status) = ('batch_submitted', 'queued')
                        AND n.attempt_count = o.attempt_count - 1
                        AND NOT EXISTS (
                            SELECT FROM provider_calls AS c
                            WHERE c.rewrite_request_id = n.rewrite_request_id AND c.batch_id = o.batch_id
                        ) THEN NULL
                    WHEN n.attempt_count <> o.attempt_count THEN 'an attempt is one trip to the provider'
                    WHEN (o.status, n.status) = ('batch_submitted', 'queued') AND n.attempt_count >= n.max_attempts
                        THEN 'no attempt is left'
                    WHEN (o.status, n.status) = ('batch_submitted', 'queued') AND n.not_before_at IS NULL
                        THEN 'a retry has a time before which it does not run'
                    WHEN
                        o.status = n.status
                        OR (o.status, n.status) IN (
                            ('queued', 'processing'),
                            ('processing', 'queued'),
                            ('processing', 'failed'),
                            ('batch_submitted', 'queued'),
                            ('batch_submitted', 'completed'),
                            ('batch_submitted', 'failed')
                        ) THEN NULL
                    ELSE 'no such transition'
                END AS rule
            FROM old_rows AS o
            INNER JOIN new_rows AS n ON o.job_id = n.job_id
        ) AS judged
        WHERE rule IS NOT NULL
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken.rule IS NOT NULL THEN
        RAISE EXCEPTION 'job %: % -> %: %', broken.job_id, broken.from_status, broken.to_status, broken.rule
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_jobs_transition', TABLE = 'rewrite_jobs';
    END IF;

    EXECUTE $query$
        INSERT INTO rewrite_job_events (
            job_id, rewrite_request_id, from_status, to_status, attempt, reason, run_id, batch_id, actor
        )
        SELECT
            n.job_id,
            n.rewrite_request_id,
            o.status,
            n.status,
            n.attempt_count,
            CASE WHEN n.status IN ('queued', 'failed', 'canceled') THEN n.last_error END,
            nullif(current_setting('rewrite_batch.run_id', true), '')::uuid,
            coalesce(n.batch_id, o.batch_id),
            session_user
        FROM old_rows AS o
        INNER JOIN new_rows AS n ON o.job_id = n.job_id
        WHERE o.status <> n.status
    $query$;
    RETURN NULL;
END
$$;

-- The next three ask what they asked in 0004. But with ORDER BY and LIMIT beside a join, the planner walks the index of a
-- whole table in that order and hopes to stop early, and a good statement never lets it stop: the cost of each chunk grew
-- with the table. Inside MATERIALIZED the join is planned for all its rows, and those are few.
CREATE OR REPLACE FUNCTION check_output_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken record;
BEGIN
    EXECUTE $query$
        WITH judged AS MATERIALIZED (
            SELECT
                n.rewrite_request_id,
                CASE
                    WHEN j.status IS DISTINCT FROM 'completed' THEN 'output without a completed job'
                    WHEN n.target_locale <> r.target_locale THEN 'output for another target_locale than the request''s'
                    WHEN n.policy_version <> r.policy_version THEN 'output under another policy_version than the request''s'
                    WHEN
                        (n.provider, n.model, n.prompt_version) IS DISTINCT FROM (
                            j.routing_decision ->> 'provider',
                            j.routing_decision ->> 'model',
                            j.routing_decision ->> 'prompt_version'
                        ) THEN 'output of another provider, model or prompt than the job was routed to'
                    WHEN NOT holds_no_words(n.eval_result) THEN 'eval_result holds more than codes'
                END AS rule
            FROM new_rows AS n
            INNER JOIN rewrite_requests AS r ON n.rewrite_request_id = r.rewrite_request_id
            LEFT JOIN rewrite_jobs AS j
                ON n.rewrite_request_id = j.rewrite_request_id AND n.recipient_user_id = j.recipient_user_id
        )

        SELECT rewrite_request_id, rule
        FROM judged
        WHERE rule IS NOT NULL
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken.rule IS NOT NULL THEN
        RAISE EXCEPTION 'request %: %', broken.rewrite_request_id, broken.rule
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_outputs_completed', TABLE = 'rewrite_outputs';
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION check_request_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        WITH broken AS MATERIALIZED (
            SELECT n.rewrite_request_id
            FROM new_rows AS n
            LEFT JOIN rewrite_jobs AS j ON n.rewrite_request_id = j.rewrite_request_id
            WHERE
                (n.status = 'completed' AND j.status IS DISTINCT FROM 'completed')
                OR (n.status IN ('failed', 'canceled') AND j.status NOT IN ('completed', 'failed', 'canceled'))
        )

        SELECT rewrite_request_id
        FROM broken
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'request %: it is final only when its jobs are', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_requests_follow_jobs', TABLE = 'rewrite_requests';
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION check_completed_has_output() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        WITH broken AS MATERIALIZED (
            SELECT n.job_id
            FROM new_rows AS n
            WHERE
                n.status = 'completed'
                AND NOT EXISTS (
                    SELECT FROM rewrite_outputs AS o
                    WHERE o.rewrite_request_id = n.rewrite_request_id AND o.recipient_user_id = n.recipient_user_id
                )
        )

        SELECT job_id
        FROM broken
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'job %: completed without an output', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_jobs_completed_has_output', TABLE = 'rewrite_jobs';
    END IF;
    RETURN NULL;
END
$$;
