-- Rules that hold whoever writes. Guards on hot tables fire once a statement and judge all its rows as a set
-- (transition tables), so that a bulk write stays one. Three kinds:
--   1. columns that nobody may name in an UPDATE, rows that nobody may change or remove;
--   2. the state machine, with one event row a transition;
--   3. `completed` <=> output: both sides are judged at the end of the statement, so one statement must write both.
-- Messages name ids and states, never a value that could be text.
SET LOCAL ROLE rewrite_owner;

CREATE FUNCTION refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% on %: these rows or columns are written once', lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END
$$;

-- 1. Written once.
CREATE TRIGGER rewrite_outputs_immutable BEFORE UPDATE OR TRUNCATE ON rewrite_outputs
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER recipient_snapshots_immutable BEFORE UPDATE OR TRUNCATE ON recipient_snapshots
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER recipient_preference_snapshots_immutable BEFORE UPDATE OR TRUNCATE ON recipient_preference_snapshots
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER rewrite_job_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON rewrite_job_events
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER provider_calls_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON provider_calls
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER rewrite_requests_no_truncate BEFORE TRUNCATE ON rewrite_requests
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER rewrite_jobs_no_truncate BEFORE TRUNCATE ON rewrite_jobs
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER rewrite_requests_immutable
BEFORE UPDATE OF
    rewrite_request_id, home_id, sender_user_id, recipient_user_id, surface, original_text, source_locale,
    target_locale, lane, topics, intent, rewrite_strength, classifier_result, context_pack, rewrite_request,
    classifier_version, context_pack_version, policy_version, created_at
ON rewrite_requests
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The contract lets the snapshot ids be null at insert: they may be filled in, once.
CREATE TRIGGER rewrite_requests_snapshots_once
BEFORE UPDATE OF recipient_snapshot_id, recipient_preference_snapshot_id ON rewrite_requests
FOR EACH ROW
WHEN (
    (old.recipient_snapshot_id IS NOT NULL AND old.recipient_snapshot_id IS DISTINCT FROM new.recipient_snapshot_id)
    OR (
        old.recipient_preference_snapshot_id IS NOT NULL
        AND old.recipient_preference_snapshot_id IS DISTINCT FROM new.recipient_preference_snapshot_id
    )
)
EXECUTE FUNCTION refuse_change();

CREATE TRIGGER rewrite_jobs_immutable
BEFORE UPDATE OF
    job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id, recipient_preference_snapshot_id, task,
    surface, rewrite_strength, language_pair, lane, routing_decision, max_attempts, created_at
ON rewrite_jobs
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER rewrite_batch_items_immutable
BEFORE UPDATE OF
    batch_id, batch_item_index, job_id, rewrite_request_id, recipient_user_id, batch_group_key, source_locale,
    target_locale, attempt, input_chars, estimated_input_tokens, estimated_output_tokens, created_at
ON rewrite_batch_items
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Old names and aliases are folded on the way in; the WHEN clause keeps it free for everybody else.
CREATE FUNCTION fold_aliases() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    new.surface := CASE new.surface WHEN 'weekly_harmony' THEN 'weekly_feedback' ELSE new.surface END;
    new.status := CASE new.status WHEN 'running' THEN 'processing' WHEN 'succeeded' THEN 'completed' ELSE new.status END;
    RETURN new;
END
$$;

CREATE TRIGGER rewrite_jobs_fold_aliases BEFORE INSERT ON rewrite_jobs
FOR EACH ROW WHEN (new.surface = 'weekly_harmony' OR new.status IN ('running', 'succeeded'))
EXECUTE FUNCTION fold_aliases();
CREATE TRIGGER rewrite_requests_fold_aliases BEFORE INSERT ON rewrite_requests
FOR EACH ROW WHEN (new.surface = 'weekly_harmony' OR new.status IN ('running', 'succeeded'))
EXECUTE FUNCTION fold_aliases();

-- A failed CHECK or NOT NULL puts the whole row into the server's log. On the two tables that hold words, what a worker
-- can get wrong is refused before that, and without the row.
CREATE FUNCTION refuse_row() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'request %: this row of % breaks the rule %', new.rewrite_request_id, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_ARGV[0], TABLE = TG_TABLE_NAME;
END
$$;

CREATE TRIGGER rewrite_requests_quiet BEFORE UPDATE OF status, rewrite_completed_at, updated_at ON rewrite_requests
FOR EACH ROW
WHEN (
    new.status IS NULL
    OR new.updated_at IS NULL
    OR new.status NOT IN ('queued', 'processing', 'batch_submitted', 'completed', 'failed', 'canceled')
    OR (new.status = 'completed') <> (new.rewrite_completed_at IS NOT NULL)
)
EXECUTE FUNCTION refuse_row('rewrite_requests_completed_has_time');

CREATE TRIGGER rewrite_outputs_quiet BEFORE INSERT ON rewrite_outputs
FOR EACH ROW
WHEN (
    new.output_language IS DISTINCT FROM new.target_locale
    OR new.rewritten_text IS NULL
    OR new.rewritten_text !~ '\S'
    OR num_nulls(
        new.recipient_user_id, new.target_locale, new.model, new.provider, new.prompt_version, new.policy_version,
        new.lexicon_version, new.eval_result, new.created_at
    ) > 0
)
EXECUTE FUNCTION refuse_row('rewrite_outputs_in_target_locale');

-- 2. Requests: the same states as their jobs; a final state never changes.
CREATE FUNCTION refuse_final_request() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'request %: % is final', old.rewrite_request_id, old.status
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END
$$;

CREATE TRIGGER rewrite_requests_final BEFORE UPDATE OF status, rewrite_completed_at ON rewrite_requests
FOR EACH ROW
WHEN (
    old.status IN ('completed', 'failed', 'canceled')
    AND (old.status IS DISTINCT FROM new.status OR old.rewrite_completed_at IS DISTINCT FROM new.rewrite_completed_at)
)
EXECUTE FUNCTION refuse_final_request();

-- A request is final only when its jobs are: completed when all of them are.
CREATE FUNCTION check_request_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        SELECT n.rewrite_request_id
        FROM new_rows AS n
        LEFT JOIN rewrite_jobs AS j ON n.rewrite_request_id = j.rewrite_request_id
        WHERE
            (n.status = 'completed' AND j.status IS DISTINCT FROM 'completed')
            OR (n.status IN ('failed', 'canceled') AND j.status NOT IN ('completed', 'failed', 'canceled'))
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

CREATE TRIGGER rewrite_requests_follow_jobs AFTER UPDATE ON rewrite_requests
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_request_update();

-- Jobs. EXECUTE plans each time on purpose: a cached plan made for one row is a nested loop, and a nested loop over
-- two transition tables of 50,000 rows does not end. ORDER BY before LIMIT 1 is for the planner too: without it, it
-- believes that the first row is broken, and takes the loop again.
CREATE FUNCTION check_job_update() RETURNS trigger
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
                    -- A release that is not the job's doing (no room, provider away) gives the claim back.
                    WHEN
                        n.claim_count <> o.claim_count + (o.status = 'queued' AND n.status = 'processing')::int
                        AND NOT (
                            (o.status, n.status) = ('processing', 'queued') AND n.claim_count = o.claim_count - 1
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

CREATE TRIGGER rewrite_jobs_transition AFTER UPDATE ON rewrite_jobs
REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_job_update();

-- A job mirrors its request (drift-free), and its routing decision holds the contract's keys and no others.
CREATE FUNCTION check_job_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken record;
BEGIN
    EXECUTE $query$
        SELECT job_id, rule
        FROM (
            SELECT
                n.job_id,
                CASE
                    WHEN
                        n.recipient_user_id <> r.recipient_user_id
                        OR n.recipient_snapshot_id IS DISTINCT FROM r.recipient_snapshot_id
                        OR n.recipient_preference_snapshot_id IS DISTINCT FROM r.recipient_preference_snapshot_id
                        OR n.surface <> r.surface
                        OR n.rewrite_strength <> r.rewrite_strength
                        OR n.lane <> r.lane
                        THEN 'it does not mirror its request'
                    WHEN n.language_pair <> jsonb_build_object('from', r.source_locale, 'to', r.target_locale)
                        THEN 'language_pair is not {from, to} of its request'
                    WHEN NOT s.recipient_user_ids @> ARRAY[n.recipient_user_id] OR s.home_id <> r.home_id
                        THEN 'its recipient is not in its recipient snapshot'
                    WHEN p.recipient_user_id <> n.recipient_user_id
                        THEN 'its preference snapshot is another recipient''s'
                    WHEN NOT (
                        n.routing_decision ?& ARRAY[
                            'provider', 'adapter_kind', 'model', 'prompt_version', 'policy_version', 'execution_mode',
                            'supports_translation', 'cache_eligible', 'max_retries'
                        ]
                        AND n.routing_decision - ARRAY[
                            'provider', 'adapter_kind', 'base_url', 'model', 'prompt_version', 'policy_version',
                            'execution_mode', 'supports_translation', 'cache_eligible', 'max_retries'
                        ] = '{}'
                    ) THEN 'its routing decision does not have exactly the keys of RoutingDecisionV1'
                    WHEN NOT holds_no_words(n.routing_decision) THEN 'its routing decision holds more than codes'
                    WHEN n.routing_decision ->> 'policy_version' <> r.policy_version
                        THEN 'its routing decision has another policy_version than its request'
                END AS rule
            FROM new_rows AS n
            INNER JOIN rewrite_requests AS r ON n.rewrite_request_id = r.rewrite_request_id
            INNER JOIN recipient_snapshots AS s ON n.recipient_snapshot_id = s.recipient_snapshot_id
            INNER JOIN recipient_preference_snapshots AS p
                ON n.recipient_preference_snapshot_id = p.recipient_preference_snapshot_id
        ) AS judged
        WHERE rule IS NOT NULL
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken.rule IS NOT NULL THEN
        RAISE EXCEPTION 'job %: %', broken.job_id, broken.rule
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_jobs_mirror', TABLE = 'rewrite_jobs';
    END IF;

    INSERT INTO rewrite_job_events (job_id, rewrite_request_id, to_status, attempt, reason, run_id, batch_id, actor)
    SELECT
        n.job_id,
        n.rewrite_request_id,
        n.status,
        n.attempt_count,
        n.last_error,
        nullif(current_setting('rewrite_batch.run_id', true), '')::uuid,
        n.batch_id,
        session_user
    FROM new_rows AS n;
    RETURN NULL;
END
$$;

CREATE TRIGGER rewrite_jobs_mirror AFTER INSERT ON rewrite_jobs
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_job_insert();

-- 3. completed <=> output. AFTER triggers of a statement with data-modifying CTEs fire at its very end, so a writer
-- puts the output and the state into one statement and both of these see both.
CREATE FUNCTION check_completed_has_output() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        SELECT n.job_id
        FROM new_rows AS n
        WHERE
            n.status = 'completed'
            AND NOT EXISTS (
                SELECT FROM rewrite_outputs AS o
                WHERE o.rewrite_request_id = n.rewrite_request_id AND o.recipient_user_id = n.recipient_user_id
            )
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

CREATE TRIGGER rewrite_jobs_completed_has_output AFTER UPDATE ON rewrite_jobs
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_completed_has_output();
CREATE TRIGGER rewrite_jobs_imported_completed_has_output AFTER INSERT ON rewrite_jobs
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_completed_has_output();

CREATE FUNCTION check_output_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken record;
BEGIN
    EXECUTE $query$
        SELECT rewrite_request_id, rule
        FROM (
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
        ) AS judged
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

CREATE TRIGGER rewrite_outputs_completed AFTER INSERT ON rewrite_outputs
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_output_insert();

-- An output or a job leaves only together with its request (erasure): the cascade has already removed the parent.
CREATE FUNCTION check_leaves_with_request() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        SELECT o.rewrite_request_id
        FROM old_rows AS o
        INNER JOIN rewrite_requests AS r ON o.rewrite_request_id = r.rewrite_request_id
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'request %: rows of % leave only together with their request', broken, TG_TABLE_NAME
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER rewrite_outputs_leave_with_request AFTER DELETE ON rewrite_outputs
REFERENCING OLD TABLE AS old_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_leaves_with_request();
CREATE TRIGGER rewrite_jobs_leave_with_request AFTER DELETE ON rewrite_jobs
REFERENCING OLD TABLE AS old_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_leaves_with_request();

-- A request's text exists twice, as a column and inside the serialised request: they must be the same words.
CREATE FUNCTION check_request_insert() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        SELECT n.rewrite_request_id
        FROM new_rows AS n
        WHERE
            n.rewrite_request ->> 'original_text' IS DISTINCT FROM n.original_text
            OR lower(n.rewrite_request ->> 'rewrite_request_id') IS DISTINCT FROM n.rewrite_request_id::text
            OR lower(n.rewrite_request ->> 'recipient_user_id') IS DISTINCT FROM n.recipient_user_id::text
            OR n.original_text !~ '\S'
            OR NOT holds_no_words(n.classifier_result)
            -- Exactly the contract's keys: no routing hint, nothing that nobody reads.
            OR n.rewrite_request - ARRAY[
                'rewrite_request_id', 'home_id', 'sender_user_id', 'recipient_user_id', 'recipient_snapshot_id',
                'recipient_preference_snapshot_id', 'surface', 'original_text', 'topics', 'intent', 'rewrite_strength',
                'source_locale', 'target_locale', 'lane', 'classifier_result', 'context_pack', 'policy',
                'classifier_version', 'context_pack_version', 'policy_version', 'created_at'
            ] <> '{}'
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'request %: rewrite_request does not agree with its columns or with the contract', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_requests_mirror', TABLE = 'rewrite_requests';
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER rewrite_requests_mirror AFTER INSERT ON rewrite_requests
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_request_insert();

-- Items: an outcome is written once.
CREATE FUNCTION check_item_update() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken record;
BEGIN
    SELECT batch_id, batch_item_index INTO broken FROM old_rows WHERE outcome IS NOT NULL LIMIT 1;
    IF broken.batch_id IS NOT NULL THEN
        RAISE EXCEPTION 'item (%, %): its outcome is written once', broken.batch_id, broken.batch_item_index
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_batch_items_decided_once', TABLE = 'rewrite_batch_items';
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER rewrite_batch_items_decided_once AFTER UPDATE ON rewrite_batch_items
REFERENCING OLD TABLE AS old_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_item_update();

-- Batches, reservations and provider batches are one row for thousands of items: row triggers are cheap here.
CREATE FUNCTION check_batch_update() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    states CONSTANT text[] := ARRAY['planned', 'uploaded', 'create_sent', 'submitted', 'finished', 'settled'];
BEGIN
    IF old.provider_batch_id IS DISTINCT FROM new.provider_batch_id AND old.provider_batch_id IS NOT NULL THEN
        RAISE EXCEPTION 'batch %: provider_batch_id is written once', old.batch_id
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    IF old.state = new.state
        OR (new.state = 'abandoned' AND old.state IN ('planned', 'uploaded', 'create_sent'))
        OR (old.state <> 'abandoned' AND array_position(states, new.state) > array_position(states, old.state))
    THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'batch %: % -> %: states only move forward', old.batch_id, old.state, new.state
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END
$$;

CREATE TRIGGER rewrite_batches_forward BEFORE UPDATE ON rewrite_batches
FOR EACH ROW EXECUTE FUNCTION check_batch_update();
-- A batch is closed only when nothing of it is open: judged at the end of the statement that closes it.
CREATE FUNCTION check_batch_closed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    broken uuid;
BEGIN
    SELECT n.batch_id
    INTO broken
    FROM new_rows AS n
    WHERE
        n.state IN ('settled', 'abandoned')
        AND (
            EXISTS (SELECT FROM rewrite_batch_items AS i WHERE i.batch_id = n.batch_id AND i.outcome IS NULL)
            OR EXISTS (SELECT FROM rewrite_jobs AS j WHERE j.batch_id = n.batch_id AND j.status = 'batch_submitted')
            OR EXISTS (SELECT FROM token_reservations AS t WHERE t.batch_id = n.batch_id AND t.state = 'open')
        )
    LIMIT 1;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'batch %: it still has an undecided item, a unit or an open reservation', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = 'rewrite_batches_closed', TABLE = 'rewrite_batches';
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER rewrite_batches_closed AFTER UPDATE ON rewrite_batches
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_batch_closed();

CREATE TRIGGER rewrite_batches_immutable
BEFORE UPDATE OF
    batch_id, run_id, environment, batch_group_key, provider, model, prompt_version, policy_version, execution_mode,
    lane, source_locale, target_locale, endpoint, base_url, item_count, planned_at
ON rewrite_batches
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER token_reservations_amounts_immutable
BEFORE UPDATE OF batch_id, model, reserved_tokens, reserved_usd, opened_at ON token_reservations
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER token_reservations_closed_once BEFORE UPDATE ON token_reservations
FOR EACH ROW WHEN (old.state <> 'open') EXECUTE FUNCTION refuse_change();

CREATE FUNCTION check_provider_batch_update() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF old.status = new.status
        OR old.status = 'pending'
        OR (old.status = 'processing' AND new.status IN ('completed', 'failed'))
    THEN
        RETURN new;
    END IF;
    RAISE EXCEPTION 'provider batch %: % -> %: states only move forward', old.provider_batch_id, old.status, new.status
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END
$$;

CREATE TRIGGER rewrite_provider_batches_forward BEFORE UPDATE ON rewrite_provider_batches
FOR EACH ROW EXECUTE FUNCTION check_provider_batch_update();
