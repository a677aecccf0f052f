"""Commands to set up and try things: demo, doctor, migrate, generate, schema, simulate."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rewrite_batch.cli.app import AsJson, app, begin
from rewrite_batch.contracts.shapes import SHAPES
from rewrite_batch.db import connect, database_url
from rewrite_batch.errors import ConfigurationError, MissingExtra
from rewrite_batch.log import get_log
from rewrite_batch.migrate import check_migrations, known_migrations
from rewrite_batch.migrate import migrate as run_migrations
from rewrite_batch.output import print_for_people, print_json, say, table, wants_json


@app.command()
def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Run it all once: embedded PostgreSQL, a simulated provider, the fixtures; then clean up. Needs no settings."""
    from rewrite_batch.demo import demo as run_demo  # noqa: PLC0415  the provider's package takes a second to load

    result = run_demo(say)
    if as_json:
        print_json(result.as_json())
        return
    rows = [
        [f"{row.source_locale} → {row.target_locale}", str(row.sent), str(row.completed), str(row.retried),
         f"{row.tokens:,}", f"{row.usd:.4f}", ", ".join(f"{why} {count}" for why, count in sorted(row.failed.items()))]
        for row in result.pairs
    ]  # fmt: skip
    total = [
        "all", str(sum(row.sent for row in result.pairs)), str(sum(row.completed for row in result.pairs)),
        str(sum(row.retried for row in result.pairs)), f"{sum(row.tokens for row in result.pairs):,}",
        f"{sum(row.usd for row in result.pairs):.4f}", str(sum(sum(row.failed.values()) for row in result.pairs)),
    ]  # fmt: skip
    columns = ["language pair", "sent", "completed", "retried", "tokens", "USD", "failed"]
    print_for_people(table("What became of them", columns, [*rows, total]))
    for example in result.examples:
        pair = f"{example.source_locale} → {example.target_locale}"
        sys.stdout.write(f"\n{pair}\n  before: {example.before}\n  after:  {example.after}\n")


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Check settings, database, rights, clock, certificates, spool and provider: each line is ok or says what to do."""
    from rewrite_batch.doctor import examine  # noqa: PLC0415  the provider's package takes a second to load

    examination = examine(os.environ)
    if as_json:
        print_json({"exit_code": examination.exit_code, "checks": [asdict(f) for f in examination.findings]})
    else:
        for finding in examination.findings:
            sys.stdout.write(f"{finding.state:<5}{finding.check:<13}{finding.says}\n")
    raise typer.Exit(examination.exit_code)


@app.command()
def migrate(
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Change nothing; exit 75 when migrations are pending, 2 when the database is newer.",
        ),
    ] = False,
    print_roles: Annotated[
        bool,
        typer.Option(
            "--print-roles",
            help="Print the SQL that an administrator runs where this user may not create roles.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the database up to date. Safe to repeat, and safe when two processes do it at once."""
    if print_roles:
        sys.stdout.write(known_migrations()[0].body.decode())
        return
    settings = begin("migrate")
    with database_url(settings) as url, connect(url, purpose="migrate") as connection:
        applied = [] if check else run_migrations(connection)
        check_migrations(connection)
    for migration in applied:
        get_log().info("migrated", migration=migration.name)
    if wants_json(as_json):
        print_json({"applied": [migration.name for migration in applied], "pending": 0})
    else:
        print_for_people(f"applied {len(applied)} migrations: the database is up to date")


@app.command()
def generate(
    count: Annotated[int, typer.Option(min=1, help="How many requests.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes; another seed, other ids.")] = 1,
) -> None:
    """Print made-up requests as JSON lines for `enqueue`, varied from the fixtures. For trials and load tests."""
    from rewrite_batch.samples import generate as make  # noqa: PLC0415  reads the fixtures

    try:
        for item in make(count, seed):
            sys.stdout.write(item.to_json() + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # `| head`: nobody reads on, and that is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.command()
def schema(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(SHAPES)}.")],
) -> None:
    """Print the JSON Schema of one of the contract's shapes."""
    if name not in SHAPES:
        raise ConfigurationError(f"there is no shape {name}; there are {', '.join(SHAPES)}")
    from rewrite_batch.contracts.schemas import schema_text  # noqa: PLC0415  loads jsonschema

    sys.stdout.write(schema_text(name))


@app.command()
def simulate(
    state_dir: Annotated[
        Path, typer.Option(help="Where files, batches and the billing ledger are kept; survives a restart.")
    ],
    port: Annotated[int, typer.Option(help="Loopback port of the provider's API; 0 picks a free one.")] = 0,
    control_port: Annotated[int, typer.Option(help="Loopback port of the control API (/_sim/…).")] = 0,
    api_key: Annotated[str, typer.Option(help="The bearer key it accepts.")] = "sk-simulator",
    time_scale: Annotated[
        float | None, typer.Option(help="Simulated seconds a real second; 0 stops the clock. [new state: 1]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the pretend model.")] = None,
    bad_share: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of answers that are bad on purpose.")
    ] = None,
) -> None:
    """Serve a stand-in for the provider on loopback, with scripted faults and a billing ledger; prints its URLs."""
    try:
        from rewrite_batch.simulator.serve import SimulatorOptions, serve  # noqa: PLC0415  needs the extra
    except ModuleNotFoundError:
        raise MissingExtra("the simulator is not installed: pip install 'rewrite-batch[simulator]'") from None
    serve(
        SimulatorOptions(
            state_dir=state_dir, api_key=api_key, port=port, control_port=control_port,
            time_scale=time_scale, seed=seed, bad_share=bad_share,
        )
    )  # fmt: skip
