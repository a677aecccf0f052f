-- What other services and the worker call: enqueue, the unit's lock key, and the registry of provider batches.
SET LOCAL ROLE rewrite_owner;

-- The contract's lock is one per execution unit. 64 bits: a collision only makes two units wait for each other.
CREATE FUNCTION rewrite_unit_key(rewrite_request_id uuid, recipient_user_id uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT hashtextextended(rewrite_request_id::text || recipient_user_id::text, 0)
$$;

-- A UUIDv7: ids of one time are neighbours in every index, so that a claim touches the same few pages however long the
-- queue is. 48 bits of milliseconds, then what gen_random_uuid gives, with the version raised from 4 to 7.
CREATE FUNCTION new_job_id() RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL SAFE SET search_path = pg_catalog AS $$
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

-- Takes a JSON array of EnqueueItemV1, as text: what is no JSON is refused in here, where no error quotes it.
-- Each new unit gets its snapshots, request and job, together or not at all; a unit that is known already changes
-- nothing. One row comes back for each element, in order of `item`:
--   enqueued   the job was made now
--   exists     the same request is there already: its job
--   differs    another request is there under this id: its job; nothing was changed, and the caller must look
-- Keys are taken in order, so that callers who send the same units at once wait for each other and do not deadlock.
-- An error names a rule or a column, never a value: the values are families' words, and errors are logged.
CREATE FUNCTION enqueue_rewrites(items text) RETURNS TABLE (item int, job_id uuid, outcome text)
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

        -- A unit that is named twice is its first element, in all its parts.
        WITH item AS MATERIALIZED (
            SELECT DISTINCT ON (r.rewrite_request_id)
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
            ORDER BY r.rewrite_request_id, e.position
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
            WHEN a.rewrite_request_id = ANY (made)
                AND row_number() OVER (PARTITION BY a.rewrite_request_id ORDER BY a.item) = 1 THEN 'enqueued'
            WHEN r.rewrite_request = a.value -> 'rewrite_request' AND j.routing_decision = a.value -> 'routing_decision'
                THEN 'exists'
            ELSE 'differs' -- also a request that somebody stored without a job: it has none to name
        END
    FROM asked AS a
    INNER JOIN rewrite_requests AS r ON a.rewrite_request_id = r.rewrite_request_id
    LEFT JOIN rewrite_jobs AS j ON r.rewrite_request_id = j.rewrite_request_id
    ORDER BY a.item;
END
$$;

-- The registry of provider batches is kept through these two alone. Both may be repeated.
CREATE FUNCTION register_provider_batch(
    new_provider_batch_id text, new_endpoint text, new_input_file_id text, new_job_count int
) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    INSERT INTO rewrite_provider_batches (provider_batch_id, endpoint, input_file_id, job_count)
    VALUES (new_provider_batch_id, new_endpoint, new_input_file_id, new_job_count)
    ON CONFLICT DO NOTHING
$$;

-- Answers whether the registry learned something. An older status is no news and changes nothing; file ids are kept
-- whenever they come.
CREATE FUNCTION advance_provider_batch(
    this_provider_batch_id text, new_status text, new_output_file_id text, new_error_file_id text
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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
