-- What enqueue_rewrites sees to, held by the tables for whoever writes past it (an importer, a repair by hand): a
-- request's document says what its columns say, in every field, with the surface under its name of today; no job begins
-- anew under a request that is over; and a routing decision that is kept on its own holds codes alone, as a job's does.
SET LOCAL ROLE rewrite_owner;

CREATE FUNCTION fold_document() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    new.rewrite_request := jsonb_set(new.rewrite_request, '{surface}', '"weekly_feedback"');
    RETURN new;
END
$$;

CREATE TRIGGER rewrite_requests_fold_document BEFORE INSERT ON rewrite_requests
FOR EACH ROW WHEN (new.rewrite_request ->> 'surface' = 'weekly_harmony')
EXECUTE FUNCTION fold_document();

-- As in 0004, for all columns that the document repeats. Snapshot ids may be null at insert.
CREATE OR REPLACE FUNCTION check_request_insert() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
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
$$;

-- Judged at the end of the statement: an importer writes a finished request, its job and its output in one.
CREATE FUNCTION check_job_begins() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
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
$$;

CREATE TRIGGER rewrite_jobs_begin_under_open_request AFTER INSERT ON rewrite_jobs
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION check_job_begins();

ALTER TABLE routing_decisions ADD CONSTRAINT routing_decisions_codes CHECK (holds_no_words(decision));
