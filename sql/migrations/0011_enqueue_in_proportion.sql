-- The cost of a call of enqueue_rewrites rose with the square of its items, and with the snapshots that were there before.
-- What it does is as it was.
SET LOCAL ROLE rewrite_owner;

-- As in 0009, but for how the new items are found.
CREATE OR REPLACE FUNCTION enqueue_rewrites(items text) RETURNS TABLE (item int, job_id uuid, outcome text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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

-- As in 0004, but for how the rows of a job are found: OFFSET 0 keeps each a look-up by key. The planner would read whole
-- tables of snapshots for a call of a few hundred jobs.
CREATE OR REPLACE FUNCTION check_job_insert() RETURNS trigger
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
$$;
