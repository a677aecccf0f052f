"""The tables, columns and indexes of the storage contract are there by the names given there."""

from typing import LiteralString

from rewrite_batch.db import Connection

COLUMNS = {
    "rewrite_requests": """rewrite_request_id home_id sender_user_id recipient_user_id recipient_snapshot_id
        recipient_preference_snapshot_id surface original_text source_locale target_locale lane topics intent
        rewrite_strength classifier_result context_pack rewrite_request classifier_version context_pack_version
        policy_version status rewrite_completed_at sender_reveal_at created_at updated_at""",
    "rewrite_outputs": """rewrite_request_id recipient_user_id rewritten_text output_language target_locale model
        provider prompt_version policy_version lexicon_version eval_result created_at""",
    "rewrite_jobs": """job_id rewrite_request_id recipient_user_id recipient_snapshot_id
        recipient_preference_snapshot_id task surface rewrite_strength language_pair lane routing_decision
        provider_batch_id status not_before_at claimed_at claimed_by attempt_count max_attempts last_error
        last_error_at created_at updated_at submitted_at""",
    "recipient_snapshots": "recipient_snapshot_id home_id recipient_user_ids created_at",
    "recipient_preference_snapshots": """recipient_preference_snapshot_id recipient_user_id preference_payload
        created_at""",
    "rewrite_provider_batches": """provider_batch_id endpoint input_file_id output_file_id error_file_id status
        job_count created_at updated_at""",
    "routing_decisions": "routing_decision_id rewrite_request_id decision created_at",
}
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


def test_every_column_of_the_contract_is_there(connection: Connection) -> None:
    rows = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    ).fetchall()
    there = set(rows)
    wanted = {(table, column) for table, columns in COLUMNS.items() for column in columns.split()}
    assert wanted - there == set()


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
