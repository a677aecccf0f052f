-- Generated from sql/migrations by `uv run python -m tests.schema_file`: to read, not to run in production.
-- The four roles of migration 0001 must exist before it is loaded.
SET check_function_bodies = false;

CREATE DOMAIN public.locale_code AS text
	CONSTRAINT locale_is_a_primary_language CHECK (((VALUE ~ '^[a-z]{2,3}$'::text) AND (VALUE <> ALL (ARRAY['und'::text, 'mul'::text, 'mis'::text, 'zxx'::text]))));

ALTER DOMAIN public.locale_code OWNER TO rewrite_owner;

CREATE DOMAIN public.reason_code AS text
	CONSTRAINT reason_is_a_code CHECK ((VALUE ~ '^[a-z][a-z0-9_]{0,63}$'::text));

ALTER DOMAIN public.reason_code OWNER TO rewrite_owner;

CREATE DOMAIN public.version_code AS text
	CONSTRAINT version_is_a_code CHECK ((VALUE ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,99}$'::text));

ALTER DOMAIN public.version_code OWNER TO rewrite_owner;

CREATE FUNCTION public.advance_provider_batch(this_provider_batch_id text, new_status text, new_output_file_id text, new_error_file_id text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
DECLARE
    states CONSTANT text[] := ARRAY['pending', 'processing', 'completed', 'failed'];
BEGIN
    IF new_status IS NULL OR new_status <> ALL (states) THEN
        RAISE EXCEPTION 'no such status' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE rewrite_provider_batches
    SET
        status = CASE WHEN status IN ('pending', 'processing') THEN new_status ELSE status END,
        output_file_id = coalesce(output_file_id, nullif(new_output_file_id, '')),
        error_file_id = coalesce(error_file_id, nullif(new_error_file_id, '')),
        updated_at = now()
    WHERE
        provider_batch_id = this_provider_batch_id
        AND (status = new_status OR status = 'pending' OR (status = 'processing' AND new_status <> 'pending'))
        AND (
            status <> new_status
            OR (output_file_id IS NULL AND nullif(new_output_file_id, '') IS NOT NULL)
            OR (error_file_id IS NULL AND nullif(new_error_file_id, '') IS NOT NULL)
        );
    RETURN found;
END
$$;

ALTER FUNCTION public.advance_provider_batch(this_provider_batch_id text, new_status text, new_output_file_id text, new_error_file_id text) OWNER TO rewrite_owner;

CREATE FUNCTION public.check_batch_closed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

ALTER FUNCTION public.check_batch_closed() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_batch_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

ALTER FUNCTION public.check_batch_update() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_completed_has_output() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
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
$_$;

ALTER FUNCTION public.check_completed_has_output() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_item_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

ALTER FUNCTION public.check_item_update() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_job_begins() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        WITH broken AS MATERIALIZED (
            SELECT n.job_id
            FROM new_rows AS n
            INNER JOIN rewrite_requests AS r ON n.rewrite_request_id = r.rewrite_request_id
            WHERE
                r.status IN ('completed', 'failed', 'canceled')
                AND n.status NOT IN ('completed', 'failed', 'canceled')
        )

        SELECT job_id
        FROM broken
        ORDER BY 1
        LIMIT 1
    $query$ INTO broken;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'job %: its request is over', broken
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END
$_$;

ALTER FUNCTION public.check_job_begins() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_job_insert() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
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
            CROSS JOIN LATERAL (
                SELECT * FROM rewrite_requests WHERE rewrite_request_id = n.rewrite_request_id OFFSET 0
            ) AS r
            CROSS JOIN LATERAL (
                SELECT * FROM recipient_snapshots WHERE recipient_snapshot_id = n.recipient_snapshot_id OFFSET 0
            ) AS s
            CROSS JOIN LATERAL (
                SELECT * FROM recipient_preference_snapshots
                WHERE recipient_preference_snapshot_id = n.recipient_preference_snapshot_id
                OFFSET 0
            ) AS p
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
$_$;

ALTER FUNCTION public.check_job_insert() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_job_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
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
$_$;

ALTER FUNCTION public.check_job_update() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_leaves_with_request() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
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
$_$;

ALTER FUNCTION public.check_leaves_with_request() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_output_insert() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
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
$_$;

ALTER FUNCTION public.check_output_insert() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_provider_batch_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
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

ALTER FUNCTION public.check_provider_batch_update() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_request_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
DECLARE
    broken uuid;
BEGIN
    EXECUTE $query$
        SELECT n.rewrite_request_id
        FROM new_rows AS n,
            jsonb_to_record(n.rewrite_request) AS d (
                rewrite_request_id text, home_id text, sender_user_id text, recipient_user_id text,
                recipient_snapshot_id text, recipient_preference_snapshot_id text, surface text, original_text text,
                source_locale text, target_locale text, lane text, topics jsonb, intent text, rewrite_strength text,
                classifier_result jsonb, context_pack jsonb, classifier_version text, context_pack_version text,
                policy_version text
            )
        WHERE
            (
                d.original_text, d.surface, d.source_locale, d.target_locale, d.lane, d.topics, d.intent,
                d.rewrite_strength, d.classifier_result, d.context_pack, d.classifier_version, d.context_pack_version,
                d.policy_version
            ) IS DISTINCT FROM (
                n.original_text, n.surface, n.source_locale::text, n.target_locale::text, n.lane, n.topics, n.intent,
                n.rewrite_strength, n.classifier_result, n.context_pack, n.classifier_version::text,
                n.context_pack_version::text, n.policy_version::text
            )
            -- Compared as text: what is no UUID is another id here, and no error, which would quote it.
            OR (
                lower(d.rewrite_request_id), lower(d.home_id), lower(d.sender_user_id), lower(d.recipient_user_id),
                lower(d.recipient_snapshot_id), lower(d.recipient_preference_snapshot_id)
            ) IS DISTINCT FROM (
                n.rewrite_request_id::text, n.home_id::text, n.sender_user_id::text, n.recipient_user_id::text,
                coalesce(n.recipient_snapshot_id::text, lower(d.recipient_snapshot_id)),
                coalesce(n.recipient_preference_snapshot_id::text, lower(d.recipient_preference_snapshot_id))
            )
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
$_$;

ALTER FUNCTION public.check_request_insert() OWNER TO rewrite_owner;

CREATE FUNCTION public.check_request_update() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $_$
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
$_$;

ALTER FUNCTION public.check_request_update() OWNER TO rewrite_owner;

CREATE FUNCTION public.enqueue_rewrites(items text) RETURNS TABLE(item integer, job_id uuid, outcome text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
#variable_conflict use_column
DECLARE
    listed jsonb;
    made uuid[];
    rule text;
    field text;
    code text;
BEGIN
    BEGIN
        listed := items::jsonb;
        IF jsonb_typeof(listed) IS DISTINCT FROM 'array' THEN
            RAISE EXCEPTION 'not an array' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        -- Folded before it is stored and compared, so that a repeat under the old name is a repeat.
        IF strpos(items, 'weekly_harmony') > 0 THEN
            SELECT
                jsonb_agg(
                    CASE e.value #>> '{rewrite_request,surface}'
                        WHEN 'weekly_harmony'
                            THEN jsonb_set(e.value, '{rewrite_request,surface}', '"weekly_feedback"')
                        ELSE e.value
                    END
                    ORDER BY e.position
                )
            INTO listed
            FROM jsonb_array_elements(listed) WITH ORDINALITY AS e (value, position);
        END IF;
        -- What no column's type says. A worker refuses such a job too, but only when it is queued.
        IF EXISTS (
            SELECT
            FROM jsonb_array_elements(listed) AS e (value),
                jsonb_to_record(e.value) AS part (rewrite_request jsonb, routing_decision jsonb)
            WHERE
                jsonb_typeof(part.rewrite_request -> 'classifier_result') IS DISTINCT FROM 'object'
                OR jsonb_typeof(part.rewrite_request -> 'context_pack') IS DISTINCT FROM 'object'
                OR jsonb_typeof(part.rewrite_request -> 'policy') IS DISTINCT FROM 'object'
                OR EXISTS (
                    SELECT
                    FROM unnest(
                        ARRAY['provider', 'adapter_kind', 'model', 'prompt_version', 'policy_version', 'execution_mode']
                    ) AS name
                    WHERE jsonb_typeof(part.routing_decision -> name) IS DISTINCT FROM 'string'
                )
        ) THEN
            RAISE EXCEPTION 'a document of another shape'
                USING ERRCODE = 'check_violation', CONSTRAINT = 'enqueue_documents';
        END IF;

        -- A unit that is named twice is its first element, in all its parts. The id comes straight from the element: the
        -- planner takes a field of `r` for one and the same value, and joins a list of one by looping.
        WITH item AS MATERIALIZED (
            SELECT DISTINCT ON ((e.value #>> '{rewrite_request,rewrite_request_id}')::uuid)
                r.*,
                e.value -> 'rewrite_request' AS rewrite_request,
                e.value -> 'routing_decision' AS routing_decision,
                e.value -> 'preference_payload' AS preference_payload,
                (e.value ->> 'max_attempts')::int AS max_attempts,
                (e.value ->> 'not_before_at')::timestamptz AS not_before_at
            FROM jsonb_array_elements(listed) WITH ORDINALITY AS e (value, position),
                jsonb_to_record(e.value -> 'rewrite_request') AS r (
                    rewrite_request_id uuid, home_id uuid, sender_user_id uuid, recipient_user_id uuid,
                    recipient_snapshot_id uuid, recipient_preference_snapshot_id uuid, surface text,
                    original_text text, source_locale text, target_locale text, lane text, topics jsonb, intent text,
                    rewrite_strength text, classifier_result jsonb, context_pack jsonb, classifier_version text,
                    context_pack_version text, policy_version text, created_at timestamptz
                )
            ORDER BY (e.value #>> '{rewrite_request,rewrite_request_id}')::uuid, e.position
        ),

        request AS (
            INSERT INTO rewrite_requests (
                rewrite_request_id, home_id, sender_user_id, recipient_user_id, recipient_snapshot_id,
                recipient_preference_snapshot_id, surface, original_text, source_locale, target_locale, lane, topics,
                intent, rewrite_strength, classifier_result, context_pack, rewrite_request, classifier_version,
                context_pack_version, policy_version, created_at
            )
            SELECT
                rewrite_request_id, home_id, sender_user_id, recipient_user_id, recipient_snapshot_id,
                recipient_preference_snapshot_id, surface, original_text, source_locale, target_locale, lane, topics,
                intent, rewrite_strength, classifier_result, context_pack, rewrite_request, classifier_version,
                context_pack_version, policy_version, created_at
            FROM item
            ORDER BY rewrite_request_id
            ON CONFLICT DO NOTHING
            RETURNING rewrite_request_id
        ),

        fresh AS MATERIALIZED (
            SELECT item.*
            FROM item
            INNER JOIN request ON item.rewrite_request_id = request.rewrite_request_id
        ),

        snapshot AS (
            INSERT INTO recipient_snapshots (recipient_snapshot_id, home_id, recipient_user_ids)
            SELECT recipient_snapshot_id, home_id, ARRAY[recipient_user_id]
            FROM fresh
            ORDER BY recipient_snapshot_id
            ON CONFLICT DO NOTHING
        ),

        preference_snapshot AS (
            INSERT INTO recipient_preference_snapshots (
                recipient_preference_snapshot_id, recipient_user_id, preference_payload
            )
            SELECT recipient_preference_snapshot_id, recipient_user_id, preference_payload
            FROM fresh
            ORDER BY recipient_preference_snapshot_id
            ON CONFLICT DO NOTHING
        ),

        job AS (
            INSERT INTO rewrite_jobs (
                job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id, recipient_preference_snapshot_id,
                task, surface, rewrite_strength, language_pair, lane, routing_decision, not_before_at, max_attempts
            )
            SELECT
                new_job_id(), rewrite_request_id, recipient_user_id, recipient_snapshot_id,
                recipient_preference_snapshot_id, 'complaint_rewrite', surface, rewrite_strength,
                jsonb_build_object('from', source_locale, 'to', target_locale), lane, routing_decision, not_before_at,
                max_attempts
            FROM fresh
            RETURNING rewrite_request_id
        )

        SELECT array_agg(rewrite_request_id) INTO made FROM job;
    EXCEPTION WHEN integrity_constraint_violation OR data_exception THEN
        -- Said again without DETAIL, which holds the whole row, and without the offending value.
        GET STACKED DIAGNOSTICS rule = CONSTRAINT_NAME, field = COLUMN_NAME, code = RETURNED_SQLSTATE;
        RAISE EXCEPTION 'enqueue refused: rule %, column %', coalesce(nullif(rule, ''), 'type'), coalesce(nullif(field, ''), '?')
            USING ERRCODE = code, CONSTRAINT = rule, COLUMN = field;
    END;

    RETURN QUERY
    WITH asked AS (
        SELECT
            e.ordinality::int AS item,
            (e.value -> 'rewrite_request' ->> 'rewrite_request_id')::uuid AS rewrite_request_id,
            e.value
        FROM jsonb_array_elements(listed) WITH ORDINALITY AS e (value, ordinality)
    )

    SELECT
        a.item,
        j.job_id,
        CASE
            WHEN a.rewrite_request_id IN (SELECT unnest(made)) -- hashed, where = ANY compares with each
                AND row_number() OVER (PARTITION BY a.rewrite_request_id ORDER BY a.item) = 1 THEN 'enqueued'
            WHEN
                -- What is left out and what is null are the same.
                jsonb_strip_nulls(r.rewrite_request) = jsonb_strip_nulls(a.value -> 'rewrite_request')
                AND jsonb_strip_nulls(j.routing_decision) = jsonb_strip_nulls(a.value -> 'routing_decision')
                THEN 'exists'
            ELSE 'differs' -- also a request that somebody stored without a job: it has none to name
        END
    FROM asked AS a
    INNER JOIN rewrite_requests AS r ON a.rewrite_request_id = r.rewrite_request_id
    LEFT JOIN rewrite_jobs AS j ON r.rewrite_request_id = j.rewrite_request_id
    ORDER BY a.item;
END
$$;

ALTER FUNCTION public.enqueue_rewrites(items text) OWNER TO rewrite_owner;

CREATE FUNCTION public.fold_aliases() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    new.surface := CASE new.surface WHEN 'weekly_harmony' THEN 'weekly_feedback' ELSE new.surface END;
    new.status := CASE new.status WHEN 'running' THEN 'processing' WHEN 'succeeded' THEN 'completed' ELSE new.status END;
    RETURN new;
END
$$;

ALTER FUNCTION public.fold_aliases() OWNER TO rewrite_owner;

CREATE FUNCTION public.fold_document() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    new.rewrite_request := jsonb_set(new.rewrite_request, '{surface}', '"weekly_feedback"');
    RETURN new;
END
$$;

ALTER FUNCTION public.fold_document() OWNER TO rewrite_owner;

CREATE FUNCTION public.holds_no_words(document jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT pg_catalog.strpos(
        pg_catalog.regexp_replace(document::pg_catalog.text, '"[A-Za-z0-9_.:/@+=-]*"', '', 'g'), '"'
    ) OPERATOR(pg_catalog.=) 0
$$;

ALTER FUNCTION public.holds_no_words(document jsonb) OWNER TO rewrite_owner;

CREATE FUNCTION public.new_job_id() RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    SET search_path TO 'pg_catalog'
    AS $$
    SELECT encode(
        set_bit(
            set_bit(
                overlay(
                    uuid_send(gen_random_uuid())
                    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3)
                    FROM 1 FOR 6
                ),
                52, 1
            ),
            53, 1
        ),
        'hex'
    )::uuid
$$;

ALTER FUNCTION public.new_job_id() OWNER TO rewrite_owner;

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION '% on %: these rows or columns are written once', lower(TG_OP), TG_TABLE_NAME
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END
$$;

ALTER FUNCTION public.refuse_change() OWNER TO rewrite_owner;

CREATE FUNCTION public.refuse_final_request() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'request %: % is final', old.rewrite_request_id, old.status
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, TABLE = TG_TABLE_NAME;
END
$$;

ALTER FUNCTION public.refuse_final_request() OWNER TO rewrite_owner;

CREATE FUNCTION public.refuse_row() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION 'request %: this row of % breaks the rule %', new.rewrite_request_id, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_ARGV[0], TABLE = TG_TABLE_NAME;
END
$$;

ALTER FUNCTION public.refuse_row() OWNER TO rewrite_owner;

CREATE FUNCTION public.register_provider_batch(new_provider_batch_id text, new_endpoint text, new_input_file_id text, new_job_count integer) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    AS $$
    INSERT INTO rewrite_provider_batches (provider_batch_id, endpoint, input_file_id, job_count)
    VALUES (new_provider_batch_id, new_endpoint, new_input_file_id, new_job_count)
    ON CONFLICT DO NOTHING
$$;

ALTER FUNCTION public.register_provider_batch(new_provider_batch_id text, new_endpoint text, new_input_file_id text, new_job_count integer) OWNER TO rewrite_owner;

CREATE FUNCTION public.rewrite_unit_key(rewrite_request_id uuid, recipient_user_id uuid) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
    SELECT hashtextextended(rewrite_request_id::text || recipient_user_id::text, 0)
$$;

ALTER FUNCTION public.rewrite_unit_key(rewrite_request_id uuid, recipient_user_id uuid) OWNER TO rewrite_owner;

CREATE TABLE public.model_limits (
    model text NOT NULL,
    enqueued_tokens bigint,
    learned_at timestamp with time zone,
    paused_until timestamp with time zone,
    pause_reason public.reason_code,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT model_limits_learned CHECK (((enqueued_tokens IS NULL) = (learned_at IS NULL))),
    CONSTRAINT model_limits_paused CHECK (((paused_until IS NULL) = (pause_reason IS NULL)))
);

ALTER TABLE public.model_limits OWNER TO rewrite_owner;

CREATE TABLE public.outbox_events (
    event_id uuid DEFAULT gen_random_uuid() NOT NULL,
    event_key text NOT NULL,
    kind public.reason_code NOT NULL,
    payload jsonb NOT NULL,
    delivery_attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    delivered_at timestamp with time zone,
    dead_at timestamp with time zone,
    last_error public.reason_code,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT outbox_events_one_end CHECK (((delivered_at IS NULL) OR (dead_at IS NULL))),
    CONSTRAINT outbox_events_payload CHECK (public.holds_no_words(payload))
);

ALTER TABLE public.outbox_events OWNER TO rewrite_owner;

CREATE TABLE public.provider_calls (
    batch_id uuid NOT NULL,
    batch_item_index integer NOT NULL,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    attempt integer NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    source_locale text NOT NULL,
    target_locale text NOT NULL,
    provider_request_id text,
    provider_response_id text,
    input_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    price_version text,
    cost_usd numeric(18,12),
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT provider_calls_cost CHECK ((cost_usd >= (0)::numeric)),
    CONSTRAINT provider_calls_price CHECK (((price_version IS NULL) = (cost_usd IS NULL))),
    CONSTRAINT provider_calls_tokens CHECK ((LEAST(input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens) >= 0))
);

ALTER TABLE public.provider_calls OWNER TO rewrite_owner;

CREATE TABLE public.recipient_preference_snapshots (
    recipient_preference_snapshot_id uuid CONSTRAINT recipient_preference_snapsh_recipient_preference_snaps_not_null NOT NULL,
    recipient_user_id uuid NOT NULL,
    preference_payload jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT recipient_preference_snapshots_payload CHECK ((jsonb_typeof(preference_payload) = 'object'::text))
);

ALTER TABLE public.recipient_preference_snapshots OWNER TO rewrite_owner;

CREATE TABLE public.recipient_snapshots (
    recipient_snapshot_id uuid NOT NULL,
    home_id uuid NOT NULL,
    recipient_user_ids uuid[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT recipient_snapshots_has_recipients CHECK ((cardinality(recipient_user_ids) >= 1))
);

ALTER TABLE public.recipient_snapshots OWNER TO rewrite_owner;

CREATE TABLE public.rewrite_alerts (
    alert_id bigint NOT NULL,
    alert_key text,
    kind public.reason_code NOT NULL,
    run_id uuid,
    batch_id uuid,
    batch_item_index integer,
    job_id uuid,
    codes public.reason_code[] DEFAULT '{}'::public.reason_code[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    acknowledged_at timestamp with time zone,
    acknowledged_by text
);

ALTER TABLE public.rewrite_alerts OWNER TO rewrite_owner;

ALTER TABLE public.rewrite_alerts ALTER COLUMN alert_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.rewrite_alerts_alert_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.rewrite_batch_items (
    batch_id uuid NOT NULL,
    batch_item_index integer NOT NULL,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    batch_group_key text NOT NULL,
    source_locale text NOT NULL,
    target_locale text NOT NULL,
    attempt integer NOT NULL,
    input_chars integer NOT NULL,
    estimated_input_tokens integer NOT NULL,
    estimated_output_tokens integer NOT NULL,
    outcome public.reason_code,
    reason public.reason_code,
    provider_status_code integer,
    provider_request_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    decided_at timestamp with time zone,
    answered_at timestamp with time zone,
    violations public.reason_code[],
    lexicon_version public.version_code,
    CONSTRAINT rewrite_batch_items_attempt CHECK ((attempt >= 1)),
    CONSTRAINT rewrite_batch_items_decided CHECK (((outcome IS NULL) = (decided_at IS NULL))),
    CONSTRAINT rewrite_batch_items_index CHECK (((batch_item_index >= 0) AND (batch_item_index < 50000)))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

ALTER TABLE public.rewrite_batch_items OWNER TO rewrite_owner;

CREATE TABLE public.rewrite_batches (
    batch_id uuid NOT NULL,
    run_id uuid NOT NULL,
    environment text NOT NULL,
    state text DEFAULT 'planned'::text NOT NULL,
    batch_group_key text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    prompt_version text,
    policy_version text,
    execution_mode text,
    lane text,
    source_locale text,
    target_locale text,
    endpoint text NOT NULL,
    base_url text,
    item_count integer NOT NULL,
    estimated_input_tokens bigint NOT NULL,
    estimated_output_tokens bigint NOT NULL,
    input_sha256 text,
    input_bytes bigint,
    input_file_id text,
    output_file_id text,
    error_file_id text,
    provider_batch_id text,
    provider_status text,
    lease_token uuid,
    lease_expires_at timestamp with time zone,
    planned_at timestamp with time zone DEFAULT now() NOT NULL,
    uploaded_at timestamp with time zone,
    create_sent_at timestamp with time zone,
    submitted_at timestamp with time zone,
    finished_at timestamp with time zone,
    settled_at timestamp with time zone,
    abandoned_at timestamp with time zone,
    files_deleted_at timestamp with time zone,
    reconciled_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    polled_at timestamp with time zone,
    provider_input_tokens bigint,
    provider_output_tokens bigint,
    usage_difference bigint,
    provider_cached_tokens bigint,
    CONSTRAINT rewrite_batches_abandoned CHECK (((state = 'abandoned'::text) = (abandoned_at IS NOT NULL))),
    CONSTRAINT rewrite_batches_create_sent CHECK (((state <> ALL (ARRAY['create_sent'::text, 'submitted'::text, 'finished'::text, 'settled'::text])) OR (create_sent_at IS NOT NULL))),
    CONSTRAINT rewrite_batches_finished CHECK (((state <> ALL (ARRAY['finished'::text, 'settled'::text])) OR (finished_at IS NOT NULL))),
    CONSTRAINT rewrite_batches_items CHECK (((item_count >= 1) AND (item_count <= 50000))),
    CONSTRAINT rewrite_batches_lease CHECK (((lease_token IS NULL) = (lease_expires_at IS NULL))),
    CONSTRAINT rewrite_batches_settled CHECK (((state = 'settled'::text) = (settled_at IS NOT NULL))),
    CONSTRAINT rewrite_batches_sha256 CHECK ((input_sha256 ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT rewrite_batches_state CHECK ((state = ANY (ARRAY['planned'::text, 'uploaded'::text, 'create_sent'::text, 'submitted'::text, 'finished'::text, 'settled'::text, 'abandoned'::text]))),
    CONSTRAINT rewrite_batches_submitted CHECK ((((state = ANY (ARRAY['submitted'::text, 'finished'::text, 'settled'::text])) = (provider_batch_id IS NOT NULL)) AND ((provider_batch_id IS NULL) = (submitted_at IS NULL)))),
    CONSTRAINT rewrite_batches_uploaded CHECK (((state <> ALL (ARRAY['uploaded'::text, 'create_sent'::text, 'submitted'::text, 'finished'::text, 'settled'::text])) OR ((uploaded_at IS NOT NULL) AND (input_file_id IS NOT NULL) AND (input_sha256 IS NOT NULL) AND (input_bytes > 0))))
);

ALTER TABLE public.rewrite_batches OWNER TO rewrite_owner;

CREATE TABLE public.rewrite_job_events (
    event_id bigint NOT NULL,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    from_status text,
    to_status text NOT NULL,
    attempt integer NOT NULL,
    reason public.reason_code,
    run_id uuid,
    batch_id uuid,
    actor text NOT NULL,
    occurred_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE public.rewrite_job_events OWNER TO rewrite_owner;

ALTER TABLE public.rewrite_job_events ALTER COLUMN event_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.rewrite_job_events_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.rewrite_jobs (
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    recipient_snapshot_id uuid NOT NULL,
    recipient_preference_snapshot_id uuid NOT NULL,
    task text NOT NULL,
    surface text NOT NULL,
    rewrite_strength text NOT NULL,
    language_pair jsonb NOT NULL,
    lane text NOT NULL,
    routing_decision jsonb NOT NULL,
    provider_batch_id text,
    status text DEFAULT 'queued'::text NOT NULL,
    not_before_at timestamp with time zone,
    claimed_at timestamp with time zone,
    claimed_by text,
    attempt_count integer DEFAULT 0 NOT NULL,
    max_attempts integer NOT NULL,
    last_error public.reason_code,
    last_error_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    submitted_at timestamp with time zone,
    claim_count integer DEFAULT 0 NOT NULL,
    batch_id uuid,
    finished_at timestamp with time zone,
    CONSTRAINT rewrite_jobs_attempts CHECK (((attempt_count >= 0) AND (attempt_count <= max_attempts) AND (max_attempts >= 1) AND (max_attempts <= 20))),
    CONSTRAINT rewrite_jobs_claim_has_holder CHECK (
CASE status
    WHEN 'queued'::text THEN ((claimed_by IS NULL) AND (claimed_at IS NULL) AND (batch_id IS NULL))
    WHEN 'processing'::text THEN ((claimed_by IS NOT NULL) AND (claimed_at IS NOT NULL))
    ELSE true
END),
    CONSTRAINT rewrite_jobs_error_has_time CHECK (((last_error IS NULL) = (last_error_at IS NULL))),
    CONSTRAINT rewrite_jobs_failed_has_reason CHECK (((status <> 'failed'::text) OR (last_error IS NOT NULL))),
    CONSTRAINT rewrite_jobs_final_has_time CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text, 'canceled'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT rewrite_jobs_lane CHECK ((lane = ANY (ARRAY['same_language'::text, 'cross_language'::text]))),
    CONSTRAINT rewrite_jobs_status CHECK ((status = ANY (ARRAY['queued'::text, 'processing'::text, 'batch_submitted'::text, 'completed'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT rewrite_jobs_strength CHECK ((rewrite_strength = ANY (ARRAY['light_touch'::text, 'full_reframe'::text]))),
    CONSTRAINT rewrite_jobs_submitted_has_batch CHECK (((status <> 'batch_submitted'::text) OR ((provider_batch_id IS NOT NULL) AND (batch_id IS NOT NULL) AND (submitted_at IS NOT NULL) AND (attempt_count >= 1)))),
    CONSTRAINT rewrite_jobs_surface CHECK ((surface = ANY (ARRAY['weekly_feedback'::text, 'direct_message'::text, 'other'::text]))),
    CONSTRAINT rewrite_jobs_task CHECK ((task = 'complaint_rewrite'::text))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0', autovacuum_analyze_scale_factor='0.02');

ALTER TABLE public.rewrite_jobs OWNER TO rewrite_owner;

CREATE TABLE public.rewrite_outputs (
    rewrite_request_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    rewritten_text text NOT NULL,
    output_language text NOT NULL,
    target_locale public.locale_code NOT NULL,
    model public.version_code NOT NULL,
    provider public.version_code NOT NULL,
    prompt_version public.version_code NOT NULL,
    policy_version public.version_code NOT NULL,
    lexicon_version public.version_code NOT NULL,
    eval_result jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rewrite_outputs_in_target_locale CHECK ((output_language = (target_locale)::text)),
    CONSTRAINT rewrite_outputs_something_to_read CHECK ((rewritten_text ~ '\S'::text))
);

ALTER TABLE public.rewrite_outputs OWNER TO rewrite_owner;

CREATE TABLE public.rewrite_provider_batches (
    provider_batch_id text NOT NULL,
    endpoint text NOT NULL,
    input_file_id text NOT NULL,
    output_file_id text,
    error_file_id text,
    status text DEFAULT 'pending'::text NOT NULL,
    job_count integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rewrite_provider_batches_job_count CHECK ((job_count >= 1)),
    CONSTRAINT rewrite_provider_batches_status CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'completed'::text, 'failed'::text])))
);

ALTER TABLE public.rewrite_provider_batches OWNER TO rewrite_owner;

CREATE TABLE public.rewrite_requests (
    rewrite_request_id uuid NOT NULL,
    home_id uuid NOT NULL,
    sender_user_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    recipient_snapshot_id uuid,
    recipient_preference_snapshot_id uuid,
    surface text NOT NULL,
    original_text text NOT NULL,
    source_locale public.locale_code NOT NULL,
    target_locale public.locale_code NOT NULL,
    lane text NOT NULL,
    topics jsonb NOT NULL,
    intent text NOT NULL,
    rewrite_strength text NOT NULL,
    classifier_result jsonb NOT NULL,
    context_pack jsonb NOT NULL,
    rewrite_request jsonb NOT NULL,
    classifier_version public.version_code NOT NULL,
    context_pack_version public.version_code NOT NULL,
    policy_version public.version_code NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    rewrite_completed_at timestamp with time zone,
    sender_reveal_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT rewrite_requests_completed_has_time CHECK (((status = 'completed'::text) = (rewrite_completed_at IS NOT NULL))),
    CONSTRAINT rewrite_requests_intent CHECK ((intent = ANY (ARRAY['request'::text, 'boundary'::text, 'concern'::text, 'clarification'::text]))),
    CONSTRAINT rewrite_requests_lane CHECK ((lane =
CASE
    WHEN ((source_locale)::text = (target_locale)::text) THEN 'same_language'::text
    ELSE 'cross_language'::text
END)),
    CONSTRAINT rewrite_requests_status CHECK ((status = ANY (ARRAY['queued'::text, 'processing'::text, 'batch_submitted'::text, 'completed'::text, 'failed'::text, 'canceled'::text]))),
    CONSTRAINT rewrite_requests_strength CHECK ((rewrite_strength = ANY (ARRAY['light_touch'::text, 'full_reframe'::text]))),
    CONSTRAINT rewrite_requests_surface CHECK ((surface = ANY (ARRAY['weekly_feedback'::text, 'direct_message'::text, 'other'::text]))),
    CONSTRAINT rewrite_requests_topics CHECK (((jsonb_typeof(topics) = 'array'::text) AND (jsonb_array_length(topics) >= 1) AND (jsonb_array_length(topics) <= 3) AND (topics <@ '["noise", "cleanliness", "privacy", "guests", "schedule", "communication", "other"]'::jsonb)))
)
WITH (fillfactor='85', autovacuum_vacuum_scale_factor='0.02', autovacuum_analyze_scale_factor='0.02');

ALTER TABLE public.rewrite_requests OWNER TO rewrite_owner;

CREATE TABLE public.routing_decisions (
    routing_decision_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    decision jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT routing_decisions_codes CHECK (public.holds_no_words(decision))
);

ALTER TABLE public.routing_decisions OWNER TO rewrite_owner;

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.schema_migrations OWNER TO rewrite_owner;

CREATE TABLE public.token_reservations (
    batch_id uuid NOT NULL,
    model text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    reserved_tokens bigint NOT NULL,
    reserved_usd numeric(24,12),
    settled_tokens bigint,
    settled_usd numeric(24,12),
    opened_at timestamp with time zone DEFAULT now() NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT token_reservations_amounts CHECK ((LEAST((reserved_tokens)::numeric, reserved_usd, (settled_tokens)::numeric, settled_usd) >= (0)::numeric)),
    CONSTRAINT token_reservations_closed CHECK (((state = 'open'::text) = (closed_at IS NULL))),
    CONSTRAINT token_reservations_settled CHECK (((state = 'settled'::text) = (settled_tokens IS NOT NULL))),
    CONSTRAINT token_reservations_state CHECK ((state = ANY (ARRAY['open'::text, 'settled'::text, 'released'::text])))
);

ALTER TABLE public.token_reservations OWNER TO rewrite_owner;

CREATE TABLE public.worker_runs (
    run_id uuid NOT NULL,
    command text NOT NULL,
    worker text NOT NULL,
    environment text NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    exit_code integer,
    counts jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT worker_runs_counts CHECK (public.holds_no_words(counts)),
    CONSTRAINT worker_runs_end_has_code CHECK (((finished_at IS NULL) = (exit_code IS NULL))),
    CONSTRAINT worker_runs_names CHECK (((command ~ '^[a-z-]{1,40}$'::text) AND (worker ~ '^[A-Za-z0-9_.:-]{1,100}$'::text)))
);

ALTER TABLE public.worker_runs OWNER TO rewrite_owner;

ALTER TABLE ONLY public.model_limits
    ADD CONSTRAINT model_limits_pkey PRIMARY KEY (model);

ALTER TABLE ONLY public.outbox_events
    ADD CONSTRAINT outbox_events_event_key_key UNIQUE (event_key);

ALTER TABLE ONLY public.outbox_events
    ADD CONSTRAINT outbox_events_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY public.provider_calls
    ADD CONSTRAINT provider_calls_pkey PRIMARY KEY (batch_id, batch_item_index);

ALTER TABLE ONLY public.recipient_preference_snapshots
    ADD CONSTRAINT recipient_preference_snapshots_pkey PRIMARY KEY (recipient_preference_snapshot_id);

ALTER TABLE ONLY public.recipient_snapshots
    ADD CONSTRAINT recipient_snapshots_pkey PRIMARY KEY (recipient_snapshot_id);

ALTER TABLE ONLY public.rewrite_alerts
    ADD CONSTRAINT rewrite_alerts_pkey PRIMARY KEY (alert_id);

ALTER TABLE ONLY public.rewrite_batch_items
    ADD CONSTRAINT rewrite_batch_items_once_a_batch UNIQUE (batch_id, job_id);

ALTER TABLE ONLY public.rewrite_batch_items
    ADD CONSTRAINT rewrite_batch_items_pkey PRIMARY KEY (batch_id, batch_item_index);

ALTER TABLE ONLY public.rewrite_batches
    ADD CONSTRAINT rewrite_batches_pkey PRIMARY KEY (batch_id);

ALTER TABLE ONLY public.rewrite_batches
    ADD CONSTRAINT rewrite_batches_provider_batch_id_key UNIQUE (provider_batch_id);

ALTER TABLE ONLY public.rewrite_job_events
    ADD CONSTRAINT rewrite_job_events_pkey PRIMARY KEY (event_id);

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_one_per_execution_unit UNIQUE (rewrite_request_id, recipient_user_id);

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.rewrite_outputs
    ADD CONSTRAINT rewrite_outputs_pkey PRIMARY KEY (rewrite_request_id, recipient_user_id);

ALTER TABLE ONLY public.rewrite_provider_batches
    ADD CONSTRAINT rewrite_provider_batches_pkey PRIMARY KEY (provider_batch_id);

ALTER TABLE ONLY public.rewrite_requests
    ADD CONSTRAINT rewrite_requests_pkey PRIMARY KEY (rewrite_request_id);

ALTER TABLE ONLY public.routing_decisions
    ADD CONSTRAINT routing_decisions_pkey PRIMARY KEY (routing_decision_id);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.token_reservations
    ADD CONSTRAINT token_reservations_pkey PRIMARY KEY (batch_id);

ALTER TABLE ONLY public.worker_runs
    ADD CONSTRAINT worker_runs_pkey PRIMARY KEY (run_id);

CREATE INDEX outbox_events_due ON public.outbox_events USING btree (next_attempt_at) WHERE ((delivered_at IS NULL) AND (dead_at IS NULL));

CREATE INDEX provider_calls_created ON public.provider_calls USING btree (created_at);

CREATE INDEX provider_calls_request ON public.provider_calls USING btree (rewrite_request_id);

CREATE UNIQUE INDEX rewrite_alerts_once ON public.rewrite_alerts USING btree (alert_key) WHERE (acknowledged_at IS NULL);

CREATE INDEX rewrite_alerts_open ON public.rewrite_alerts USING btree (created_at) WHERE (acknowledged_at IS NULL);

CREATE INDEX rewrite_batch_items_day ON public.rewrite_batch_items USING brin (COALESCE(decided_at, created_at)) WITH (autosummarize='on');

CREATE INDEX rewrite_batch_items_job ON public.rewrite_batch_items USING btree (job_id);

CREATE UNIQUE INDEX rewrite_batch_items_one_live_batch ON public.rewrite_batch_items USING btree (job_id) WHERE (outcome IS NULL);

CREATE INDEX rewrite_batches_files_left ON public.rewrite_batches USING btree (batch_id) WHERE ((state = ANY (ARRAY['settled'::text, 'abandoned'::text])) AND (files_deleted_at IS NULL));

CREATE INDEX rewrite_batches_in_doubt ON public.rewrite_batches USING btree (reconciled_at) WHERE (reconciled_at IS NOT NULL);

CREATE INDEX rewrite_batches_input_file ON public.rewrite_batches USING btree (input_file_id);

CREATE INDEX rewrite_batches_open ON public.rewrite_batches USING btree (state, planned_at) WHERE (state <> ALL (ARRAY['settled'::text, 'abandoned'::text]));

CREATE INDEX rewrite_job_events_job ON public.rewrite_job_events USING btree (job_id, event_id);

CREATE INDEX rewrite_job_events_occurred ON public.rewrite_job_events USING brin (occurred_at);

CREATE INDEX rewrite_jobs_batch ON public.rewrite_jobs USING btree (batch_id) WHERE (batch_id IS NOT NULL);

CREATE INDEX rewrite_jobs_claim ON public.rewrite_jobs USING btree (COALESCE(not_before_at, created_at), job_id) WHERE (status = 'queued'::text);

CREATE INDEX rewrite_jobs_created ON public.rewrite_jobs USING brin (created_at) WITH (autosummarize='on');

CREATE INDEX rewrite_jobs_held ON public.rewrite_jobs USING btree (claimed_at) WHERE (status = 'processing'::text);

CREATE INDEX rewrite_jobs_preference_snapshot ON public.rewrite_jobs USING btree (recipient_preference_snapshot_id);

CREATE INDEX rewrite_jobs_provider_batch ON public.rewrite_jobs USING btree (provider_batch_id);

CREATE INDEX rewrite_jobs_recipient_snapshot ON public.rewrite_jobs USING btree (recipient_snapshot_id);

CREATE INDEX rewrite_jobs_request_status ON public.rewrite_jobs USING btree (rewrite_request_id, status);

CREATE INDEX rewrite_jobs_status_due ON public.rewrite_jobs USING btree (status, not_before_at, created_at);

CREATE INDEX rewrite_outputs_created ON public.rewrite_outputs USING brin (created_at) WITH (autosummarize='on');

CREATE INDEX rewrite_requests_home_status ON public.rewrite_requests USING btree (home_id, status);

CREATE INDEX rewrite_requests_preference_snapshot ON public.rewrite_requests USING btree (recipient_preference_snapshot_id);

CREATE INDEX rewrite_requests_recipient_snapshot ON public.rewrite_requests USING btree (recipient_snapshot_id);

CREATE INDEX routing_decisions_request ON public.routing_decisions USING btree (rewrite_request_id);

CREATE INDEX token_reservations_open ON public.token_reservations USING btree (model) WHERE (state = 'open'::text);

CREATE INDEX worker_runs_started ON public.worker_runs USING btree (started_at);

CREATE TRIGGER provider_calls_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.provider_calls FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER recipient_preference_snapshots_immutable BEFORE UPDATE OR TRUNCATE ON public.recipient_preference_snapshots FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER recipient_snapshots_immutable BEFORE UPDATE OR TRUNCATE ON public.recipient_snapshots FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_batch_items_decided_once AFTER UPDATE ON public.rewrite_batch_items REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_item_update();

CREATE TRIGGER rewrite_batch_items_immutable BEFORE UPDATE OF batch_id, batch_item_index, job_id, rewrite_request_id, recipient_user_id, batch_group_key, source_locale, target_locale, attempt, input_chars, estimated_input_tokens, estimated_output_tokens, created_at ON public.rewrite_batch_items FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_batches_closed AFTER UPDATE ON public.rewrite_batches REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_batch_closed();

CREATE TRIGGER rewrite_batches_forward BEFORE UPDATE ON public.rewrite_batches FOR EACH ROW EXECUTE FUNCTION public.check_batch_update();

CREATE TRIGGER rewrite_batches_immutable BEFORE UPDATE OF batch_id, run_id, environment, batch_group_key, provider, model, prompt_version, policy_version, execution_mode, lane, source_locale, target_locale, endpoint, base_url, item_count, planned_at ON public.rewrite_batches FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_job_events_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.rewrite_job_events FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_jobs_begin_under_open_request AFTER INSERT ON public.rewrite_jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_job_begins();

CREATE TRIGGER rewrite_jobs_completed_has_output AFTER UPDATE ON public.rewrite_jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_completed_has_output();

CREATE TRIGGER rewrite_jobs_fold_aliases BEFORE INSERT ON public.rewrite_jobs FOR EACH ROW WHEN (((new.surface = 'weekly_harmony'::text) OR (new.status = ANY (ARRAY['running'::text, 'succeeded'::text])))) EXECUTE FUNCTION public.fold_aliases();

CREATE TRIGGER rewrite_jobs_immutable BEFORE UPDATE OF job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id, recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision, max_attempts, created_at ON public.rewrite_jobs FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_jobs_imported_completed_has_output AFTER INSERT ON public.rewrite_jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_completed_has_output();

CREATE TRIGGER rewrite_jobs_leave_with_request AFTER DELETE ON public.rewrite_jobs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_leaves_with_request();

CREATE TRIGGER rewrite_jobs_mirror AFTER INSERT ON public.rewrite_jobs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_job_insert();

CREATE TRIGGER rewrite_jobs_no_truncate BEFORE TRUNCATE ON public.rewrite_jobs FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_jobs_transition AFTER UPDATE ON public.rewrite_jobs REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_job_update();

CREATE TRIGGER rewrite_outputs_completed AFTER INSERT ON public.rewrite_outputs REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_output_insert();

CREATE TRIGGER rewrite_outputs_immutable BEFORE UPDATE OR TRUNCATE ON public.rewrite_outputs FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_outputs_leave_with_request AFTER DELETE ON public.rewrite_outputs REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_leaves_with_request();

CREATE TRIGGER rewrite_outputs_quiet BEFORE INSERT ON public.rewrite_outputs FOR EACH ROW WHEN (((new.output_language IS DISTINCT FROM (new.target_locale)::text) OR (new.rewritten_text IS NULL) OR (new.rewritten_text !~ '\S'::text) OR (num_nulls(new.recipient_user_id, new.target_locale, new.model, new.provider, new.prompt_version, new.policy_version, new.lexicon_version, new.eval_result, new.created_at) > 0))) EXECUTE FUNCTION public.refuse_row('rewrite_outputs_in_target_locale');

CREATE TRIGGER rewrite_provider_batches_forward BEFORE UPDATE ON public.rewrite_provider_batches FOR EACH ROW EXECUTE FUNCTION public.check_provider_batch_update();

CREATE TRIGGER rewrite_requests_final BEFORE UPDATE OF status, rewrite_completed_at ON public.rewrite_requests FOR EACH ROW WHEN (((old.status = ANY (ARRAY['completed'::text, 'failed'::text, 'canceled'::text])) AND ((old.status IS DISTINCT FROM new.status) OR (old.rewrite_completed_at IS DISTINCT FROM new.rewrite_completed_at)))) EXECUTE FUNCTION public.refuse_final_request();

CREATE TRIGGER rewrite_requests_fold_aliases BEFORE INSERT ON public.rewrite_requests FOR EACH ROW WHEN (((new.surface = 'weekly_harmony'::text) OR (new.status = ANY (ARRAY['running'::text, 'succeeded'::text])))) EXECUTE FUNCTION public.fold_aliases();

CREATE TRIGGER rewrite_requests_fold_document BEFORE INSERT ON public.rewrite_requests FOR EACH ROW WHEN (((new.rewrite_request ->> 'surface'::text) = 'weekly_harmony'::text)) EXECUTE FUNCTION public.fold_document();

CREATE TRIGGER rewrite_requests_follow_jobs AFTER UPDATE ON public.rewrite_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_request_update();

CREATE TRIGGER rewrite_requests_immutable BEFORE UPDATE OF rewrite_request_id, home_id, sender_user_id, recipient_user_id, surface, original_text, source_locale, target_locale, lane, topics, intent, rewrite_strength, classifier_result, context_pack, rewrite_request, classifier_version, context_pack_version, policy_version, created_at ON public.rewrite_requests FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_requests_imported_follow_jobs AFTER INSERT ON public.rewrite_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_request_update();

CREATE TRIGGER rewrite_requests_mirror AFTER INSERT ON public.rewrite_requests REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.check_request_insert();

CREATE TRIGGER rewrite_requests_no_truncate BEFORE TRUNCATE ON public.rewrite_requests FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER rewrite_requests_quiet BEFORE UPDATE OF status, rewrite_completed_at, updated_at ON public.rewrite_requests FOR EACH ROW WHEN (((new.status IS NULL) OR (new.updated_at IS NULL) OR (new.status <> ALL (ARRAY['queued'::text, 'processing'::text, 'batch_submitted'::text, 'completed'::text, 'failed'::text, 'canceled'::text])) OR ((new.status = 'completed'::text) <> (new.rewrite_completed_at IS NOT NULL)))) EXECUTE FUNCTION public.refuse_row('rewrite_requests_completed_has_time');

CREATE TRIGGER rewrite_requests_snapshots_once BEFORE UPDATE OF recipient_snapshot_id, recipient_preference_snapshot_id ON public.rewrite_requests FOR EACH ROW WHEN ((((old.recipient_snapshot_id IS NOT NULL) AND (old.recipient_snapshot_id IS DISTINCT FROM new.recipient_snapshot_id)) OR ((old.recipient_preference_snapshot_id IS NOT NULL) AND (old.recipient_preference_snapshot_id IS DISTINCT FROM new.recipient_preference_snapshot_id)))) EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER token_reservations_amounts_immutable BEFORE UPDATE OF batch_id, model, reserved_tokens, reserved_usd, opened_at ON public.token_reservations FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_change();

CREATE TRIGGER token_reservations_closed_once BEFORE UPDATE ON public.token_reservations FOR EACH ROW WHEN ((old.state <> 'open'::text)) EXECUTE FUNCTION public.refuse_change();

ALTER TABLE ONLY public.provider_calls
    ADD CONSTRAINT provider_calls_batch_id_batch_item_index_fkey FOREIGN KEY (batch_id, batch_item_index) REFERENCES public.rewrite_batch_items(batch_id, batch_item_index);

ALTER TABLE ONLY public.rewrite_batch_items
    ADD CONSTRAINT rewrite_batch_items_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.rewrite_batches(batch_id);

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_batch_exists FOREIGN KEY (batch_id) REFERENCES public.rewrite_batches(batch_id);

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_provider_batch_id_fkey FOREIGN KEY (provider_batch_id) REFERENCES public.rewrite_provider_batches(provider_batch_id);

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_recipient_preference_snapshot_id_fkey FOREIGN KEY (recipient_preference_snapshot_id) REFERENCES public.recipient_preference_snapshots(recipient_preference_snapshot_id);

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_recipient_snapshot_id_fkey FOREIGN KEY (recipient_snapshot_id) REFERENCES public.recipient_snapshots(recipient_snapshot_id);

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_rewrite_request_id_fkey FOREIGN KEY (rewrite_request_id) REFERENCES public.rewrite_requests(rewrite_request_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.rewrite_outputs
    ADD CONSTRAINT rewrite_outputs_rewrite_request_id_fkey FOREIGN KEY (rewrite_request_id) REFERENCES public.rewrite_requests(rewrite_request_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.rewrite_requests
    ADD CONSTRAINT rewrite_requests_recipient_preference_snapshot_id_fkey FOREIGN KEY (recipient_preference_snapshot_id) REFERENCES public.recipient_preference_snapshots(recipient_preference_snapshot_id);

ALTER TABLE ONLY public.rewrite_requests
    ADD CONSTRAINT rewrite_requests_recipient_snapshot_id_fkey FOREIGN KEY (recipient_snapshot_id) REFERENCES public.recipient_snapshots(recipient_snapshot_id);

ALTER TABLE ONLY public.token_reservations
    ADD CONSTRAINT token_reservations_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES public.rewrite_batches(batch_id);

GRANT ALL ON SCHEMA public TO rewrite_owner;

REVOKE ALL ON FUNCTION public.advance_provider_batch(this_provider_batch_id text, new_status text, new_output_file_id text, new_error_file_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.advance_provider_batch(this_provider_batch_id text, new_status text, new_output_file_id text, new_error_file_id text) TO rewrite_worker;

REVOKE ALL ON FUNCTION public.check_batch_closed() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_batch_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_completed_has_output() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_item_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_job_begins() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_job_insert() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_job_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_leaves_with_request() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_output_insert() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_provider_batch_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_request_insert() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.check_request_update() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.enqueue_rewrites(items text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.enqueue_rewrites(items text) TO rewrite_orchestrator;

REVOKE ALL ON FUNCTION public.fold_aliases() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.fold_document() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.holds_no_words(document jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.holds_no_words(document jsonb) TO rewrite_worker;

REVOKE ALL ON FUNCTION public.new_job_id() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.refuse_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.refuse_final_request() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.refuse_row() FROM PUBLIC;

REVOKE ALL ON FUNCTION public.register_provider_batch(new_provider_batch_id text, new_endpoint text, new_input_file_id text, new_job_count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.register_provider_batch(new_provider_batch_id text, new_endpoint text, new_input_file_id text, new_job_count integer) TO rewrite_worker;

REVOKE ALL ON FUNCTION public.rewrite_unit_key(rewrite_request_id uuid, recipient_user_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION public.rewrite_unit_key(rewrite_request_id uuid, recipient_user_id uuid) TO rewrite_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE public.model_limits TO rewrite_worker;
GRANT SELECT ON TABLE public.model_limits TO rewrite_analyst;

GRANT SELECT,INSERT,UPDATE ON TABLE public.outbox_events TO rewrite_worker;
GRANT SELECT ON TABLE public.outbox_events TO rewrite_analyst;

GRANT SELECT,INSERT ON TABLE public.provider_calls TO rewrite_worker;
GRANT SELECT ON TABLE public.provider_calls TO rewrite_analyst;

GRANT SELECT ON TABLE public.recipient_preference_snapshots TO rewrite_worker;

GRANT SELECT(recipient_preference_snapshot_id) ON TABLE public.recipient_preference_snapshots TO rewrite_analyst;

GRANT SELECT(recipient_user_id) ON TABLE public.recipient_preference_snapshots TO rewrite_analyst;

GRANT SELECT(created_at) ON TABLE public.recipient_preference_snapshots TO rewrite_analyst;

GRANT SELECT ON TABLE public.recipient_snapshots TO rewrite_worker;
GRANT SELECT ON TABLE public.recipient_snapshots TO rewrite_analyst;

GRANT SELECT,INSERT ON TABLE public.rewrite_alerts TO rewrite_worker;
GRANT SELECT ON TABLE public.rewrite_alerts TO rewrite_analyst;

GRANT UPDATE(acknowledged_at) ON TABLE public.rewrite_alerts TO rewrite_worker;

GRANT UPDATE(acknowledged_by) ON TABLE public.rewrite_alerts TO rewrite_worker;

GRANT SELECT,INSERT,UPDATE ON TABLE public.rewrite_batch_items TO rewrite_worker;
GRANT SELECT ON TABLE public.rewrite_batch_items TO rewrite_analyst;

GRANT SELECT,INSERT,UPDATE ON TABLE public.rewrite_batches TO rewrite_worker;
GRANT SELECT ON TABLE public.rewrite_batches TO rewrite_analyst;

GRANT SELECT ON TABLE public.rewrite_job_events TO rewrite_worker;
GRANT SELECT ON TABLE public.rewrite_job_events TO rewrite_analyst;

GRANT SELECT ON TABLE public.rewrite_jobs TO rewrite_worker;
GRANT SELECT ON TABLE public.rewrite_jobs TO rewrite_analyst;

GRANT UPDATE(provider_batch_id) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(status) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(not_before_at) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(claimed_at) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(claimed_by) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(attempt_count) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(last_error) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(last_error_at) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(updated_at) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(submitted_at) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(claim_count) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(batch_id) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT UPDATE(finished_at) ON TABLE public.rewrite_jobs TO rewrite_worker;

GRANT INSERT ON TABLE public.rewrite_outputs TO rewrite_worker;

GRANT SELECT(rewrite_request_id) ON TABLE public.rewrite_outputs TO rewrite_worker;
GRANT SELECT(rewrite_request_id) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(recipient_user_id) ON TABLE public.rewrite_outputs TO rewrite_worker;
GRANT SELECT(recipient_user_id) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(output_language) ON TABLE public.rewrite_outputs TO rewrite_worker;
GRANT SELECT(output_language) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(target_locale) ON TABLE public.rewrite_outputs TO rewrite_worker;
GRANT SELECT(target_locale) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(model) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(provider) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(prompt_version) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(policy_version) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(lexicon_version) ON TABLE public.rewrite_outputs TO rewrite_worker;
GRANT SELECT(lexicon_version) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(eval_result) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT(created_at) ON TABLE public.rewrite_outputs TO rewrite_worker;
GRANT SELECT(created_at) ON TABLE public.rewrite_outputs TO rewrite_analyst;

GRANT SELECT ON TABLE public.rewrite_provider_batches TO rewrite_worker;
GRANT SELECT ON TABLE public.rewrite_provider_batches TO rewrite_analyst;

GRANT SELECT ON TABLE public.rewrite_requests TO rewrite_worker;

GRANT SELECT(rewrite_request_id) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(home_id) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(sender_user_id) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(recipient_user_id) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(recipient_snapshot_id) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(recipient_preference_snapshot_id) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(surface) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(source_locale) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(target_locale) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(lane) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(topics) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(intent) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(rewrite_strength) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(classifier_result) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(classifier_version) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(context_pack_version) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(policy_version) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT UPDATE(status) ON TABLE public.rewrite_requests TO rewrite_worker;
GRANT SELECT(status) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT UPDATE(rewrite_completed_at) ON TABLE public.rewrite_requests TO rewrite_worker;
GRANT SELECT(rewrite_completed_at) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(sender_reveal_at) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT(created_at) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT UPDATE(updated_at) ON TABLE public.rewrite_requests TO rewrite_worker;
GRANT SELECT(updated_at) ON TABLE public.rewrite_requests TO rewrite_analyst;

GRANT SELECT ON TABLE public.routing_decisions TO rewrite_worker;
GRANT SELECT ON TABLE public.routing_decisions TO rewrite_analyst;

GRANT SELECT ON TABLE public.schema_migrations TO rewrite_orchestrator;
GRANT SELECT ON TABLE public.schema_migrations TO rewrite_worker;
GRANT SELECT ON TABLE public.schema_migrations TO rewrite_analyst;

GRANT SELECT,INSERT,UPDATE ON TABLE public.token_reservations TO rewrite_worker;
GRANT SELECT ON TABLE public.token_reservations TO rewrite_analyst;

GRANT SELECT,INSERT,UPDATE ON TABLE public.worker_runs TO rewrite_worker;
GRANT SELECT ON TABLE public.worker_runs TO rewrite_analyst;

ALTER DEFAULT PRIVILEGES FOR ROLE rewrite_owner REVOKE ALL ON FUNCTIONS FROM PUBLIC;
