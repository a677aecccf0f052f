"""Verify: a directory comes in; what is in it that should not be comes out, named by file, column and count.

It reads the files themselves and trusts nobody who wrote them: every file has exactly the columns and types of
tables.py, every string in them has the form of a code, and no other Parquet file lies around. A value is never shown.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.export.manifest import Manifest, load
from rewrite_batch.export.parquet import literal
from rewrite_batch.export.tables import CODES, TABLES, Column, Table


@dataclass(frozen=True)
class Problem:
    file: str
    column: str | None
    says: str
    rows: int | None = None


@dataclass(frozen=True)
class Verified:
    files: int
    rows: int
    columns: int
    strings: int
    problems: list[Problem]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def verify(directory: Path) -> Verified:
    manifest = load(directory)
    if manifest is None:
        raise ConfigurationError(f"there is no export in {directory}: run `rewrite-batch export {directory}` first")
    problems = _strays(directory, manifest)
    files = rows = strings = 0
    with duckdb.connect(config={"threads": 2, "memory_limit": "256MB"}) as duck:
        for table in TABLES:
            for file, day in zip(manifest.files(directory, table.name), _days(manifest, table), strict=True):
                found, counted, values = _judge(duck, directory, table, file, day.rows)
                problems += found
                files, rows, strings = files + 1, rows + counted, strings + values
    return Verified(files, rows, sum(len(table.columns) for table in TABLES), strings, problems)


def _days(manifest: Manifest, table: Table) -> list[Any]:
    return [day for _, day in sorted(manifest.tables.get(table.name, {}).items())]


def _strays(directory: Path, manifest: Manifest) -> list[Problem]:
    known = {file for table in TABLES for file in manifest.files(directory, table.name)}
    lying = sorted(set(directory.rglob("*.parquet")) - known)
    names = sorted(set(manifest.tables) - {table.name for table in TABLES})
    return [
        *(Problem(_name(directory, file), None, "no export of this release wrote it") for file in lying),
        *(Problem("manifest.json", None, f"{name} is no table of an export") for name in names),
    ]


def _judge(
    duck: duckdb.DuckDBPyConnection, directory: Path, table: Table, file: Path, expected: int
) -> tuple[list[Problem], int, int]:
    name = _name(directory, file)
    try:
        described = duck.execute(f"DESCRIBE SELECT * FROM {_read(file)}").fetchall()  # noqa: S608
        there = [(row[0], row[1]) for row in described]
        if there != [(column.name, column.type) for column in table.columns]:
            return [_other_columns(name, table, there)], 0, 0
        checks = [column for column in table.columns if column.pattern]
        sums = ", ".join(f"count({column.name}), count(*) FILTER ({_breaks(column)})" for column in checks)
        row = duck.execute(f"SELECT count(*), {sums} FROM {_read(file)}").fetchone()  # noqa: S608
    except duckdb.Error as error:
        return [Problem(name, None, f"it cannot be read ({type(error).__name__})")], 0, 0
    assert row is not None
    problems = [
        Problem(name, column.name, "values that are no codes", row[2 * position + 2])
        for position, column in enumerate(checks)
        if row[2 * position + 2]
    ]
    if row[0] != expected:
        problems.append(Problem(name, None, f"{row[0]} rows where the manifest says {expected}; export again"))
    return problems, row[0], sum(row[1::2])


def _other_columns(name: str, table: Table, there: list[tuple[str, str]]) -> Problem:
    allowed = {(column.name, column.type) for column in table.columns}
    more = sorted(column for column, kind in there if (column, kind) not in allowed)
    return Problem(name, ", ".join(more) or None, f"its columns are not those of {table.name}")


def _breaks(column: Column) -> str:
    pattern = (column.pattern or "").replace("'", "''")
    if column.type == CODES:
        return f"len(list_filter({column.name}, lambda code: NOT regexp_full_match(code, '{pattern}'))) > 0"
    return f"NOT regexp_full_match({column.name}, '{pattern}')"


def _read(file: Path) -> str:
    return f"read_parquet({literal(file)}, hive_partitioning = false)"


def _name(directory: Path, file: Path) -> str:
    return str(file.relative_to(directory))
