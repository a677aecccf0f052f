"""Migrations: numbered SQL files come in, an up-to-date schema goes out.

Forward only. Each runs in its own transaction that first takes one advisory lock and writes the record, so two
processes that migrate at once do each file once, and a killed one leaves nothing behind. A database that knows a
migration which this code does not is refused.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import psycopg

from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError, DatabaseNewerThanCode, MigrationsPending, TryAgain
from rewrite_batch.queries import query, sql_dir

LOCK_KEY = 7_236_918_255_140_031_377
FILE_NAME = re.compile(r"([0-9]{4})_[a-z0-9_]+\.sql")


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    body: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


def known_migrations(directory: Path | None = None) -> list[Migration]:
    files = sorted((directory or sql_dir() / "migrations").glob("*.sql"))
    known = [
        Migration(int(file.name[:4]), file.stem, file.read_bytes()) for file in files if FILE_NAME.fullmatch(file.name)
    ]
    if [m.version for m in known] != list(range(1, len(known) + 1)) or len(known) != len(files):
        raise ConfigurationError("sql/migrations/ must hold 0001_name.sql, 0002_name.sql, … without gaps")
    return known


def pending_migrations(connection: Connection, known: list[Migration]) -> list[Migration]:
    """What is left to do; refuses a database that is newer than this code, or whose history differs from it."""
    applied = _applied(connection)
    newest = max(applied, default=0)
    if newest > len(known):
        raise DatabaseNewerThanCode(
            f"the database is at migration {newest} and this release knows {len(known)}: deploy the newer release"
        )
    for migration in known:
        if applied.get(migration.version, migration.sha256) != migration.sha256:
            raise ConfigurationError(
                f"migration {migration.name} differs from the one this database has applied: never edit an applied "
                "migration, add a new one"
            )
    return [migration for migration in known if migration.version not in applied]


def check_migrations(connection: Connection) -> None:
    pending = pending_migrations(connection, known_migrations())
    if pending:
        raise MigrationsPending(
            f"{len(pending)} migrations are pending, from {pending[0].name}: run `rewrite-batch migrate`"
        )


def migrate(connection: Connection, known: list[Migration] | None = None) -> list[Migration]:
    """Apply what is pending; answers what this process applied."""
    known = known if known is not None else known_migrations()
    return [migration for migration in pending_migrations(connection, known) if _apply(connection, migration, known)]


def _applied(connection: Connection) -> dict[int, str]:
    """Within a transaction, only after the table was made: to_regclass alone may answer from before the wait."""
    if connection.execute("SELECT to_regclass('public.schema_migrations')").fetchone() == (None,):
        return {}
    return dict(connection.execute(query("migrate/applied")).fetchall())


def _apply(connection: Connection, migration: Migration, known: list[Migration]) -> bool:
    try:
        with connection.transaction():
            connection.execute("SET LOCAL lock_timeout = '60s'")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
            connection.execute(query("migrate/create_record_table"))
            if migration not in pending_migrations(connection, known):
                return False  # another process did it while we waited for the lock
            connection.execute(
                query("migrate/record"),
                {"version": migration.version, "name": migration.name, "sha256": migration.sha256},
            )
            connection.execute(migration.body)
    except psycopg.errors.LockNotAvailable:
        waited = True
    except psycopg.errors.InsufficientPrivilege:
        waited = False
    else:
        return True
    if waited:
        raise TryAgain("another process is migrating this database, or holds locks on its tables: try again later")
    raise ConfigurationError(
        f"this database user may not run {migration.name}. Have an administrator of the database run once:\n"
        "  rewrite-batch migrate --print-roles | psql ADMIN_URL\n"
        "and `GRANT rewrite_owner TO` the user of DATABASE_URL; then migrate again"
    )
