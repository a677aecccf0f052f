"""Read: the days of a table, and the rows of one day as CSV on disk; always inside of `as_analyst`, that is, as the
role that cannot read words, and as one consistent look.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import psycopg

from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.export.tables import Table
from rewrite_batch.queries import query

FIRST, LAST = date(2000, 1, 1), date(9999, 1, 1)


@dataclass(frozen=True)
class DayOfTable:
    day: date
    rows: int
    fingerprint: str


@contextmanager
def as_analyst(connection: Connection) -> Generator[None]:
    with connection.transaction():
        connection.execute(query("export/begin"))
        try:
            connection.execute(query("export/role"))
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue):
            refused = True
        else:
            refused = False
        if refused:
            raise ConfigurationError(
                "this database user may not read as rewrite_analyst: GRANT rewrite_analyst TO it, or use another login"
            )
        yield


def days_of(connection: Connection, table: Table, since: date = FIRST, until: date = LAST) -> list[DayOfTable]:
    rows = connection.execute(query(f"export/{table.name}_days"), _bounds(since, until)).fetchall()
    return [DayOfTable(*row) for row in rows]


def copy_day(connection: Connection, table: Table, day: date, file: Path) -> DayOfTable | None:
    """The rows and the fingerprint of one look; None when the day has none left."""
    after = day + timedelta(days=1)
    seen = days_of(connection, table, day, after)
    if not seen:
        return None
    statement = b"COPY (" + query(f"export/{table.name}") + rb") TO STDOUT (FORMAT csv, NULL '\N')"
    with (
        file.open("wb") as out,
        connection.cursor() as cursor,
        cursor.copy(statement, _bounds(day, after)) as rows,
    ):
        for chunk in rows:
            out.write(chunk)
    return seen[0]


def _bounds(since: date, until: date) -> dict[str, datetime]:
    return {"since": datetime.combine(since, time(), UTC), "until": datetime.combine(until, time(), UTC)}
