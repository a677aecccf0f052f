"""The command that brings results home."""

from pathlib import Path
from typing import Annotated

import typer

from rewrite_batch.cli.app import AsJson, app, begin, emit, metrics_after
from rewrite_batch.db import connect, database_url
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.ids import new_id
from rewrite_batch.migrate import check_migrations
from rewrite_batch.stop import Stopped, stop


@app.command()
def collect(
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Apply result files that --keep saved, and ask nobody; what is applied already stays as it is.",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also save the raw result files there, as BATCH_ID.output.jsonl and BATCH_ID.error.jsonl. They hold"
            " people's words: DIR must be private (chmod 700).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Poll open batches, download results, check every answer, write outputs and outcomes. Any number may run at once.

    A batch that is not over yet is normal: exit code 0. 75: something could not be read or decided now, and the next
    run goes on. Running it again changes nothing that is applied.
    """
    from rewrite_batch.collect.replay import replay as run_replay  # noqa: PLC0415  loads polars and the provider's package
    from rewrite_batch.collect.run import collect as run_collect  # noqa: PLC0415
    from rewrite_batch.collect.show import collect_progress, collect_summary  # noqa: PLC0415

    if replay is not None and keep is not None:
        raise ConfigurationError("--replay reads saved files and --keep writes them: give one of the two")
    run_id = new_id()
    settings = begin("collect", run_id)
    stop.patient = True
    with (
        database_url(settings) as url,
        connect(url, purpose="collect") as connection,
        connect(url, purpose="collect") as reader,
    ):
        check_migrations(connection)
        with metrics_after(url, settings), collect_progress() as progress:
            if replay is not None:
                result = run_replay(
                    connection, reader, settings, replay, run_id=run_id, stop=stop.asked, progress=progress
                )
            else:
                result = run_collect(
                    connection, reader, settings, run_id=run_id, stop=stop.asked, progress=progress, keep_dir=keep
                )
    emit(result.as_json(), collect_summary(result), as_json=as_json)
    if stop.number is not None:
        raise Stopped(stop.number)
    raise typer.Exit(result.exit_code)
