"""Export: the same rows, none of the words, only the days that changed, and safe to interrupt."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.collect.parse import MOST_TOKENS
from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError, TryAgain
from rewrite_batch.export import run as exporting
from rewrite_batch.export.manifest import load, locked
from rewrite_batch.export.read import as_analyst
from rewrite_batch.export.run import export
from rewrite_batch.export.tables import TABLES
from rewrite_batch.export.verify import verify
from rewrite_batch.prices import Rates, Usage
from tests.conftest import new_database
from tests.ledger import BEGIN, CANARY, Past, fill, write

DAY = BEGIN.date()


@pytest.fixture
def filled(connection: Connection) -> Connection:
    fill(connection)
    return connection


@pytest.fixture(scope="module")
def source(server: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SecretStr, Path]]:
    """A past that no test changes, and its export."""
    directory = tmp_path_factory.mktemp("export")
    with new_database(server, template) as name:
        url = SecretStr(make_conninfo(server, dbname=name))
        with db.connect(url, purpose="tests") as connection:
            fill(connection)
            export(connection, directory)
        yield url, directory


@pytest.fixture
def exported(source: tuple[SecretStr, Path], tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(source[1], tmp_path / "copy"))


def rows_of(directory: Path, table: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as duck:
        return duck.execute(
            f"SELECT * FROM read_parquet('{directory}/{table}/*/*.parquet', hive_partitioning = false) ORDER BY ALL"
        ).fetchall()


def bytes_of(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("*.parquet"))}


def written(result: Any) -> dict[str, int]:
    return {table.table: table.written for table in result.tables if table.written}


@contextmanager
def login(connection: Connection, database: SecretStr, role: str) -> Generator[SecretStr]:
    """A login of its own that holds one role."""
    name = f"login_{role}_{os.getpid()}"
    connection.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'pw' IN ROLE {}").format(*map(sql.Identifier, (name, role)))
    )
    try:
        yield SecretStr(make_conninfo(database.get_secret_value(), user=name, password="pw"))
    finally:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_every_row_goes_along_with_every_digit(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path)
    with as_analyst(filled):
        for table in TABLES:
            statement = (Path("sql/export") / f"{table.name}.sql").read_bytes()
            expected = filled.execute(statement, {"since": "2000-01-01", "until": "3000-01-01"}).fetchall()
            assert len(expected) > 5, table.name
            lists = {i for i, column in enumerate(table.columns) if column.type == "VARCHAR[]"}
            plain = [
                tuple(
                    (value.split(",") if value else [] if value == "" else None) if i in lists else value
                    for i, value in enumerate(row)
                )
                for row in expected
            ]
            found = rows_of(tmp_path, table.name)
            if table.name == "runs":
                found = [(*row[:6], json.loads(row[6]), *row[7:]) for row in found]
            assert sorted(map(repr, found)) == sorted(map(repr, plain)), table.name


def test_the_ledger_s_column_holds_the_dearest_line_there_can_be() -> None:
    dearest = Rates(input=Decimal(1500), cached_input=Decimal(1500), cache_write=Decimal(1500), output=Decimal(1500))
    assert dearest.price(Usage(MOST_TOKENS, 0, 0, MOST_TOKENS)) < 10**6


def test_the_statements_select_the_columns_that_the_list_names(filled: Connection) -> None:
    for table in TABLES:
        with as_analyst(filled):
            cursor = filled.execute(
                (Path("sql/export") / f"{table.name}.sql").read_bytes(), {"since": "2000-01-01", "until": "2000-01-02"}
            )
            assert cursor.description is not None
            assert len(cursor.description) == len(table.columns), table.name


def test_no_word_is_in_any_file_and_verify_proves_it(exported: Path) -> None:
    for name, content in bytes_of(exported).items():
        assert CANARY.encode() not in content, name
    verified = verify(exported)
    assert verified.problems == []
    assert verified.rows > 100
    assert verified.strings > 1000


def test_the_database_itself_refuses_a_text_column_during_an_export(filled: Connection) -> None:
    for column, table in (("original_text", "rewrite_requests"), ("rewritten_text", "rewrite_outputs")):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), as_analyst(filled):
            filled.execute(f"SELECT {column} FROM {table}".encode())


def test_an_export_writes_nothing_to_the_database(filled: Connection) -> None:
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), as_analyst(filled):
        filled.execute("INSERT INTO rewrite_alerts (kind) VALUES ('x')")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT *, 'I hate your music' AS note FROM {}", "columns"),
        ("SELECT * REPLACE ('I hate your music' AS model) FROM {}", "no codes"),
        ("SELECT * REPLACE ('音楽がうるさい' AS model) FROM {}", "no codes"),
        ("SELECT * REPLACE ('music' AS source_locale) FROM {}", "no codes"),
        ("SELECT * REPLACE (cost_usd::VARCHAR AS cost_usd) FROM {}", "columns"),
        ("SELECT * FROM {} LIMIT 0", "rows where the manifest says"),
    ],
)
def test_verify_finds_what_somebody_put_into_a_file(exported: Path, query: str, says: str) -> None:
    file = min((exported / "calls").rglob("*.parquet"))
    with duckdb.connect() as duck:
        duck.execute(f"CREATE TABLE t AS {query.format(f'read_parquet({str(file)!r}, hive_partitioning = false)')}")
        duck.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    problems = verify(exported).problems
    assert [problem.file for problem in problems] == [str(file.relative_to(exported))]
    assert says in problems[0].says
    assert "music" not in repr(problems)


def test_verify_finds_words_in_a_list_a_stray_file_and_a_torn_one(exported: Path) -> None:
    file = min((exported / "items").rglob("*.parquet"))
    with duckdb.connect() as duck:
        duck.execute(
            f"""CREATE TABLE t AS SELECT * REPLACE (['blame', 'so loud'] AS violations)
            FROM read_parquet('{file}', hive_partitioning = false)"""
        )
        duck.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    (exported / "calls" / "copy.parquet").write_bytes(b"whatever")
    torn = min((exported / "jobs").rglob("*.parquet"))
    torn.write_bytes(torn.read_bytes()[:100])
    found = {(problem.file, problem.column) for problem in verify(exported).problems}
    assert found == {
        (str(file.relative_to(exported)), "violations"),
        ("calls/copy.parquet", None),
        (str(torn.relative_to(exported)), None),
    }


def test_a_second_export_writes_nothing(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path)
    before = bytes_of(tmp_path)
    assert written(export(filled, tmp_path)) == {}
    assert bytes_of(tmp_path) == before


def test_late_rows_of_a_past_day_are_seen(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path)
    day = filled.execute("SELECT min(created_at) FROM provider_calls").fetchone()
    filled.execute("SET session_replication_role = replica")
    filled.execute(
        """INSERT INTO provider_calls
        SELECT gen_random_uuid(), batch_item_index, job_id, rewrite_request_id, attempt, provider, model,
            source_locale, target_locale, NULL, NULL, 1, 0, 0, 1, 0, NULL, NULL, created_at - interval '1 second'
        FROM provider_calls WHERE created_at = %s""",
        day,
    )
    assert written(export(filled, tmp_path)) == {"calls": 1}
    total = filled.execute("SELECT count(*) FROM provider_calls").fetchone()
    assert total == (len(rows_of(tmp_path, "calls")),)


CHANGES = [
    ("UPDATE rewrite_jobs SET claim_count = claim_count + 1 WHERE ctid = '(0,1)'", "jobs"),
    ("UPDATE rewrite_batch_items SET provider_status_code = 201 WHERE ctid = '(0,1)'", "items"),
    ("UPDATE token_reservations SET reserved_tokens = 9 WHERE ctid = '(0,1)'", "batches"),
    ("UPDATE rewrite_batches SET provider_status = 'x' WHERE ctid = '(0,1)'", "batches"),
    ("UPDATE worker_runs SET exit_code = 75 WHERE ctid = '(0,1)'", "runs"),
    ("UPDATE rewrite_alerts SET acknowledged_at = now() WHERE ctid = '(0,1)'", "alerts"),
    ("DELETE FROM rewrite_outputs WHERE ctid = '(0,1)'", "verdicts"),
    ("DELETE FROM rewrite_job_events WHERE ctid = '(0,1)'", "events"),
]


def test_a_row_that_changes_later_brings_its_day_again(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path)
    filled.execute("SET session_replication_role = replica")
    for change, table in CHANGES:
        assert filled.execute(change.encode()).rowcount == 1
        result = export(filled, tmp_path)
        assert {t.table: t.written + t.removed for t in result.tables if t.written + t.removed} == {table: 1}, change


def test_an_item_that_is_decided_moves_to_the_day_of_its_decision(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path)
    filled.execute("SET session_replication_role = replica")
    row = filled.execute(
        """UPDATE rewrite_batch_items SET outcome = 'kept', decided_at = '2026-12-24T12:00:00Z'
        WHERE ctid = (SELECT min(ctid) FROM rewrite_batch_items WHERE outcome IS NULL) RETURNING job_id"""
    ).fetchone()
    assert row is not None
    result = export(filled, tmp_path)
    assert {t.table: t.written + t.removed for t in result.tables if t.written + t.removed} == {"items": 2}
    days = [found[-1] for found in rows_of(tmp_path, "items") if found[2] == row[0] and found[9 + 1] == "kept"]
    assert [day.date().isoformat() for day in days] == ["2026-12-24"]
    total = filled.execute("SELECT count(*) FROM rewrite_batch_items").fetchone()
    assert total == (len(rows_of(tmp_path, "items")),)


def test_a_day_that_was_erased_goes_away(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path)
    filled.execute("SET session_replication_role = replica")
    filled.execute("DELETE FROM rewrite_outputs")
    result = export(filled, tmp_path)
    assert [t.removed > 0 for t in result.tables if t.table == "verdicts"] == [True]
    assert list((tmp_path / "verdicts").rglob("*.parquet")) == []
    assert verify(tmp_path).problems == []


def test_since_and_until_leave_other_days_alone(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path, since=DAY + timedelta(days=2), until=DAY + timedelta(days=4))
    days = {file.parent.name for file in tmp_path.rglob("*.parquet")}
    assert days == {"day=2026-10-22", "day=2026-10-23"}
    export(filled, tmp_path)
    before = bytes_of(tmp_path)
    filled.execute("SET session_replication_role = replica")
    filled.execute("DELETE FROM rewrite_alerts")
    export(filled, tmp_path, since=date(2030, 1, 1))
    assert bytes_of(tmp_path) == before


def test_midnight_belongs_to_the_new_day_whatever_the_session_s_zone(connection: Connection, tmp_path: Path) -> None:
    past = Past(1)
    for at in (BEGIN - timedelta(microseconds=1), BEGIN):
        past.add("rewrite_alerts", kind="x", created_at=at)
    write(connection, past)
    connection.execute("SET timezone = 'Asia/Tokyo'")
    connection.execute("SET datestyle = 'German'")
    export(connection, tmp_path)
    assert sorted(file.name for file in (tmp_path / "alerts").iterdir()) == ["day=2026-10-19", "day=2026-10-20"]
    assert [row[-2] for row in rows_of(tmp_path, "alerts")] == [
        (BEGIN - timedelta(microseconds=1)).replace(tzinfo=None),
        BEGIN.replace(tzinfo=None),
    ]


def test_a_torn_day_and_a_lost_manifest_are_written_again(filled: Connection, tmp_path: Path) -> None:
    export(filled, tmp_path)
    whole = {name: rows_of(tmp_path, name) for name in ("calls", "jobs")}
    (tmp_path / "manifest.json").unlink()
    for file in (tmp_path / "calls").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:50])
    (tmp_path / ".scratch").mkdir()
    (tmp_path / ".scratch" / "day.csv").write_text("left by a killed run")
    export(filled, tmp_path)
    assert {name: rows_of(tmp_path, name) for name in whole} == whole
    assert not (tmp_path / ".scratch").exists()
    assert verify(tmp_path).problems == []


def test_a_manifest_that_is_broken_or_newer_says_what_to_do(filled: Connection, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ConfigurationError, match="remove it"):
        export(filled, tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 2}')
    with pytest.raises(ConfigurationError, match="new directory"):
        export(filled, tmp_path)


def test_two_exports_do_not_write_to_one_directory(filled: Connection, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(TryAgain, match="another export"):
        export(filled, tmp_path)
    export(filled, tmp_path)


def test_an_analyst_s_login_can_export_and_a_worker_s_is_told_what_to_do(
    filled: Connection, database: SecretStr, tmp_path: Path
) -> None:
    with login(filled, database, "rewrite_analyst") as url, db.connect(url, purpose="tests") as analyst:
        export(analyst, tmp_path)
    assert verify(tmp_path).problems == []
    with (
        login(filled, database, "rewrite_worker") as url,
        pytest.raises(ConfigurationError, match="GRANT rewrite_analyst"),
        db.connect(url, purpose="tests") as worker,
    ):
        export(worker, tmp_path)


def test_a_read_only_database_is_enough(filled: Connection, tmp_path: Path) -> None:
    filled.execute("SET default_transaction_read_only = on")
    filled.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    export(filled, tmp_path)
    assert verify(tmp_path).problems == []


def test_killed_at_any_day_the_next_export_goes_on(filled: Connection, database: SecretStr, tmp_path: Path) -> None:
    """SIGKILL as soon as some day is there; then once more from the middle; then to the end."""
    code = "from rewrite_batch.cli import main; main()"
    environment = {**os.environ, "DATABASE_URL": database.get_secret_value()}
    for table in ("calls", "jobs"):
        process = subprocess.Popen(
            [sys.executable, "-c", code, "export", str(tmp_path)], env=environment, stdout=-3, stderr=-3
        )
        while not list((tmp_path / table).rglob("*.parquet")) and process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    export(filled, tmp_path)
    manifest = load(tmp_path)
    assert manifest is not None
    for table in TABLES:
        count = filled.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table.source))).fetchone()
        assert count == (sum(day.rows for day in manifest.tables[table.name].values()),)
    assert verify(tmp_path).problems == []
    assert not (tmp_path / exporting.SCRATCH).exists()
