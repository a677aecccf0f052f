"""Migrations: forward, once, by whoever comes first; refused when the database is ahead; and what they build."""

import secrets
import subprocess
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError, DatabaseNewerThanCode, MigrationsPending
from rewrite_batch.migrate import (
    LOCK_KEY,
    Migration,
    check_migrations,
    known_migrations,
    migrate,
    pending_migrations,
)
from tests import schema_file
from tests.conftest import new_database

CATALOGUE = """
SELECT 'column', format('%s.%s %s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull,
    pg_get_expr(adbin, adrelid), attacl)
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r')
    AND attnum > 0
UNION ALL
SELECT 'table', format('%s %s %s %s', relname, relkind, pg_get_userbyid(relowner), reloptions)
FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'right', format('%s %s', relname, acl) FROM pg_class, unnest(relacl) AS acl
WHERE relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'constraint', format('%s.%s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
UNION ALL
SELECT 'index', pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'trigger', pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'function', format('%s %s %s', pg_get_functiondef(oid), pg_get_userbyid(proowner), proacl) FROM pg_proc
WHERE pronamespace = 'public'::regnamespace
"""


def catalogue(connection: Connection) -> set[tuple[str, str]]:
    return set(connection.execute(CATALOGUE).fetchall())


@pytest.fixture
def empty(empty_database: SecretStr) -> Iterator[Connection]:
    with psycopg.connect(empty_database.get_secret_value(), autocommit=True) as connected:
        yield connected


def versions(connection: Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT version FROM schema_migrations ORDER BY version").fetchall()]


def test_migrate_applies_each_file_once_in_order(empty: Connection) -> None:
    known = known_migrations()
    assert migrate(empty) == known
    assert versions(empty) == [m.version for m in known]
    assert migrate(empty) == []


def test_two_processes_that_migrate_at_once_do_each_file_once(empty_database: SecretStr) -> None:
    def one(_: int) -> int:
        with db.connect(empty_database, purpose="test") as connection:
            return len(migrate(connection))

    with ThreadPoolExecutor(8) as pool:
        applied = list(pool.map(one, range(8)))
    assert sum(applied) == len(known_migrations())


def test_a_migration_that_fails_leaves_nothing_behind(empty: Connection) -> None:
    broken = Migration(1, "0001_broken", b"CREATE TABLE half (); SELECT 1 / 0;")
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty, [broken])
    assert empty.execute("SELECT to_regclass('half'), to_regclass('schema_migrations')").fetchone() == (
        None,
        None,
    )


def test_a_migration_is_recorded_first_in_its_own_transaction(empty: Connection) -> None:
    looks = Migration(1, "0001_looks", b"CREATE TABLE seen AS SELECT version FROM schema_migrations;")
    migrate(empty, [looks])
    assert empty.execute("SELECT version FROM seen").fetchall() == [(1,)]


def test_a_database_newer_than_the_code_is_refused(connection: Connection) -> None:
    connection.execute("INSERT INTO schema_migrations (version, name, sha256) VALUES (9999, '9999_later', 'x')")
    with pytest.raises(DatabaseNewerThanCode, match="deploy the newer release"):
        migrate(connection)


def test_an_edited_migration_is_refused(connection: Connection) -> None:
    connection.execute("UPDATE schema_migrations SET sha256 = 'x' WHERE version = 2")
    with pytest.raises(ConfigurationError, match="never edit an applied"):
        migrate(connection)


def test_check_says_what_is_pending_and_changes_nothing(empty: Connection) -> None:
    with pytest.raises(MigrationsPending, match="0001_create_roles"):
        check_migrations(empty)
    assert empty.execute("SELECT to_regclass('schema_migrations')").fetchone() == (None,)
    migrate(empty)
    check_migrations(empty)


def test_migrate_waits_for_the_lock_of_another_process(empty_database: SecretStr, empty: Connection) -> None:
    url = empty_database.get_secret_value()
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pid = %s"
    with psycopg.connect(url, autocommit=True) as second, ThreadPoolExecutor(1) as pool:
        with empty.transaction():
            empty.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
            running = pool.submit(migrate, second, [Migration(1, "0001_x", b"SELECT 1")])
            while empty.execute(waits, [second.info.backend_pid]).fetchone() == (0,):
                assert not running.done()
        assert len(running.result()) == 1


def test_numbers_without_gaps_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "0001_a.sql").write_text("SELECT 1")
    (tmp_path / "0003_c.sql").write_text("SELECT 1")
    with pytest.raises(ConfigurationError, match="without gaps"):
        known_migrations(tmp_path)


def test_the_schema_file_builds_what_the_migrations_build(connection: Connection, empty: Connection) -> None:
    empty.execute(schema_file.PATH.read_bytes())
    assert catalogue(empty) == catalogue(connection)


def test_the_schema_file_is_up_to_date(server: str, connection: Connection, template: str) -> None:
    if schema_file.pg_dump() is None or connection.info.server_version // 10_000 != 18:
        pytest.skip("the file is written from PostgreSQL 18; the test above compares the catalogues on every version")
    fresh = schema_file.dump(make_conninfo(server, dbname=template))
    assert fresh == schema_file.PATH.read_text(), "run `uv run python -m tests.schema_file`"


@pytest.fixture
def plain_login(server: str) -> Iterator[tuple[str, str]]:
    """A login without any right, as a managed service may hand out."""
    login, password = f"plain_{secrets.token_hex(6)}", secrets.token_hex(12)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(login), password))
    yield login, password
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(login)))


def test_where_roles_may_not_be_created_an_administrator_runs_one_file_and_migrate_goes_on(
    server: str, plain_login: tuple[str, str]
) -> None:
    login, password = plain_login
    with new_database(server) as name:
        url = make_conninfo(server, dbname=name, user=login, password=password)
        with psycopg.connect(url, autocommit=True) as connection:
            with pytest.raises(ConfigurationError, match="--print-roles"):
                migrate(connection)

            with psycopg.connect(make_conninfo(server, dbname=name), autocommit=True) as admin:
                admin.execute(known_migrations()[0].body)  # what `migrate --print-roles` prints
                admin.execute(sql.SQL("GRANT rewrite_owner TO {}").format(sql.Identifier(login)))

            assert migrate(connection) == known_migrations()
            assert pending_migrations(connection, known_migrations()) == []


def test_the_command_prints_the_roles_file() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rewrite_batch", "migrate", "--print-roles"], capture_output=True, check=True
    )
    assert done.stdout == known_migrations()[0].body


def test_no_secret_of_the_url_is_in_an_error(database: SecretStr) -> None:
    wrong = make_conninfo(database.get_secret_value(), user="nobody_here", password="hunter2-secret")
    with pytest.raises(ConfigurationError) as refused, db.connect(SecretStr(wrong), purpose="test"):
        pass
    assert "hunter2" not in "".join(traceback.format_exception(refused.value))
