-- The tables of complaint_rewrite_storage_schema_v1, by the names given there.
-- Added to the contract's minimum: rewrite_jobs.claim_count, batch_id and finished_at.
SET LOCAL ROLE rewrite_owner;

ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

CREATE DOMAIN locale_code AS text
    CONSTRAINT locale_is_a_primary_language
    CHECK (VALUE ~ '^[a-z]{2,3}$' AND VALUE NOT IN ('und', 'mul', 'mis', 'zxx'));

-- Short codes, never sentences: a column of this type cannot hold a family's words.
CREATE DOMAIN reason_code AS text
    CONSTRAINT reason_is_a_code
    CHECK (VALUE ~ '^[a-z][a-z0-9_]{0,63}$');

-- Names of models, providers and versions: no spaces, so no sentences.
CREATE DOMAIN version_code AS text
    CONSTRAINT version_is_a_code
    CHECK (VALUE ~ '^[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,99}$');

-- Whether every string and every key in a document looks like an id, a code, a locale or an address: with all such
-- strings taken out, no quote is left. (jsonb prints a space after each colon and comma, so no match spans two strings.)
CREATE FUNCTION holds_no_words(document jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT pg_catalog.strpos(
        pg_catalog.regexp_replace(document::pg_catalog.text, '"[A-Za-z0-9_.:/@+=-]*"', '', 'g'), '"'
    ) OPERATOR(pg_catalog.=) 0
$$;

CREATE TABLE recipient_snapshots (
    recipient_snapshot_id uuid PRIMARY KEY,
    home_id uuid NOT NULL,
    recipient_user_ids uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT recipient_snapshots_has_recipients CHECK (cardinality(recipient_user_ids) >= 1)
);

CREATE TABLE recipient_preference_snapshots (
    recipient_preference_snapshot_id uuid PRIMARY KEY,
    recipient_user_id uuid NOT NULL,
    preference_payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT recipient_preference_snapshots_payload CHECK (jsonb_typeof(preference_payload) = 'object')
);

CREATE TABLE rewrite_requests (
    rewrite_request_id uuid PRIMARY KEY,
    home_id uuid NOT NULL,
    sender_user_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    recipient_snapshot_id uuid REFERENCES recipient_snapshots,
    recipient_preference_snapshot_id uuid REFERENCES recipient_preference_snapshots,
    surface text NOT NULL,
    original_text text NOT NULL,
    source_locale locale_code NOT NULL,
    target_locale locale_code NOT NULL,
    lane text NOT NULL,
    topics jsonb NOT NULL,
    intent text NOT NULL,
    rewrite_strength text NOT NULL,
    classifier_result jsonb NOT NULL,
    context_pack jsonb NOT NULL,
    rewrite_request jsonb NOT NULL,
    classifier_version version_code NOT NULL,
    context_pack_version version_code NOT NULL,
    policy_version version_code NOT NULL,
    status text NOT NULL DEFAULT 'queued',
    rewrite_completed_at timestamptz,
    sender_reveal_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    -- weekly_harmony is accepted and stored as weekly_feedback (a trigger folds it before this is checked).
    CONSTRAINT rewrite_requests_surface CHECK (surface IN ('weekly_feedback', 'direct_message', 'other')),
    CONSTRAINT rewrite_requests_lane
    CHECK (lane = CASE WHEN source_locale = target_locale THEN 'same_language' ELSE 'cross_language' END),
    CONSTRAINT rewrite_requests_topics
    CHECK (
        jsonb_typeof(topics) = 'array'
        AND jsonb_array_length(topics) >= 1
        AND jsonb_array_length(topics) <= 3
        AND topics <@ '["noise", "cleanliness", "privacy", "guests", "schedule", "communication", "other"]'
    ),
    CONSTRAINT rewrite_requests_intent CHECK (intent IN ('request', 'boundary', 'concern', 'clarification')),
    CONSTRAINT rewrite_requests_strength CHECK (rewrite_strength IN ('light_touch', 'full_reframe')),
    CONSTRAINT rewrite_requests_status
    CHECK (status IN ('queued', 'processing', 'batch_submitted', 'completed', 'failed', 'canceled')),
    CONSTRAINT rewrite_requests_completed_has_time
    CHECK ((status = 'completed') = (rewrite_completed_at IS NOT NULL))
)
WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

CREATE INDEX rewrite_requests_home_status ON rewrite_requests (home_id, status);
CREATE INDEX rewrite_requests_recipient_snapshot ON rewrite_requests (recipient_snapshot_id);
CREATE INDEX rewrite_requests_preference_snapshot ON rewrite_requests (recipient_preference_snapshot_id);

CREATE TABLE rewrite_outputs (
    rewrite_request_id uuid NOT NULL REFERENCES rewrite_requests ON DELETE CASCADE,
    recipient_user_id uuid NOT NULL,
    rewritten_text text NOT NULL,
    output_language text NOT NULL,
    target_locale locale_code NOT NULL,
    model version_code NOT NULL,
    provider version_code NOT NULL,
    prompt_version version_code NOT NULL,
    policy_version version_code NOT NULL,
    lexicon_version version_code NOT NULL,
    eval_result jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (rewrite_request_id, recipient_user_id),
    CONSTRAINT rewrite_outputs_in_target_locale CHECK (output_language = target_locale),
    CONSTRAINT rewrite_outputs_something_to_read CHECK (rewritten_text ~ '\S')
);

CREATE TABLE rewrite_provider_batches (
    provider_batch_id text PRIMARY KEY,
    endpoint text NOT NULL,
    input_file_id text NOT NULL,
    output_file_id text,
    error_file_id text,
    status text NOT NULL DEFAULT 'pending',
    job_count int NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT rewrite_provider_batches_status CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
    CONSTRAINT rewrite_provider_batches_job_count CHECK (job_count >= 1)
);

CREATE TABLE rewrite_jobs (
    job_id uuid PRIMARY KEY,
    rewrite_request_id uuid NOT NULL REFERENCES rewrite_requests ON DELETE CASCADE,
    recipient_user_id uuid NOT NULL,
    recipient_snapshot_id uuid NOT NULL REFERENCES recipient_snapshots,
    recipient_preference_snapshot_id uuid NOT NULL REFERENCES recipient_preference_snapshots,
    task text NOT NULL,
    surface text NOT NULL,
    rewrite_strength text NOT NULL,
    language_pair jsonb NOT NULL,
    lane text NOT NULL,
    routing_decision jsonb NOT NULL,
    provider_batch_id text REFERENCES rewrite_provider_batches,
    status text NOT NULL DEFAULT 'queued',
    not_before_at timestamptz,
    claimed_at timestamptz,
    claimed_by text,
    attempt_count int NOT NULL DEFAULT 0,
    max_attempts int NOT NULL,
    last_error reason_code,
    last_error_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    submitted_at timestamptz,
    claim_count int NOT NULL DEFAULT 0,
    batch_id uuid, -- the batch that carries the unit now; every trip is in rewrite_batch_items
    finished_at timestamptz,
    CONSTRAINT rewrite_jobs_one_per_execution_unit UNIQUE (rewrite_request_id, recipient_user_id),
    CONSTRAINT rewrite_jobs_task CHECK (task = 'complaint_rewrite'),
    CONSTRAINT rewrite_jobs_surface CHECK (surface IN ('weekly_feedback', 'direct_message', 'other')),
    CONSTRAINT rewrite_jobs_strength CHECK (rewrite_strength IN ('light_touch', 'full_reframe')),
    CONSTRAINT rewrite_jobs_lane CHECK (lane IN ('same_language', 'cross_language')),
    CONSTRAINT rewrite_jobs_status
    CHECK (status IN ('queued', 'processing', 'batch_submitted', 'completed', 'failed', 'canceled')),
    CONSTRAINT rewrite_jobs_final_has_time
    CHECK ((status IN ('completed', 'failed', 'canceled')) = (finished_at IS NOT NULL)),
    CONSTRAINT rewrite_jobs_claim_has_holder
    CHECK (
        CASE status
            WHEN 'queued' THEN claimed_by IS NULL AND claimed_at IS NULL AND batch_id IS NULL
            WHEN 'processing' THEN claimed_by IS NOT NULL AND claimed_at IS NOT NULL
            ELSE true
        END
    ),
    CONSTRAINT rewrite_jobs_submitted_has_batch
    CHECK (
        status <> 'batch_submitted'
        OR (
            provider_batch_id IS NOT NULL AND batch_id IS NOT NULL AND submitted_at IS NOT NULL AND attempt_count >= 1
        )
    ),
    CONSTRAINT rewrite_jobs_failed_has_reason CHECK (status <> 'failed' OR last_error IS NOT NULL),
    CONSTRAINT rewrite_jobs_error_has_time CHECK ((last_error IS NULL) = (last_error_at IS NULL)),
    CONSTRAINT rewrite_jobs_attempts CHECK (attempt_count >= 0 AND attempt_count <= max_attempts AND max_attempts >= 1 AND max_attempts <= 20)
)
WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.02
);

CREATE INDEX rewrite_jobs_status_due ON rewrite_jobs (status, not_before_at, created_at);
CREATE INDEX rewrite_jobs_provider_batch ON rewrite_jobs (provider_batch_id);
CREATE INDEX rewrite_jobs_request_status ON rewrite_jobs (rewrite_request_id, status);
-- The claim walks this index from its start and stops at now(): jobs that wait for their time, and history,
-- are never visited.
CREATE INDEX rewrite_jobs_claim ON rewrite_jobs ((coalesce(not_before_at, created_at)), job_id)
WHERE status = 'queued';
CREATE INDEX rewrite_jobs_held ON rewrite_jobs (claimed_at) WHERE status = 'processing';
CREATE INDEX rewrite_jobs_batch ON rewrite_jobs (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX rewrite_jobs_recipient_snapshot ON rewrite_jobs (recipient_snapshot_id);
CREATE INDEX rewrite_jobs_preference_snapshot ON rewrite_jobs (recipient_preference_snapshot_id);

CREATE TABLE routing_decisions (
    routing_decision_id uuid PRIMARY KEY,
    rewrite_request_id uuid NOT NULL,
    decision jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX routing_decisions_request ON routing_decisions (rewrite_request_id);
