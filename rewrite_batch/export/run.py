"""Export, as one paragraph: lock, sweep, look which days changed, copy and convert each, forget what is gone, save."""

import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from rewrite_batch.db import Connection
from rewrite_batch.export.manifest import Day, Manifest, file_of, load, locked, save, settle
from rewrite_batch.export.parquet import write_parquet, writer
from rewrite_batch.export.read import FIRST, LAST, DayOfTable, as_analyst, copy_day, days_of
from rewrite_batch.export.tables import TABLES, Table

SAVE_EVERY_S = 5.0
SCRATCH = ".scratch"


@dataclass(frozen=True)
class Exported:
    table: str
    days: int
    written: int
    removed: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class ExportResult:
    directory: str
    tables: list[Exported]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _quiet(_table: str, _day: date) -> None:
    pass


def export(
    connection: Connection,
    directory: Path,
    *,
    since: date = FIRST,
    until: date = LAST,
    tables: Iterable[Table] = TABLES,
    progress: Callable[[str, date], None] = _quiet,
) -> ExportResult:
    """Days in [since, until) that changed since the last export; all other days stay as they are."""
    with locked(directory):
        shutil.rmtree(directory / SCRATCH, ignore_errors=True)  # left by a run that was killed
        scratch = directory / SCRATCH
        scratch.mkdir(mode=0o700)
        try:
            work = _Work(connection, directory, scratch, load(directory) or Manifest(), progress)
            return ExportResult(str(directory), [work.table(table, since, until) for table in tables])
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


@dataclass
class _Work:
    connection: Connection
    directory: Path
    scratch: Path
    manifest: Manifest
    progress: Callable[[str, date], None]
    saved_at: float = 0.0

    def table(self, table: Table, since: date, until: date) -> Exported:
        """A look is a short transaction, since a long one keeps dead rows alive under the workers."""
        (self.directory / table.name).mkdir(exist_ok=True)
        known = self.manifest.tables.setdefault(table.name, {})
        with self._look(table.moves), writer(self.scratch) as duck:
            with self._look(not table.moves):
                there = {seen.day: seen for seen in days_of(self.connection, table, since, until)}
            gone = [day for day in known if since <= day < until and day not in there]
            written = 0
            for day in [day for day, seen in there.items() if self._changed(table, seen)]:
                self.progress(table.name, day)
                with self._look(not table.moves):
                    written += self._day(duck, table, day)
        self._forget(table, gone)
        save(self.directory, self.manifest)
        return Exported(
            table.name,
            days=len(known),
            written=written,
            removed=len(gone),
            rows=sum(day.rows for day in known.values()),
            bytes=sum(day.bytes for day in known.values()),
        )

    def _look(self, needed: bool) -> AbstractContextManager[None]:
        return as_analyst(self.connection) if needed else nullcontext()

    def _changed(self, table: Table, seen: DayOfTable) -> bool:
        known = self.manifest.tables[table.name].get(seen.day)
        same = known is not None and (known.rows, known.fingerprint) == (seen.rows, seen.fingerprint)
        return not (same and file_of(self.directory, table.name, seen.day).exists())

    def _day(self, duck: duckdb.DuckDBPyConnection, table: Table, day: date) -> int:
        csv, half = self.scratch / "day.csv", self.scratch / "day.parquet"
        seen = copy_day(self.connection, table, day, csv)
        if seen is None:  # erased since the days were listed
            self._forget(table, [day])
            return 0
        write_parquet(duck, table, csv, half)
        csv.unlink()
        size = half.stat().st_size
        file = file_of(self.directory, table.name, day)
        file.parent.mkdir(exist_ok=True)
        settle(half, file)
        self.manifest.tables[table.name][day] = Day(rows=seen.rows, fingerprint=seen.fingerprint, bytes=size)
        if time.monotonic() - self.saved_at > SAVE_EVERY_S:
            save(self.directory, self.manifest)
            self.saved_at = time.monotonic()
        return 1

    def _forget(self, table: Table, days: list[date]) -> None:
        """First the manifest, then the file: a name in the manifest is always there."""
        for day in days:
            self.manifest.tables[table.name].pop(day, None)
        if days:
            save(self.directory, self.manifest)
        for day in days:
            shutil.rmtree(file_of(self.directory, table.name, day).parent, ignore_errors=True)
