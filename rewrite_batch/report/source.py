"""Sources: an export, or PostgreSQL, comes in; a DuckDB with the named views over it goes out, locked.

Locked means: it reads these files and nothing else, reaches no network, and its configuration cannot be changed back.
"""

import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb

from rewrite_batch.db import connect, database_url
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.export.manifest import Manifest, load
from rewrite_batch.export.parquet import literal
from rewrite_batch.export.read import FIRST, LAST
from rewrite_batch.export.run import export
from rewrite_batch.export.tables import BY_NAME, TABLES, Table
from rewrite_batch.migrate import check_migrations
from rewrite_batch.prices import PriceBook, Rates, price_book
from rewrite_batch.report.period import Period
from rewrite_batch.settings import Settings

MEMORY = "512MB"
RATES = tuple(Rates.model_fields)
BY_FOLDER = "hive_partitioning = true, hive_types = {'day': DATE}"
# The tables whose rows count by the day that also names their file: the others are read by a later time.
BY_DAY = frozenset({"calls", "events"})


@dataclass(frozen=True)
class Source:
    duck: duckdb.DuckDBPyConnection
    says: str
    as_of: datetime


@contextmanager
def source(settings: Settings, directory: Path | None, period: Period, tables: Iterable[str]) -> Generator[Source]:
    """Over the export in `directory`; without one, over PostgreSQL as it is now."""
    if directory is not None:
        with _export_in(directory, settings, period) as opened:
            yield opened
        return
    with tempfile.TemporaryDirectory(prefix="rewrite-batch-report-") as scratch:
        pull(settings, Path(scratch), period, tables)
        with _views(Path(scratch), load(Path(scratch)) or Manifest(), settings, period) as duck:
            yield Source(duck, "PostgreSQL", datetime.now(UTC))


def pull(settings: Settings, directory: Path, period: Period, tables: Iterable[str]) -> None:
    """The tables that are asked for; of those that count by day, only the days that are looked at."""
    first = min(period.previous_since, datetime.now(UTC).date().replace(day=1))
    with database_url(settings) as url, connect(url, purpose="report") as connection:
        check_migrations(connection)
        for name in sorted(set(tables)):
            since, until = (first, max(period.until, LAST)) if name in BY_DAY else (FIRST, LAST)
            export(connection, directory, since=since, until=until, tables=[BY_NAME[name]])


@contextmanager
def _export_in(directory: Path, settings: Settings, period: Period) -> Generator[Source]:
    manifest = load(directory)
    if manifest is None:
        raise ConfigurationError(f"there is no export in {directory}: run `rewrite-batch export {directory}` first")
    with _views(directory, manifest, settings, period) as duck:
        yield Source(duck, f"the export in {directory.name}", manifest.written_at)


@contextmanager
def _views(
    directory: Path, manifest: Manifest, settings: Settings, period: Period
) -> Generator[duckdb.DuckDBPyConnection]:
    with (
        tempfile.TemporaryDirectory(prefix="rewrite-batch-duckdb-") as spill,
        duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "temp_directory": spill,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        ) as duck,
    ):
        for statement in view_statements(directory, manifest):
            duck.execute(statement)
        _prices(duck, price_book(settings.price_book))
        _variables(duck, period, settings)
        files = [file for table in TABLES for file in manifest.files(directory, table.name)]
        duck.execute(f"SET allowed_paths = [{', '.join(literal(file) for file in files)}]")
        duck.execute("SET enable_external_access = false")
        duck.execute("SET lock_configuration = true")
        yield duck


def view_statements(directory: Path, manifest: Manifest) -> list[str]:
    """One view a table. Paths are absolute, so that the statements work in any DuckDB on this machine."""
    return [_view(table, manifest.files(directory.absolute(), table.name)) for table in TABLES]


def _view(table: Table, files: list[Path]) -> str:
    if files:
        listed = ", ".join(literal(file) for file in files)
        return f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet([{listed}], {BY_FOLDER})"  # noqa: S608  quoted
    nothing = ", ".join(f"NULL::{column.type} AS {column.name}" for column in table.columns)
    return f"CREATE VIEW {table.name} AS SELECT {nothing}, NULL::DATE AS day WHERE false"


def _prices(duck: duckdb.DuckDBPyConnection, book: PriceBook) -> None:
    """The price book as a table: a row for each version and model; the long-prompt rates beside the usual ones."""
    rates = ", ".join(f"{name} DECIMAL(18, 6)" for name in (*RATES, *(f"long_{rate}" for rate in RATES)))
    duck.execute(
        f"CREATE TABLE prices (version VARCHAR, provider VARCHAR, effective_from DATE, model VARCHAR, "
        f"long_above_tokens BIGINT, {rates})"
    )
    for each in book.books:
        for model, prices in each.models.items():
            long = prices.long_prompt
            row: list[object] = [each.version, each.provider, each.effective_from, model, long and long.above_tokens]
            row += [getattr(prices.batch, rate) for rate in RATES]
            row += [getattr(long.batch, rate) if long else None for rate in RATES]
            duck.execute(f"INSERT INTO prices VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608  marks only


def _variables(duck: duckdb.DuckDBPyConnection, period: Period, settings: Settings) -> None:
    """What the statements ask for by getvariable(), constants to the planner."""
    days = {
        "since": period.since,
        "until": period.until,
        "previous_since": period.previous_since,
        "today": datetime.now(UTC).date(),
    }
    for name, day in days.items():
        duck.execute(f"SET VARIABLE {name} = DATE '{day.isoformat()}'")
    caps = {"daily_cap": settings.daily_budget_usd, "monthly_cap": settings.monthly_budget_usd}
    for name, cap in caps.items():
        duck.execute(f"SET VARIABLE {name} = {_number(cap)}")


def _number(cap: Decimal | None) -> str:
    return "NULL" if cap is None else f"{cap:f}::DECIMAL(24, 12)"
