"""Commands that answer questions and change nothing: budget, export, report, sql."""

import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from rewrite_batch.cli.app import AsJson, app, begin, emit
from rewrite_batch.db import connect, database_url
from rewrite_batch.errors import ConfigurationError, InvariantBroken
from rewrite_batch.migrate import check_migrations
from rewrite_batch.output import print_for_people, say, table, text_for_people, wants_json

Since = Annotated[str | None, typer.Option(help="First UTC day, such as 2026-11-01, or 7d: seven days. [30d]")]
Until = Annotated[str | None, typer.Option(help="First UTC day that no longer counts. [tomorrow]")]
FromDir = Annotated[
    Path | None, typer.Option("--from", help="Ask the export in this directory; without it, PostgreSQL.")
]


@app.command()
def budget(as_json: AsJson = False) -> None:
    """Show what is spent, in flight and left: today, this month, by model and by day. Days are UTC."""
    from rewrite_batch.budget import budget_tables, read_budget  # noqa: PLC0415

    settings = begin("budget")
    with database_url(settings) as url, connect(url, purpose="budget") as connection:
        check_migrations(connection)
        seen = read_budget(connection, settings)
    emit(seen.as_json(), budget_tables(seen), as_json=as_json)


@app.command()
def export(
    directory: Annotated[Path, typer.Argument(help="Where the Parquet files are, or will be.")],
    since: Annotated[str | None, typer.Option(help="Look only at days from this one on, such as 7d. [all]")] = None,
    until: Annotated[str | None, typer.Option(help="Look only at days before this one. [all]")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Then read every file back and prove that no text went along.")
    ] = False,
    verify_only: Annotated[bool, typer.Option("--verify-only", help="Only prove it; no database is needed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write text-free Parquet, a file a table and UTC day. Only days that changed; stop it and start it as you like.

    It reads as rewrite_analyst, so the database itself keeps the words back; a replica will do. Exit code 70: --verify
    found something that must not be there.
    """
    from rewrite_batch.export.read import FIRST, LAST  # noqa: PLC0415  duckdb takes a moment to load
    from rewrite_batch.export.run import export as run_export  # noqa: PLC0415
    from rewrite_batch.export.verify import verify as judge  # noqa: PLC0415
    from rewrite_batch.report.period import day_of  # noqa: PLC0415

    settings = begin("export")
    today = datetime.now(UTC).date()
    first, last = day_of(since, "--since", today) or FIRST, day_of(until, "--until", today) or LAST
    done = None
    if not verify_only:
        with database_url(settings) as url, connect(url, purpose="export") as connection:
            check_migrations(connection)
            done = run_export(connection, directory, since=first, until=last, progress=_progress)
    proof = judge(directory) if verify or verify_only else None
    tables = [] if done is None else done.tables
    rows = [[t.table, *(f"{n:,}" for n in (t.rows, t.days, t.written, t.removed, t.bytes))] for t in tables]
    shown = table("Exported", ["table", "rows", "days", "written now", "removed", "bytes"], rows)
    problems = [f"{p.file}: {p.column or 'the file'}: {p.says}" for p in proof.problems] if proof else []
    data = {**(done.as_json() if done else {}), **({"verify": proof.as_json()} if proof else {})}
    emit(data, shown if done else "verified" if not problems else "not verified", as_json=as_json)
    if proof and problems:
        raise InvariantBroken("the export holds what it must not:\n  " + "\n  ".join(problems[:20]))
    if proof and not wants_json(as_json):
        print_for_people(
            f"verified: {proof.files:,} files, {proof.rows:,} rows, {proof.strings:,} strings: no text in them"
        )


def _progress(name: str, day: date) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\rexport {name} {day}\x1b[K")


@app.command()
def report(
    name: Annotated[
        str | None, typer.Argument(help="Which one; without a name, the list. `html` writes a page.")
    ] = None,
    since: Since = None,
    until: Until = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="table, csv, json, parquet or md. [table; json when piped]")
    ] = None,
    directory: FromDir = None,
    question: Annotated[
        str | None,
        typer.Option("--sql", help="A question of your own over the same views; see `rewrite-batch sql --views`."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write to this file instead of stdout.")] = None,
) -> None:
    """Answer a question on money, reliability or quality. Reads only, and never a text."""
    from rewrite_batch.report.run import Asked, listing, run_report  # noqa: PLC0415  duckdb takes a moment to load

    settings = begin("report")
    if (name is None) == (question is None):
        if name is not None:
            raise ConfigurationError("give a report's name or --sql, not both")
        print_for_people(listing())
        return
    asked = Asked(name, question, since, until, format_ or ("json" if wants_json(False) else "table"), directory)
    if out is None and asked.is_binary and sys.stdout.isatty():
        raise ConfigurationError(f"{asked.format} is not for a terminal: add --out FILE")
    if name == "html" and out is None:
        out = Path("report.html")
    answer = run_report(settings, asked)
    if out is not None:
        try:
            out.write_bytes(answer if isinstance(answer, bytes) else text_for_people(answer).encode())
        except OSError as error:
            raise ConfigurationError(f"cannot write {out}: {error.strerror}") from None
        say(f"wrote {out}")
    elif isinstance(answer, bytes):
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    else:
        print_for_people(answer, whole=True)


@app.command()
def sql(
    question: Annotated[
        str | None, typer.Argument(help="A question; without one, a prompt, or stdin when piped.")
    ] = None,
    since: Since = None,
    until: Until = None,
    directory: FromDir = None,
    format_: Annotated[str | None, typer.Option("--format", help="As in report. [table; json when piped]")] = None,
    views: Annotated[bool, typer.Option("--views", help="Print the views and what each column means.")] = False,
    how: Annotated[
        bool, typer.Option("--how", help="Print how to open the same views in the DuckDB shell or a notebook.")
    ] = False,
) -> None:
    """Ask questions in SQL over the views of the reports. It only reads; nothing else on this machine is in reach."""
    from rewrite_batch.report.dictionary import dictionary  # noqa: PLC0415
    from rewrite_batch.report.prompt import how_to_open, prompt  # noqa: PLC0415  duckdb takes a moment to load
    from rewrite_batch.report.run import Asked, run_report  # noqa: PLC0415

    settings = begin("sql")
    if views:
        sys.stdout.write(dictionary())
        return
    if how:
        if directory is None:
            raise ConfigurationError("add --from DIR: other programs can open an export, not PostgreSQL")
        sys.stdout.write(how_to_open(directory))
        return
    kind = format_ or ("json" if wants_json(False) else "table")
    if question is None and sys.stdin.isatty():
        prompt(settings, directory, since, until)
        return
    asked = Asked(None, question or sys.stdin.read(), since, until, kind, directory)
    answer = run_report(settings, asked)
    if isinstance(answer, bytes):
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    else:
        print_for_people(answer, whole=True)
