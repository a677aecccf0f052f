-- Who may do what. Nothing is granted to PUBLIC; only rewrite_owner may delete.
SET LOCAL ROLE rewrite_owner;

-- The orchestrator enqueues and does nothing else.
GRANT EXECUTE ON FUNCTION enqueue_rewrites(text) TO rewrite_orchestrator;
GRANT SELECT ON schema_migrations TO rewrite_orchestrator; -- so that its commands can tell an old database

-- The worker reads what it renders, moves states, and adds outputs that it can neither read back nor change.
GRANT SELECT ON
    rewrite_requests, rewrite_jobs, recipient_snapshots, recipient_preference_snapshots, rewrite_provider_batches,
    rewrite_batches, rewrite_batch_items, provider_calls, token_reservations, rewrite_job_events, worker_runs,
    outbox_events, rewrite_alerts, routing_decisions, schema_migrations, model_limits
TO rewrite_worker;
GRANT SELECT (rewrite_request_id, recipient_user_id, output_language, target_locale, lexicon_version, created_at)
ON rewrite_outputs TO rewrite_worker;
GRANT INSERT ON rewrite_outputs TO rewrite_worker;
GRANT UPDATE (status, rewrite_completed_at, updated_at) ON rewrite_requests TO rewrite_worker;
GRANT UPDATE (
    status, provider_batch_id, not_before_at, claimed_at, claimed_by, attempt_count, last_error, last_error_at,
    updated_at, submitted_at, claim_count, batch_id, finished_at
) ON rewrite_jobs TO rewrite_worker;
GRANT INSERT, UPDATE ON
    rewrite_batches, rewrite_batch_items, token_reservations, worker_runs, outbox_events, model_limits
TO rewrite_worker;
GRANT INSERT ON provider_calls, rewrite_alerts TO rewrite_worker;
GRANT UPDATE (acknowledged_at, acknowledged_by) ON rewrite_alerts TO rewrite_worker;
GRANT EXECUTE ON FUNCTION holds_no_words(jsonb) TO rewrite_worker; -- the CHECKs call it as the writer
GRANT EXECUTE ON FUNCTION rewrite_unit_key(uuid, uuid) TO rewrite_worker;
GRANT EXECUTE ON FUNCTION register_provider_batch(text, text, text, int) TO rewrite_worker;
GRANT EXECUTE ON FUNCTION advance_provider_batch(text, text, text, text) TO rewrite_worker;

-- The analyst reads every column that cannot hold words: not the texts, not the serialised request, and not the
-- context pack and preferences either, which describe a person.
GRANT SELECT (
    rewrite_request_id, home_id, sender_user_id, recipient_user_id, recipient_snapshot_id,
    recipient_preference_snapshot_id, surface, source_locale, target_locale, lane, topics, intent, rewrite_strength,
    classifier_result, classifier_version, context_pack_version, policy_version, status, rewrite_completed_at,
    sender_reveal_at, created_at, updated_at
) ON rewrite_requests TO rewrite_analyst;
GRANT SELECT (
    rewrite_request_id, recipient_user_id, output_language, target_locale, model, provider, prompt_version,
    policy_version, lexicon_version, eval_result, created_at
) ON rewrite_outputs TO rewrite_analyst;
GRANT SELECT (recipient_preference_snapshot_id, recipient_user_id, created_at)
ON recipient_preference_snapshots TO rewrite_analyst;
GRANT SELECT ON
    rewrite_jobs, recipient_snapshots, rewrite_provider_batches, rewrite_batches, rewrite_batch_items, provider_calls,
    token_reservations, rewrite_job_events, worker_runs, outbox_events, rewrite_alerts, routing_decisions,
    schema_migrations, model_limits
TO rewrite_analyst;
