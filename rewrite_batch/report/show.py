"""Show: an answer comes in; bytes for a person or a program go out. Programs get every digit, people readable ones."""

import csv
import io
import json
import textwrap
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

import polars as pl
from rich.table import Table

from rewrite_batch.output import table
from rewrite_batch.report.ask import Answer

FORMATS = ("table", "csv", "json", "parquet", "md")
SHARES = ("share", "share_of_cost", "rate", "first_pass_rate", "success_rate", "hit_rate", "previous_rate")
CHANGES = ("change", "regression")
NOTHING = "–"


def people_table(answer: Answer) -> Table:
    """What fits a terminal: the pair in one column, no column that the report hides, no unpriced when there is none."""
    names, rows = list(answer.columns), people_rows(answer)
    total = answer.total()
    if total:
        rows.append(
            ["all" if i == 0 else "" if v is None else cell(c, v) for i, (c, v) in enumerate(_named(answer, total))]
        )
    keys = answer.keys
    if "source_locale" in names:
        at = names.index("source_locale")
        names, keys = [*names[:at], "pair", *names[at + 2 :]], keys - 1
        rows = [[*row[:at], " → ".join(filter(None, row[at : at + 2])), *row[at + 2 :]] for row in rows]
    shown = [i for i, name in enumerate(names) if name not in answer.hidden and not _all_priced(name, i, rows)]
    cells = [[row[i] for i in shown] for row in rows]
    heads = [_broken(label(names[i]), [row[place] for row in cells]) for place, i in enumerate(shown)]
    made = table(answer.title, heads, cells, numbers_from=sum(i < keys for i in shown))
    for column in made.columns:
        column.no_wrap = True  # a figure is never cut in two
    if total:
        made.rows[-2].end_section = True
    return made


def _broken(name: str, cells: list[str]) -> str:
    """A heading as narrow as its column, broken between words."""
    return "\n".join(textwrap.wrap(name, max(map(len, [*cells, *name.split()])), break_long_words=False))


def _all_priced(name: str, position: int, rows: list[list[str]]) -> bool:
    return name == "unpriced_calls" and all(row[position] == "0" for row in rows)


def people_rows(answer: Answer) -> list[list[str]]:
    return [[_shown(answer, row, column, value) for column, value in _named(answer, row)] for row in answer.rows]


def markdown(answer: Answer) -> bytes:
    lines = [[label(column) for column in answer.columns]]
    lines.append(["---" if i < answer.keys else "---:" for i in range(len(answer.columns))])
    lines += people_rows(answer)
    total = answer.total()
    if total:
        lines.append(
            [
                f"**{'all' if i == 0 else cell(c, v)}**" if v is not None else ""
                for i, (c, v) in enumerate(_named(answer, total))
            ]
        )
    body = "\n".join("| " + " | ".join(value.replace("|", "\\|") for value in line) + " |" for line in lines)
    return f"{body}\n".encode()


def csv_bytes(answer: Answer) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows([plain(value) for value in row] for row in answer.rows)
    return out.getvalue().encode()


def json_document(answer: Answer, **about: Any) -> dict[str, Any]:
    """Money is a string: a number would lose digits in most readers."""
    total = answer.total()
    return {
        "report": answer.title,
        **about,
        "columns": list(answer.columns),
        "rows": [{name: _jsonable(value) for name, value in _named(answer, row)} for row in answer.rows],
        **({"total": {n: _jsonable(v) for n, v in _named(answer, total)[1:] if v is not None}} if total else {}),
    }


def json_bytes(answer: Answer, **about: Any) -> bytes:
    return (json.dumps(json_document(answer, **about), ensure_ascii=False) + "\n").encode()


def parquet_bytes(answer: Answer) -> bytes:
    schema = {name: _polars_type(kind) for name, kind in zip(answer.columns, answer.types, strict=True)}
    columns = {
        name: [_parquet_value(row[i], schema[name]) for row in answer.rows] for i, name in enumerate(answer.columns)
    }
    out = io.BytesIO()
    pl.DataFrame(columns, schema=schema, strict=False).write_parquet(out)
    return out.getvalue()


MAKERS: dict[str, Callable[[Answer], bytes]] = {"csv": csv_bytes, "md": markdown, "parquet": parquet_bytes}


def label(column: str) -> str:
    return column.removesuffix("_s").replace("_usd", " $").replace("_", " ")


def cell(column: str, value: Any) -> str:
    """What a person reads: money to a hundredth of a cent and finer when it is small, shares in percent."""
    if value is None:
        return NOTHING
    if column in SHARES:
        return f"{value:.1%}"
    if column in CHANGES:
        return f"{value:+.1%}"
    if column.endswith("_s"):
        return _time(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return f"{value:,.4f}" if abs(value) >= 1 or not value else f"{value:,.6f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.4g}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes")
    return str(plain(value))


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def plain(value: Any) -> Any:
    """What a program reads: exact, and null as nothing."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, list):
        return ",".join(str(plain(each)) for each in cast("list[Any]", value))
    return value


def _shown(answer: Answer, row: tuple[Any, ...], column: str, value: Any) -> str:
    """No price is never shown as nothing, nor as zero."""
    counted = next((name for name in ("unpriced_calls", "calls_without_rates") if name in answer.columns), None)
    if value is None and column in {"cost_usd", "saved_usd"} and counted:
        return "unpriced" if row[answer.columns.index(counted)] else NOTHING
    return cell(column, value)


def _named(answer: Answer, row: Any) -> list[tuple[str, Any]]:
    return list(zip(answer.columns, row, strict=True))


def _jsonable(value: Any) -> Any:
    if isinstance(value, list):
        return [_jsonable(each) for each in cast("list[Any]", value)]
    return value if value is None or isinstance(value, (bool, int, float)) else str(plain(value))


_TYPES: dict[str, Any] = {
    "BIGINT": pl.Int64, "INTEGER": pl.Int32, "HUGEINT": pl.Int128, "DOUBLE": pl.Float64, "BOOLEAN": pl.Boolean,
    "DATE": pl.Date, "TIMESTAMP": pl.Datetime("us"), "VARCHAR[]": pl.List(pl.String()),
}  # fmt: skip


def _polars_type(kind: str) -> Any:
    if kind.startswith("DECIMAL"):
        return pl.Decimal(38, int(kind.rstrip(")").split(",")[1]))
    return _TYPES.get(kind, pl.String())


def _parquet_value(value: Any, kind: Any) -> Any:
    return str(plain(value)) if kind == pl.String() and value is not None else value
