"""The tables, columns and indexes of the storage contract are there by the names given there."""

from typing import LiteralString

from rewrite_batch.db import Connection

# As the contract spells them: a type with ! is NOT NULL.
COLUMNS = {
    "rewrite_requests": """rewrite_request_id uuid! home_id uuid! sender_user_id uuid! recipient_user_id uuid!
        recipient_snapshot_id uuid recipient_preference_snapshot_id uuid surface text! original_text text!
        source_locale text! target_locale text! lane text! topics jsonb! intent text! rewrite_strength text!
        classifier_result jsonb! context_pack jsonb! rewrite_request jsonb! classifier_version text!
        context_pack_version text! policy_version text! status text! rewrite_completed_at timestamptz
        sender_reveal_at timestamptz created_at timestamptz! updated_at timestamptz!""",
    "rewrite_outputs": """rewrite_request_id uuid! recipient_user_id uuid! rewritten_text text! output_language text!
        target_locale text! model text! provider text! prompt_version text! policy_version text!
        lexicon_version text! eval_result jsonb! created_at timestamptz!""",
    "rewrite_jobs": """job_id uuid! rewrite_request_id uuid! recipient_user_id uuid! recipient_snapshot_id uuid!
        recipient_preference_snapshot_id uuid! task text! surface text! rewrite_strength text! language_pair jsonb!
        lane text! routing_decision jsonb! provider_batch_id text status text! not_before_at timestamptz
        claimed_at timestamptz claimed_by text attempt_count int4! max_attempts int4! last_error text
        last_error_at timestamptz created_at timestamptz! updated_at timestamptz! submitted_at timestamptz""",
    "recipient_snapshots": """recipient_snapshot_id uuid! home_id uuid! recipient_user_ids _uuid!
        created_at timestamptz!""",
    "recipient_preference_snapshots": """recipient_preference_snapshot_id uuid! recipient_user_id uuid!
        preference_payload jsonb! created_at timestamptz!""",
    "rewrite_provider_batches": """provider_batch_id text! endpoint text! input_file_id text! output_file_id text
        error_file_id text status text! job_count int4! created_at timestamptz! updated_at timestamptz!""",
    "routing_decisions": """routing_decision_id uuid! rewrite_request_id uuid! decision jsonb!
        created_at timestamptz!""",
}
DEFAULTS = {
    ("rewrite_requests", "status"): "'queued'::text",
    ("rewrite_jobs", "status"): "'queued'::text",
    ("rewrite_jobs", "attempt_count"): "0",
    ("rewrite_provider_batches", "status"): "'pending'::text",
    **{(table, "created_at"): "now()" for table in COLUMNS},
    **{(table, "updated_at"): "now()" for table in ("rewrite_requests", "rewrite_jobs", "rewrite_provider_batches")},
}
# What the design adds to a table of the contract.
BEYOND = {("rewrite_jobs", "claim_count"), ("rewrite_jobs", "batch_id"), ("rewrite_jobs", "finished_at")}
INDEXES = {
    "rewrite_requests": ["rewrite_request_id", "home_id,status"],
    "rewrite_outputs": ["rewrite_request_id,recipient_user_id"],
    "rewrite_jobs": [
        "job_id",
        "status,not_before_at,created_at",
        "rewrite_request_id,recipient_user_id",
        "provider_batch_id",
        "rewrite_request_id,status",
    ],
}
ADDED = {
    "rewrite_batches": "batch_id",
    "rewrite_batch_items": "batch_id,batch_item_index",
    "provider_calls": "batch_id,batch_item_index",
    "token_reservations": "batch_id",
    "rewrite_job_events": "event_id",
    "worker_runs": "run_id",
    "outbox_events": "event_id",
    "rewrite_alerts": "alert_id",
    "model_limits": "model",
}


def test_the_tables_of_the_contract_have_its_columns_and_the_designs_and_no_others(connection: Connection) -> None:
    """So nothing about a batch is in rewrite_outputs, and no column beside the contract's can hold words."""
    rows = connection.execute(
        """SELECT table_name, column_name, udt_name || CASE is_nullable WHEN 'NO' THEN '!' ELSE '' END, column_default
        FROM information_schema.columns WHERE table_schema = 'public'"""
    ).fetchall()
    there = {(table, column): kind for table, column, kind, _ in rows if table in COLUMNS}
    wanted = {
        (table, column): kind
        for table, columns in COLUMNS.items()
        for column, kind in zip(columns.split()[::2], columns.split()[1::2], strict=True)
    }
    assert {place: kind for place, kind in there.items() if place not in BEYOND} == wanted
    assert set(there) - set(wanted) == BEYOND
    defaults = {(table, column): default for table, column, _, default in rows if default and table in COLUMNS}
    assert {place: default for place, default in defaults.items() if place not in BEYOND} == DEFAULTS


def test_the_queues_tables_are_kept_tidy(connection: Connection) -> None:
    """Room on each page for the new version of a row, and a vacuum long before a fifth of it is dead."""
    rows = connection.execute("SELECT relname, reloptions FROM pg_class WHERE reloptions IS NOT NULL").fetchall()
    options = {table: dict(option.split("=") for option in found) for table, found in rows}
    for table in ("rewrite_jobs", "rewrite_requests", "rewrite_batch_items"):
        assert 70 <= int(options[table]["fillfactor"]) <= 90, table
        assert float(options[table]["autovacuum_vacuum_scale_factor"]) <= 0.02, table
    partial = connection.execute(
        """SELECT indexrelid::regclass::text FROM pg_index
        WHERE indpred IS NOT NULL AND indrelid = 'rewrite_jobs'::regclass"""
    ).fetchall()
    assert {"rewrite_jobs_claim", "rewrite_jobs_held"} <= {name for (name,) in partial}


def test_every_index_of_the_contract_is_there(connection: Connection) -> None:
    there = indexed_columns(connection)
    wanted = {(table, columns) for table, listed in INDEXES.items() for columns in listed}
    assert wanted - there == set()


def test_the_added_tables_have_their_keys(connection: Connection) -> None:
    assert set(ADDED.items()) - indexed_columns(connection) == set()
    assert ("rewrite_batch_items", "batch_id,job_id") in indexed_columns(connection)
    assert ("outbox_events", "event_key") in indexed_columns(connection)


def indexed_columns(connection: Connection) -> set[tuple[str, str]]:
    statement: LiteralString = """
        SELECT c.relname, string_agg(a.attname, ',' ORDER BY k.position)
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'public'::regnamespace
        CROSS JOIN LATERAL unnest(i.indkey::int[]) WITH ORDINALITY AS k (column_number, position)
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.column_number
        GROUP BY i.indexrelid, c.relname"""
    return set(connection.execute(statement).fetchall())


def test_relationships_of_the_contract_are_foreign_keys(connection: Connection) -> None:
    rows = connection.execute(
        """SELECT conrelid::regclass::text, confrelid::regclass::text, confdeltype FROM pg_constraint
        WHERE contype = 'f'"""
    ).fetchall()
    assert {
        ("rewrite_jobs", "rewrite_requests", "c"),
        ("rewrite_outputs", "rewrite_requests", "c"),
        ("rewrite_requests", "recipient_snapshots", "a"),
        ("rewrite_requests", "recipient_preference_snapshots", "a"),
        ("rewrite_jobs", "rewrite_provider_batches", "a"),
    } <= {(a, b, c.decode() if isinstance(c, bytes) else c) for a, b, c in rows}


def test_guards_on_hot_tables_fire_once_a_statement(connection: Connection) -> None:
    """A row trigger without a WHEN clause would turn every bulk write into one call a row."""
    rows = connection.execute(
        """SELECT tgname FROM pg_trigger
        WHERE NOT tgisinternal AND tgtype & 1 = 1 AND tgqual IS NULL
        AND tgrelid::regclass::text IN ('rewrite_jobs', 'rewrite_requests', 'rewrite_outputs', 'rewrite_batch_items',
            'provider_calls', 'rewrite_job_events')"""
    ).fetchall()
    assert rows == []


def test_words_can_only_be_where_the_contract_allows_them(connection: Connection) -> None:
    """Free text columns outside the two tables would need a reason; the ones here are ids, names and codes."""
    rows = connection.execute(
        """SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND (column_name LIKE '%\\_text' OR column_name LIKE '%message%'
            OR column_name LIKE '%body%')"""
    ).fetchall()
    assert set(rows) == {("rewrite_requests", "original_text"), ("rewrite_outputs", "rewritten_text")}
