"""Each role, connected as a login of its own: what it may do, and what it is refused."""

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch.db import Connection
from rewrite_batch.submit.claim import claim
from tests.items import TEXT, batch_submitted, complete, completed, enqueue_one, item_document, submit

As = Callable[[str], Connection]


@pytest.fixture
def as_role(server: str, database: SecretStr) -> Iterator[As]:
    """Connect as a login that has one of the roles and nothing else."""
    opened: list[tuple[Connection, str]] = []

    def connect(role: str) -> Connection:
        login, password = f"login_{secrets.token_hex(6)}", secrets.token_hex(12)
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
                    sql.Identifier(login), password, sql.Identifier(role)
                )
            )
        conninfo = make_conninfo(database.get_secret_value(), user=login, password=password)
        connected = psycopg.connect(conninfo, autocommit=True)
        opened.append((connected, login))
        return connected

    yield connect
    with psycopg.connect(server, autocommit=True) as admin:
        for connected, login in opened:
            connected.close()
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))


# Some servers are built without XML: a route that does not exist leads nowhere either.
REFUSALS = (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)


def is_refused(connection: Connection, statement: str) -> bool:
    try:
        connection.execute(statement.encode())
    except REFUSALS:
        return True
    return False


def not_refused(connection: Connection, statements: Iterable[str]) -> list[str]:
    return [statement for statement in statements if not is_refused(connection, statement)]


TABLES = (
    "rewrite_requests", "rewrite_outputs", "rewrite_jobs", "recipient_snapshots", "recipient_preference_snapshots",
    "rewrite_provider_batches", "routing_decisions", "rewrite_batches", "rewrite_batch_items", "provider_calls",
    "token_reservations", "rewrite_job_events", "worker_runs", "outbox_events", "rewrite_alerts", "schema_migrations",
    "model_limits",
)  # fmt: skip


def test_the_list_of_tables_here_is_complete(connection: Connection) -> None:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert {row[0] for row in rows} == set(TABLES)


def test_the_orchestrator_enqueues(as_role: As) -> None:
    items = json.dumps([item_document()])
    row = as_role("rewrite_orchestrator").execute("SELECT outcome FROM enqueue_rewrites(%s)", [items]).fetchone()
    assert row == ("enqueued",)


def test_the_orchestrator_can_do_nothing_else(connection: Connection, as_role: As) -> None:
    completed(connection)
    orchestrator = as_role("rewrite_orchestrator")
    verbs = ("SELECT FROM {}", "INSERT INTO {} DEFAULT VALUES", "DELETE FROM {}", "TRUNCATE {}")
    allowed = not_refused(orchestrator, (verb.format(table) for verb in verbs for table in TABLES))
    assert allowed == ["SELECT FROM schema_migrations"]
    assert is_refused(orchestrator, "SELECT register_provider_batch('a', 'b', 'c', 1)")
    assert is_refused(orchestrator, "SELECT advance_provider_batch('a', 'failed', '', '')")
    assert is_refused(orchestrator, "CREATE TABLE rewrite_mine ()")


@pytest.mark.parametrize("role", ["rewrite_worker", "rewrite_analyst"])
def test_only_the_orchestrator_enqueues(as_role: As, role: str) -> None:
    assert is_refused(as_role(role), "SELECT enqueue_rewrites('[]')")


def test_the_worker_claims_moves_states_and_adds_outputs(connection: Connection, as_role: As) -> None:
    worker = as_role("rewrite_worker")
    job = enqueue_one(connection)
    assert [claimed.job_id for claimed in claim(worker, run_id=uuid4(), limit=10)] == [job]
    submit(worker, job)
    complete(worker, job)
    worker.execute("UPDATE rewrite_requests SET status = 'completed', rewrite_completed_at = now()")
    assert connection.execute("SELECT count(*) FROM rewrite_job_events").fetchone() == (4,)
    assert connection.execute("SELECT count(*) FROM rewrite_outputs").fetchone() == (1,)


WORKER_REFUSED = (
    "UPDATE rewrite_requests SET original_text = 'x'",
    "UPDATE rewrite_requests SET rewrite_request = '{}'",
    "UPDATE rewrite_requests SET source_locale = 'de'",
    "UPDATE rewrite_requests SET sender_reveal_at = now()",
    "UPDATE rewrite_requests SET recipient_snapshot_id = gen_random_uuid()",
    "UPDATE recipient_snapshots SET home_id = gen_random_uuid()",
    "UPDATE recipient_preference_snapshots SET preference_payload = '{}'",
    "INSERT INTO recipient_snapshots VALUES (gen_random_uuid(), gen_random_uuid(), '{}')",
    "INSERT INTO recipient_preference_snapshots VALUES (gen_random_uuid(), gen_random_uuid(), '{}')",
    "UPDATE rewrite_outputs SET rewritten_text = 'x'",
    "INSERT INTO rewrite_outputs (rewrite_request_id) VALUES (gen_random_uuid()) "
    "ON CONFLICT (rewrite_request_id, recipient_user_id) DO UPDATE SET rewritten_text = 'x'",
    "MERGE INTO rewrite_outputs o USING rewrite_jobs j ON o.rewrite_request_id = j.rewrite_request_id "
    "WHEN MATCHED THEN UPDATE SET rewritten_text = 'x'",
    "MERGE INTO rewrite_outputs o USING rewrite_jobs j ON o.rewrite_request_id = j.rewrite_request_id "
    "WHEN MATCHED THEN DELETE",
    "SELECT FROM recipient_snapshots FOR UPDATE",
    "CREATE TRIGGER mine BEFORE INSERT ON rewrite_outputs EXECUTE FUNCTION refuse_change()",
    "CREATE RULE mine AS ON INSERT TO rewrite_outputs DO INSTEAD NOTHING",
    "SELECT rewritten_text FROM rewrite_outputs",
    "UPDATE rewrite_jobs SET routing_decision = '{}'",
    "UPDATE rewrite_jobs SET recipient_user_id = gen_random_uuid()",
    "UPDATE rewrite_jobs SET max_attempts = 9",
    "INSERT INTO rewrite_job_events (job_id, rewrite_request_id, to_status, attempt, actor) "
    "SELECT job_id, rewrite_request_id, 'completed', 1, 'x' FROM rewrite_jobs",
    "UPDATE rewrite_provider_batches SET status = 'failed'",
    "INSERT INTO rewrite_provider_batches VALUES ('x', 'y', 'z', NULL, NULL, 'pending', 1)",
    "UPDATE provider_calls SET cost_usd = 0",
    "INSERT INTO rewrite_jobs SELECT * FROM rewrite_jobs",
    "ALTER TABLE rewrite_jobs DISABLE TRIGGER ALL",
    "SET session_replication_role = replica",
)  # fmt: skip


def test_the_worker_cannot_change_what_was_asked_or_delivered(connection: Connection, as_role: As) -> None:
    completed(connection)
    assert not_refused(as_role("rewrite_worker"), WORKER_REFUSED) == []


WORKER_UPDATES = {
    "rewrite_requests": {"status", "rewrite_completed_at", "updated_at"},
    "rewrite_jobs": {
        "status", "provider_batch_id", "not_before_at", "claimed_at", "claimed_by", "attempt_count", "last_error",
        "last_error_at", "updated_at", "submitted_at", "claim_count", "batch_id", "finished_at",
    },
    "rewrite_alerts": {"acknowledged_at", "acknowledged_by"},
}  # fmt: skip
WORKER_UPDATES_ALL = {
    "rewrite_batches", "rewrite_batch_items", "token_reservations", "worker_runs", "outbox_events", "model_limits",
}  # fmt: skip


def test_what_a_role_may_update_is_these_columns_and_no_others(connection: Connection, as_role: As) -> None:
    columns = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    ).fetchall()
    meant = {
        (table, column)
        for table, column in columns
        if table in WORKER_UPDATES_ALL or column in WORKER_UPDATES.get(table, set())
    }
    assert len([pair for pair in meant if pair[0] in WORKER_UPDATES]) == sum(map(len, WORKER_UPDATES.values()))
    nothing = set[tuple[str, str]]()
    for role, expected in (("rewrite_worker", meant), ("rewrite_orchestrator", nothing), ("rewrite_analyst", nothing)):
        connected = as_role(role)
        may = {
            (table, column)
            for table, column in columns
            if connected.execute("SELECT has_column_privilege(%s, %s, 'UPDATE')", [table, column]).fetchone() == (True,)
        }
        assert may == expected, role


@pytest.mark.parametrize(
    ("role", "meant"),
    [
        ("rewrite_orchestrator", {"enqueue_rewrites"}),
        ("rewrite_worker", {"holds_no_words", "rewrite_unit_key", "register_provider_batch", "advance_provider_batch"}),
        ("rewrite_analyst", set[str]()),
    ],
)
def test_a_role_calls_these_functions_and_no_others(as_role: As, role: str, meant: set[str]) -> None:
    """Many run with their owner's rights: one that anybody may call is a way around every grant."""
    callable_ = as_role(role).execute(
        """SELECT proname FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND has_function_privilege(oid, 'EXECUTE')"""
    )
    assert {name for (name,) in callable_.fetchall()} == meant


@pytest.mark.parametrize("role", ["rewrite_worker", "rewrite_analyst"])
def test_nobody_but_the_owner_deletes(as_role: As, role: str) -> None:
    statements = [f"{verb} {table}" for verb in ("DELETE FROM", "TRUNCATE") for table in TABLES]
    assert not_refused(as_role(role), statements) == []


TEXT_ROUTES = (
    "SELECT original_text FROM rewrite_requests",
    "SELECT rewrite_request FROM rewrite_requests",
    "SELECT rewrite_request ->> 'original_text' FROM rewrite_requests",
    "SELECT context_pack FROM rewrite_requests",
    "SELECT * FROM rewrite_requests",
    "TABLE rewrite_requests",
    "SELECT r FROM rewrite_requests r",
    "SELECT row_to_json(r) FROM rewrite_requests r",
    "SELECT to_jsonb(r) FROM rewrite_requests r",
    "SELECT r::text FROM rewrite_requests r",
    "SELECT (r).original_text FROM (SELECT r FROM rewrite_requests r) s",
    "SELECT 1 FROM rewrite_requests WHERE original_text LIKE 'T%'",
    "SELECT count(*) FROM rewrite_requests GROUP BY original_text",
    "SELECT status FROM rewrite_requests ORDER BY original_text",
    "COPY rewrite_requests TO STDOUT",
    "COPY (SELECT original_text FROM rewrite_requests) TO STDOUT",
    "CREATE TEMP TABLE mine AS SELECT * FROM rewrite_requests",
    "UPDATE rewrite_requests SET status = 'failed' RETURNING original_text",
    "DELETE FROM rewrite_requests RETURNING original_text",
    "SELECT rewritten_text FROM rewrite_outputs",
    "SELECT * FROM rewrite_outputs",
    "SELECT o FROM rewrite_outputs o",
    "SELECT length(rewritten_text) FROM rewrite_outputs",
    "SELECT preference_payload FROM recipient_preference_snapshots",
    "SELECT * FROM pg_statistic",
    "SELECT enqueue_rewrites('[]')",
    "EXPLAIN SELECT original_text FROM rewrite_requests",
    "EXPLAIN ANALYZE SELECT status FROM rewrite_requests WHERE original_text < 'm'",
    "DO $$ BEGIN PERFORM original_text FROM rewrite_requests; END $$",
    "DECLARE mine CURSOR WITH HOLD FOR SELECT original_text FROM rewrite_requests",
    "CREATE TEMP VIEW mine AS SELECT original_text FROM rewrite_requests; SELECT * FROM mine",
    "SELECT j.status FROM rewrite_jobs j JOIN rewrite_requests r ON r.original_text = j.status",
    "SELECT max(status) OVER (PARTITION BY original_text) FROM rewrite_requests",
    "SELECT original_text FROM rewrite_requests FOR UPDATE",
    "MERGE INTO rewrite_jobs USING rewrite_requests r ON r.original_text = 'x' WHEN MATCHED THEN DO NOTHING",
    "CREATE INDEX ON rewrite_requests (original_text)",
    "CREATE STATISTICS mine ON status, original_text FROM rewrite_requests",
    "CREATE TRIGGER mine AFTER INSERT ON rewrite_requests EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "CREATE POLICY mine ON rewrite_requests",
    "CREATE TABLE mine () INHERITS (rewrite_requests)",
    "CREATE TEMP TABLE mine () INHERITS (rewrite_requests)",
    "COPY (SELECT status FROM rewrite_requests) TO '/tmp/mine'",
    "COPY (SELECT status FROM rewrite_requests) TO PROGRAM 'cat'",
    "SELECT pg_ls_waldir()",
    "SELECT * FROM pg_create_logical_replication_slot('mine', 'test_decoding')",
    "SELECT query_to_xml('SELECT original_text FROM rewrite_requests', true, true, '')",
    "SELECT table_to_xml('rewrite_requests', true, true, '')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT pg_read_file('postgresql.conf')",
    "SET ROLE rewrite_owner",
    "SET ROLE rewrite_worker",
)


def test_the_analyst_reads_no_text_by_any_route(connection: Connection, as_role: As) -> None:
    completed(connection)
    assert not_refused(as_role("rewrite_analyst"), TEXT_ROUTES) == []


def test_statistics_tell_the_analyst_no_words(connection: Connection, as_role: As) -> None:
    completed(connection)
    batch_submitted(connection)
    connection.execute("ANALYZE")
    everything = "SELECT most_common_vals::text, histogram_bounds::text FROM pg_stats WHERE schemaname = 'public'"
    assert any(TEXT in str(row) for row in connection.execute(everything).fetchall())

    analyst = as_role("rewrite_analyst")
    assert not any(TEXT in str(row) for row in analyst.execute(everything).fetchall())
    assert not any(TEXT in str(row) for row in analyst.execute("SELECT query FROM pg_stat_activity").fetchall())


def test_the_analyst_reads_every_other_column(connection: Connection, as_role: As) -> None:
    completed(connection)
    words = {
        ("rewrite_requests", "original_text"),
        ("rewrite_requests", "rewrite_request"),
        ("rewrite_requests", "context_pack"),
        ("rewrite_outputs", "rewritten_text"),
        ("recipient_preference_snapshots", "preference_payload"),
    }
    columns = connection.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    ).fetchall()
    analyst = as_role("rewrite_analyst")
    readable = {
        (table, column)
        for table, column in columns
        if analyst.execute("SELECT has_column_privilege(%s, %s, 'SELECT')", [table, column]).fetchone() == (True,)
    }
    assert set(columns) - readable == words
    for table, column in sorted(readable):
        analyst.execute(sql.SQL("SELECT {} FROM {}").format(sql.Identifier(column), sql.Identifier(table)))


def test_the_analyst_writes_nothing(as_role: As) -> None:
    analyst = as_role("rewrite_analyst")
    assert not_refused(analyst, (f"INSERT INTO {table} DEFAULT VALUES" for table in TABLES)) == []
    for table in TABLES:
        row = analyst.execute("SELECT has_any_column_privilege(%s, 'UPDATE')", [table]).fetchone()
        assert row == (False,), table


def test_a_login_without_a_role_gets_nowhere(as_role: As) -> None:
    """PUBLIC has no right of its own: here a login that may read the server's settings and nothing of ours."""
    stranger = as_role("pg_read_all_settings")
    functions = [
        "enqueue_rewrites('[]')",
        "register_provider_batch('', '', '', 1)",
        "rewrite_unit_key(gen_random_uuid(), gen_random_uuid())",
    ]
    statements = [f"SELECT FROM {table}" for table in TABLES] + [f"SELECT {function}" for function in functions]
    assert not_refused(stranger, statements) == []
