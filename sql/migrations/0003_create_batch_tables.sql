-- What the execution layer adds: the intent before anything is sent, the mapping, the ledger, the audit trail.
-- None of these tables can hold text. They outlive an erased request: ids are opaque, and money stays accounted.
SET LOCAL ROLE rewrite_owner;

CREATE TABLE worker_runs (
    run_id uuid PRIMARY KEY,
    command text NOT NULL,
    worker text NOT NULL,
    environment text NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    exit_code int,
    counts jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT worker_runs_names CHECK (command ~ '^[a-z-]{1,40}$' AND worker ~ '^[A-Za-z0-9_.:-]{1,100}$'),
    CONSTRAINT worker_runs_counts CHECK (holds_no_words(counts)),
    CONSTRAINT worker_runs_end_has_code CHECK ((finished_at IS NULL) = (exit_code IS NULL))
);

CREATE INDEX worker_runs_started ON worker_runs (started_at);

CREATE TABLE rewrite_batches (
    batch_id uuid PRIMARY KEY,
    run_id uuid NOT NULL,
    environment text NOT NULL,
    state text NOT NULL DEFAULT 'planned',
    batch_group_key text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    -- Null in a packed batch, where several groups of one model share a file; the items keep their own keys.
    prompt_version text,
    policy_version text,
    execution_mode text,
    lane text,
    source_locale text,
    target_locale text,
    endpoint text NOT NULL,
    base_url text,
    item_count int NOT NULL,
    estimated_input_tokens bigint NOT NULL,
    estimated_output_tokens bigint NOT NULL,
    input_sha256 text,
    input_bytes bigint,
    input_file_id text,
    output_file_id text,
    error_file_id text,
    provider_batch_id text UNIQUE,
    provider_status text,
    lease_token uuid,
    lease_expires_at timestamptz,
    planned_at timestamptz NOT NULL DEFAULT now(),
    uploaded_at timestamptz,
    create_sent_at timestamptz,
    submitted_at timestamptz,
    finished_at timestamptz,
    settled_at timestamptz,
    abandoned_at timestamptz,
    files_deleted_at timestamptz,
    reconciled_at timestamptz, -- its create was in doubt: for a day, twins of it are looked for
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT rewrite_batches_state
    CHECK (state IN ('planned', 'uploaded', 'create_sent', 'submitted', 'finished', 'settled', 'abandoned')),
    CONSTRAINT rewrite_batches_items CHECK (item_count BETWEEN 1 AND 50000),
    CONSTRAINT rewrite_batches_sha256 CHECK (input_sha256 ~ '^[0-9a-f]{64}$'),
    CONSTRAINT rewrite_batches_uploaded
    CHECK (
        state NOT IN ('uploaded', 'create_sent', 'submitted', 'finished', 'settled')
        OR (uploaded_at IS NOT NULL AND input_file_id IS NOT NULL AND input_sha256 IS NOT NULL AND input_bytes > 0)
    ),
    CONSTRAINT rewrite_batches_create_sent
    CHECK (state NOT IN ('create_sent', 'submitted', 'finished', 'settled') OR create_sent_at IS NOT NULL),
    CONSTRAINT rewrite_batches_submitted
    CHECK (
        (state IN ('submitted', 'finished', 'settled')) = (provider_batch_id IS NOT NULL)
        AND (provider_batch_id IS NULL) = (submitted_at IS NULL)
    ),
    CONSTRAINT rewrite_batches_finished CHECK (state NOT IN ('finished', 'settled') OR finished_at IS NOT NULL),
    CONSTRAINT rewrite_batches_settled CHECK ((state = 'settled') = (settled_at IS NOT NULL)),
    CONSTRAINT rewrite_batches_abandoned CHECK ((state = 'abandoned') = (abandoned_at IS NOT NULL)),
    CONSTRAINT rewrite_batches_lease CHECK ((lease_token IS NULL) = (lease_expires_at IS NULL))
);

CREATE INDEX rewrite_batches_open ON rewrite_batches (state, planned_at) WHERE state NOT IN ('settled', 'abandoned');
CREATE INDEX rewrite_batches_files_left ON rewrite_batches (batch_id)
WHERE state IN ('settled', 'abandoned') AND files_deleted_at IS NULL;
CREATE INDEX rewrite_batches_in_doubt ON rewrite_batches (reconciled_at) WHERE reconciled_at IS NOT NULL;
CREATE INDEX rewrite_batches_input_file ON rewrite_batches (input_file_id);

ALTER TABLE rewrite_jobs ADD CONSTRAINT rewrite_jobs_batch_exists FOREIGN KEY (batch_id) REFERENCES rewrite_batches;

CREATE TABLE rewrite_batch_items (
    batch_id uuid NOT NULL REFERENCES rewrite_batches,
    batch_item_index int NOT NULL,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    recipient_user_id uuid NOT NULL,
    batch_group_key text NOT NULL,
    source_locale text NOT NULL,
    target_locale text NOT NULL,
    attempt int NOT NULL,
    -- What the estimate was made of: with the ledger beside it, the next estimate learns characters per token.
    input_chars int NOT NULL,
    estimated_input_tokens int NOT NULL,
    estimated_output_tokens int NOT NULL,
    outcome reason_code,
    reason reason_code,
    provider_status_code int,
    provider_request_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    decided_at timestamptz,
    PRIMARY KEY (batch_id, batch_item_index),
    CONSTRAINT rewrite_batch_items_once_a_batch UNIQUE (batch_id, job_id),
    CONSTRAINT rewrite_batch_items_index CHECK (batch_item_index >= 0 AND batch_item_index < 50000),
    CONSTRAINT rewrite_batch_items_attempt CHECK (attempt >= 1),
    CONSTRAINT rewrite_batch_items_decided CHECK ((outcome IS NULL) = (decided_at IS NULL))
)
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- A unit is in at most one batch that is still undecided: nobody can be billed for it twice at once.
CREATE UNIQUE INDEX rewrite_batch_items_one_live_batch ON rewrite_batch_items (job_id) WHERE outcome IS NULL;
CREATE INDEX rewrite_batch_items_job ON rewrite_batch_items (job_id);

CREATE TABLE provider_calls (
    batch_id uuid NOT NULL,
    batch_item_index int NOT NULL,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    attempt int NOT NULL,
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
    cost_usd numeric(18, 9), -- null: no price was known; never zero
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (batch_id, batch_item_index),
    FOREIGN KEY (batch_id, batch_item_index) REFERENCES rewrite_batch_items,
    CONSTRAINT provider_calls_tokens
    CHECK (least(input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens) >= 0),
    CONSTRAINT provider_calls_price CHECK ((price_version IS NULL) = (cost_usd IS NULL)),
    CONSTRAINT provider_calls_cost CHECK (cost_usd >= 0)
);

CREATE INDEX provider_calls_created ON provider_calls (created_at);
CREATE INDEX provider_calls_request ON provider_calls (rewrite_request_id);

CREATE TABLE token_reservations (
    batch_id uuid PRIMARY KEY REFERENCES rewrite_batches,
    model text NOT NULL,
    state text NOT NULL DEFAULT 'open',
    reserved_tokens bigint NOT NULL,
    reserved_usd numeric(18, 9), -- null: no price was known
    settled_tokens bigint,
    settled_usd numeric(18, 9),
    opened_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz,
    CONSTRAINT token_reservations_state CHECK (state IN ('open', 'settled', 'released')),
    CONSTRAINT token_reservations_amounts
    CHECK (least(reserved_tokens, reserved_usd, settled_tokens, settled_usd) >= 0),
    CONSTRAINT token_reservations_closed CHECK ((state = 'open') = (closed_at IS NULL)),
    CONSTRAINT token_reservations_settled CHECK ((state = 'settled') = (settled_tokens IS NOT NULL))
);

CREATE INDEX token_reservations_open ON token_reservations (model) WHERE state = 'open';

-- What is known of a model's capacity at the provider, and whether it is paused.
CREATE TABLE model_limits (
    model text PRIMARY KEY,
    enqueued_tokens bigint, -- learned from the provider's own error; a setting beats it
    learned_at timestamptz,
    paused_until timestamptz,
    pause_reason reason_code,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT model_limits_learned CHECK ((enqueued_tokens IS NULL) = (learned_at IS NULL)),
    CONSTRAINT model_limits_paused CHECK ((paused_until IS NULL) = (pause_reason IS NULL))
);

CREATE TABLE rewrite_job_events (
    event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL,
    rewrite_request_id uuid NOT NULL,
    from_status text,
    to_status text NOT NULL,
    attempt int NOT NULL,
    reason reason_code,
    run_id uuid,
    batch_id uuid,
    actor text NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX rewrite_job_events_job ON rewrite_job_events (job_id, event_id);
CREATE INDEX rewrite_job_events_occurred ON rewrite_job_events USING brin (occurred_at);

CREATE TABLE outbox_events (
    event_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    event_key text NOT NULL UNIQUE,
    kind reason_code NOT NULL,
    payload jsonb NOT NULL,
    delivery_attempts int NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    dead_at timestamptz,
    last_error reason_code,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT outbox_events_payload CHECK (holds_no_words(payload)),
    CONSTRAINT outbox_events_one_end CHECK (delivered_at IS NULL OR dead_at IS NULL)
);

CREATE INDEX outbox_events_due ON outbox_events (next_attempt_at) WHERE delivered_at IS NULL AND dead_at IS NULL;

CREATE TABLE rewrite_alerts (
    alert_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    alert_key text,
    kind reason_code NOT NULL,
    run_id uuid,
    batch_id uuid,
    batch_item_index int,
    job_id uuid,
    codes reason_code[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    acknowledged_at timestamptz,
    acknowledged_by text
);

-- The same trouble seen by two runs is one alert, until somebody acknowledges it.
CREATE UNIQUE INDEX rewrite_alerts_once ON rewrite_alerts (alert_key) WHERE acknowledged_at IS NULL;
CREATE INDEX rewrite_alerts_open ON rewrite_alerts (created_at) WHERE acknowledged_at IS NULL;
