"""What every command shares: the app, settings and logs at the start, one way to print at the end."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

import typer
from pydantic import SecretStr
from rich.console import RenderableType

from rewrite_batch.ids import new_id
from rewrite_batch.log import configure_logging
from rewrite_batch.output import print_for_people, print_json, wants_json
from rewrite_batch.settings import VERSION, Settings, load_settings

app = typer.Typer(
    name="rewrite-batch",
    help="Rewrites queued household complaints kindly, in the recipient's language, in cheap provider batches.",
    epilog="Start with `rewrite-batch demo`: it needs nothing but Python. Then `rewrite-batch doctor`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, and those hold words and keys
    rich_markup_mode=None,
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, as when the output is piped.")]


def begin(command: str, run_id: UUID | None = None) -> Settings:
    settings = load_settings(os.environ)
    configure_logging(settings, run_id=run_id or new_id(), command=command)
    return settings


def emit(data: dict[str, Any], people: RenderableType, *, as_json: bool) -> None:
    if wants_json(as_json):
        print_json(data)
    else:
        print_for_people(people)


@contextmanager
def metrics_after(url: SecretStr, settings: Settings) -> Generator[None]:
    """However the block ends, where somebody wants metrics."""
    try:
        yield
    finally:
        if settings.metrics_file is not None or settings.pushgateway_url is not None:
            from rewrite_batch.metrics import write_metrics  # noqa: PLC0415  loads its library only then

            write_metrics(url, settings)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"rewrite-batch {VERSION}\n")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass
