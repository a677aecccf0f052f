"""Commands that do the work and look at it: enqueue, submit, status, cancel, check."""

import os
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO
from uuid import UUID

import typer
from rich.console import Group

from rewrite_batch.cli.app import AsJson, app, begin, emit, metrics_after
from rewrite_batch.db import connect, database_url
from rewrite_batch.enqueue.run import enqueue as enqueue_lines
from rewrite_batch.errors import ConfigurationError, InputRefused, InvariantBroken
from rewrite_batch.ids import new_id
from rewrite_batch.log import get_log
from rewrite_batch.migrate import check_migrations
from rewrite_batch.output import byte_progress, print_for_people, print_json, say, table, wants_json
from rewrite_batch.stop import Stopped, stop

if TYPE_CHECKING:
    from rewrite_batch.cancel import Selection


@app.command()
def enqueue(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines, one EnqueueItemV1 each (`rewrite-batch schema EnqueueItemV1`); - reads stdin."
        ),
    ],
    check: Annotated[bool, typer.Option("--check", help="Only check the lines; no database is needed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put requests into the queue. A bad line is reported by line, field and reason; the good ones go in; exit code 65.

    Loading the same file again changes nothing, so after an interruption just run it again.
    """
    settings = begin("enqueue")
    total = file.stat().st_size if file.is_file() else None
    with (
        _open(file) as source,
        nullcontext() if check else database_url(settings) as url,
        nullcontext() if url is None else connect(url, purpose="enqueue") as connection,
        byte_progress("enqueue", total) as progress,
    ):
        result = enqueue_lines(
            source, connection, on_refusal=lambda refusal: say(f"refused: {refusal}"), on_bytes=progress
        )
    counts = {
        "lines": result.lines,
        "enqueued": result.enqueued,
        "exists": result.exists,
        "refused": result.refused,
    }
    get_log().info("checked" if check else "enqueued", **counts)
    if wants_json(as_json):
        print_json({**counts, "checked_only": check, "refusals": [asdict(refusal) for refusal in result.refusals]})
    else:
        title = "Checked, nothing was stored" if check else "Enqueued"
        print_for_people(table(title, list(counts), [[f"{count:,}" for count in counts.values()]], numbers_from=0))
    if result.refused:
        raise InputRefused(
            f"{result.refused} of {result.lines} lines were refused, see above; correct them and run it again"
        )


def _open(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    try:
        return file.open("rb")
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {os.strerror(error.errno or 0)}") from None


@app.command()
def submit(
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be sent, its tokens and cost; change nothing, call nobody."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Claim queued jobs, group and render them, and create provider batches. Any number may run at once.

    Reaching a limit (tokens, money, jobs, time) is normal: the rest waits, exit code 0. 75: something is undecided, and
    the next run looks it up at the provider.
    """
    from rewrite_batch.submit.plan import plan  # noqa: PLC0415  the provider's package takes a second to load
    from rewrite_batch.submit.run import submit as run_submit  # noqa: PLC0415
    from rewrite_batch.submit.show import plan_table, submit_progress, submit_summary  # noqa: PLC0415

    run_id = new_id()
    settings = begin("submit", run_id)
    stop.patient = True
    with database_url(settings) as url, connect(url, purpose="submit") as connection:
        check_migrations(connection)
        if dry_run:
            planned = plan(connection, settings)
            emit(planned.as_json(), plan_table(planned), as_json=as_json)
            return
        with (
            metrics_after(url, settings),
            submit_progress() as progress,
            connect(url, purpose="submit") as claimer,
            connect(url, purpose="submit") as sender,
        ):
            result = run_submit(
                connection,
                settings,
                run_id=run_id,
                claimer=claimer,
                sender=sender,
                stop=stop.asked,
                progress=progress,
            )
    emit(result.as_json(), submit_summary(result), as_json=as_json)
    if stop.number is not None:
        raise Stopped(stop.number)
    raise typer.Exit(result.exit_code)


@app.command()
def status(
    watch: Annotated[float | None, typer.Option(help="Look again every so many seconds, until Ctrl-C.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Show the queue by state, batches in flight, reservations against caps, pauses, last runs and open alerts."""
    from rewrite_batch.status import read_status, status_tables  # noqa: PLC0415  loads the provider's package

    settings = begin("status")
    with database_url(settings) as url, connect(url, purpose="status") as connection:
        check_migrations(connection)
        while True:
            seen = read_status(connection, settings)
            if watch and not wants_json(as_json):
                sys.stdout.write("\x1b[2J\x1b[H")
            emit(seen.as_json(), Group(*status_tables(seen)), as_json=as_json)
            if not watch:
                return
            time.sleep(watch)


@app.command()
def cancel(
    job: Annotated[list[UUID] | None, typer.Option(help="A job; may be given several times.")] = None,
    batch: Annotated[list[UUID] | None, typer.Option(help="Every unit that this batch of ours still carries.")] = None,
    model: Annotated[str | None, typer.Option(help="Everything queued for this model.")] = None,
    pair: Annotated[str | None, typer.Option(help="Everything queued for this language pair, such as es:en.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Cancel jobs for good. On a terminal it shows what would be canceled, and asks first.

    What is at the provider is canceled there too; results that come all the same are dropped.
    """
    from rewrite_batch import cancel as canceling  # noqa: PLC0415
    from rewrite_batch.provider import batches as provider  # noqa: PLC0415  loads the provider's package
    from rewrite_batch.provider.client import provider_client  # noqa: PLC0415

    run_id = new_id()
    settings = begin("cancel", run_id)
    named = canceling.language_pair(pair) if pair else None
    with database_url(settings) as url, connect(url, purpose="cancel") as connection:
        check_migrations(connection)
        found = canceling.find(connection, job_ids=job or (), batch_ids=batch or (), model=model, language_pair=named)
        if sys.stdin.isatty() and not yes and not _is_wanted(found):
            say("nothing was canceled")
            return

        def tell(provider_batch_id: str, base_url: str | None) -> None:
            with provider_client(settings, base_url) as client:
                provider.cancel(client, provider_batch_id, base_s=settings.retry_base_s)

        result = canceling.cancel(connection, found.criteria, run_id, cancel_at_provider=tell)
    rows = [[f"was {state}", str(count)] for state, count in result.canceled.items()]
    rows += [["already final", str(result.already_final)], ["unknown", str(result.unknown)]]
    emit(result.as_json(), table("Canceled", ["what", "jobs"], rows), as_json=as_json)
    raise typer.Exit(result.exit_code)


def _is_wanted(found: "Selection") -> bool:
    """Asked on stderr: whatever reads the answer of the command must not read the question."""
    rows = [[state, str(count)] for state, count in found.by_state.items()]
    print_for_people(table("Would be canceled", ["state", "jobs"], rows), beside=True)
    try:
        return typer.confirm("Cancel them for good?", err=True)
    except typer.Abort:  # the end of input is no yes
        return False


@app.command()
def check(as_json: AsJson = False) -> None:
    """Look for anything that must never be. Reads only; exit code 70 with what is broken, and then: call a person."""
    from rewrite_batch.check import check as judge  # noqa: PLC0415
    from rewrite_batch.check import rules  # noqa: PLC0415

    settings = begin("check")
    with database_url(settings) as url, connect(url, purpose="check") as connection:
        check_migrations(connection)
        broken = judge(connection)
    rows = [[each.rule, str(each.count), each.sentence, ", ".join(map(str, each.sample[:3]))] for each in broken]
    found = table("Broken", ["rule", "rows", "what must hold", "such as"], rows, numbers_from=9)
    people = found if broken else f"all {len(rules())} rules hold"
    emit({"rules": len(rules()), "broken": [each.as_json() for each in broken]}, people, as_json=as_json)
    if broken:
        raise InvariantBroken(f"{len(broken)} of {len(rules())} rules are broken: {', '.join(b.rule for b in broken)}")
