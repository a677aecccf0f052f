"""What commands print: data to stdout, a table for a person and JSON for a program; everything else to stderr."""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn
from rich.table import Table


def wants_json(flag: bool) -> bool:
    return flag or not sys.stdout.isatty()


def print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def print_for_people(what: RenderableType, *, whole: bool = False, beside: bool = False) -> None:
    """Plain when piped: no colour, no cursor tricks, and no folding at 80 columns. `whole`: however wide it is.
    `beside`: to stderr, what is not the command's answer."""
    stream = sys.stderr if beside else sys.stdout
    _print(Console(file=stream, width=None if stream.isatty() else 120, highlight=False), what, whole=whole)


def text_for_people(what: RenderableType) -> str:
    """As it would be piped, for a file."""
    page = StringIO()
    _print(Console(file=page, width=120, highlight=False), what, whole=True)
    return page.getvalue()


def _print(console: Console, what: RenderableType, *, whole: bool) -> None:
    if whole:
        console.width = max(console.width, Measurement.get(console, console.options.update(width=10_000), what).maximum)
    console.print(what)


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def table(title: str, columns: list[str], rows: list[list[str]], *, numbers_from: int = 1) -> Table:
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(columns):
        made.add_column(column, justify="right" if position >= numbers_from else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


@contextmanager
def byte_progress(label: str, total: int | None) -> Generator[Callable[[int], None]]:
    """A bar on stderr when a person is looking; nothing otherwise."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (label, BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count: progress.update(task, advance=count)
