"""Parquet: a day's CSV comes in, one compressed file goes out, in row groups: memory does not grow with the rows."""

from pathlib import Path

import duckdb

from rewrite_batch.export.tables import Table

MEMORY = "256MB"


def writer(scratch: Path) -> duckdb.DuckDBPyConnection:
    """Reaches nothing but files; spills into `scratch`."""
    return duckdb.connect(
        config={
            "memory_limit": MEMORY,
            "threads": 2,
            "temp_directory": str(scratch),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )


def write_parquet(duck: duckdb.DuckDBPyConnection, table: Table, csv: Path, parquet: Path) -> None:
    columns = ", ".join(f"'{column.name}': '{column.csv_type}'" for column in table.columns)
    selected = ", ".join(column.from_csv for column in table.columns)
    duck.execute(
        f"""COPY (
            SELECT {selected}
            FROM read_csv({literal(csv)}, columns = {{{columns}}}, auto_detect = false, header = false, delim = ',',
                quote = '"', escape = '"', nullstr = '\\N', allow_quoted_nulls = false, max_line_size = 1000000)
        ) TO {literal(parquet)} (FORMAT parquet, COMPRESSION zstd)"""  # noqa: S608  names from tables.py, paths quoted
    )


def literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
