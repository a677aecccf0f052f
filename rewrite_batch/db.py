"""The only door to PostgreSQL: connections as this program wants them, and errors without the data in them.

Connections autocommit; a transaction is a `with connection.transaction()` block that a reader can see. No
server-side prepared statements and no session state, so that PgBouncer may stand in between.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow
from pydantic import SecretStr

from rewrite_batch.embedded import default_directory, running_postgres
from rewrite_batch.errors import (
    ConfigurationError,
    DatabaseUnavailable,
    InvariantBroken,
    RewriteBatchError,
    TryAgain,
)
from rewrite_batch.settings import Settings

Connection = psycopg.Connection[TupleRow]

CONNECT_TIMEOUT_S = 10
REFUSED_LOGIN = re.compile("FATAL:.*(authentication failed|does not exist|no pg_hba.conf entry|permission denied)")
REFUSED_VALUE = re.compile(r"invalid [a-z_ ]*(value|port number)")
# Serialisation, deadlock, lock timeout, full disk or memory, too many connections, read-only (a failover), restarts,
# cancelled or timed-out statements: the next run goes on.
PASSING = {
    "25006", "25P03", "40001", "40P01", "53100", "53200", "53300", "55P03", "57014", "57P01", "57P02", "57P03", "57P05",
    "58030",
}  # fmt: skip


@contextmanager
def database_url(settings: Settings) -> Generator[SecretStr]:
    """The URL to connect to; `embedded` is a server that lives while the block runs."""
    url = settings.require_database_url()
    kind, _, place = url.get_secret_value().partition(":")
    if kind != "embedded":
        yield url
        return
    with running_postgres(Path(place).expanduser() if place else default_directory(), shared=True) as embedded:
        yield SecretStr(embedded)


@contextmanager
def connect(url: SecretStr, *, purpose: str) -> Generator[Connection]:
    """One connection, closed at the end of the block; every database error in it leaves as one of ours."""
    with (
        plain_errors(),
        psycopg.connect(
            url.get_secret_value(),
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=CONNECT_TIMEOUT_S,
            application_name=f"rewrite-batch {purpose}",
        ) as connection,
    ):
        yield connection


def mark_run(connection: Connection, run_id: UUID) -> None:
    """Inside a transaction: the event rows that its transitions write carry this run.

    And it ends by itself when this process is frozen or its machine is gone: others may wait for its locks.
    """
    connection.execute(
        """SELECT set_config('rewrite_batch.run_id', %s, true),
        set_config('idle_in_transaction_session_timeout', '60s', true)""",
        [str(run_id)],
    )


@contextmanager
def plain_errors() -> Generator[None]:
    """psycopg's errors quote rows, and rows hold families' words: say the code and the names, drop the rest."""
    try:
        yield
    except psycopg.Error as error:
        plain = explain(error)
    else:
        return
    raise plain from None  # a traceback must not show the original either


def explain(error: psycopg.Error) -> RewriteBatchError:
    code = error.sqlstate
    if code is None or code.startswith("08"):
        if isinstance(error, psycopg.ProgrammingError) or REFUSED_VALUE.search(str(error)):
            return ConfigurationError(
                "DATABASE_URL is not a PostgreSQL URL: it should read postgresql://user@host/database"
            )
        if REFUSED_LOGIN.search(str(error)):  # libpq gives no code for this
            return ConfigurationError("the database refuses this user, password or database name: check DATABASE_URL")
        return DatabaseUnavailable("the database cannot be reached: check that it runs and that DATABASE_URL is right")
    place = " ".join(
        f"{what} {name}"
        for what, name in (
            ("table", error.diag.table_name),
            ("column", error.diag.column_name),
            ("constraint", error.diag.constraint_name),
        )
        if name
    )
    said = f"database error {code} ({type(error).__name__}){' at ' + place if place else ''}"
    if code in PASSING:
        return TryAgain(f"{said}: a passing condition, the next run goes on")
    if code in {"28P01", "28000", "3D000"}:
        return ConfigurationError(f"{said}: the database refuses this user, password or name; check DATABASE_URL")
    if code == "42501":
        return ConfigurationError(f"{said}: this database user lacks a right; grant it one of the rewrite_ roles")
    if code in {"42P01", "42703", "42883"}:
        return ConfigurationError(f"{said}: the tables are missing or old; run `rewrite-batch migrate`")
    return InvariantBroken(said)
