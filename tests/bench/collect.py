"""Collect beside (a) a bare floor: the same decided rows staged by COPY and the same statements in the same chunks,
with no poll, no download, no parsing and no checks; (b) the usual way (`collect_singly.py`): the whole job, one item
after the other, in a transaction of three round trips each.

Every run works on a copy of the same database and of the same provider, so that each finds the same results to collect.
The server writes to disk before it says that it did (fsync), as one for real data does.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import typer
from openai import OpenAI
from psycopg.conninfo import make_conninfo

from rewrite_batch.collect.apply import Applier
from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.batch import Held
from rewrite_batch.collect.decide import StageRow
from rewrite_batch.collect.fetch import Fetched, Fetcher
from rewrite_batch.collect.poll import record, take
from rewrite_batch.collect.write import write
from rewrite_batch.db import Connection
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.prices import price_book
from rewrite_batch.provider.client import provider_client
from rewrite_batch.settings import Settings, load_settings
from rewrite_batch.simulator.process import Simulator, running_simulator
from tests.bench.collect_singly import Singly, stored
from tests.bench.submit import KEY, fill
from tests.conftest import new_database

ROUNDS = 3
PER_ITEM = 2_000
BATCHES = 4
LEASE_S = 3_600.0
PREPARED_AFTER = 5  # psycopg's default
MODEL = "gpt-5.2"
# With today's prompt 50,000 lines are more than the provider takes in one file; their results are not, and they are
# what is measured here.
LARGEST = 1_000_000_000
LARGER_FILES = f"""
import functools; from rewrite_batch.submit import prepare
prepare.Limits = functools.partial(prepare.Limits, max_bytes={LARGEST})"""


def collect(
    items: Annotated[int, typer.Option(help="Lines of a batch.")] = 50_000,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    growth: Annotated[bool, typer.Option(help="Also collect four such batches at once.")] = True,
) -> None:
    with private_directory("bench") as directory, bench_server(directory / "postgres") as server:
        with prepared(directory / "one", server, items, items) as one:
            runs = [one.timed(run_collect) for _ in range(ROUNDS)]
            floors = [one.timed(run_floor)["seconds"] for _ in range(ROUNDS)]
        with prepared(directory / "few", server, PER_ITEM, PER_ITEM) as few:
            each = [few.timed(run_per_item) for _ in range(2)]
            assert each[0]["stored"] == few.timed(run_and_look)["stored"], "the usual way does the same work"
            singly = min(run["seconds"] for run in each)
        many: dict[str, Any] = {}
        if growth:
            with prepared(directory / "many", server, BATCHES * items, items) as four:
                many = four.timed(run_collect)
    best = min(runs, key=lambda run: run["seconds"])
    result = {
        "items": items,
        "collect_s": round(best["seconds"], 2),
        "items_per_s": round(items / best["seconds"]),
        "steps_s": best["steps"],
        "per_item_s": round(singly, 2),
        "floor_s": round(min(floors), 2),
        "ratio_to_floor": round(best["seconds"] / min(floors), 2),
        "times_per_item": round((singly / PER_ITEM) / (best["seconds"] / items), 1),
        "peak_mb": max(run["peak_mb"] for run in (*runs, *([many] if many else []))),
        "growth": round(many["seconds"] / best["seconds"], 2) if many else None,
        "load": round(os.getloadavg()[0], 1),
    }
    if as_json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:<16}{value}")


@contextmanager
def bench_server(directory: Path) -> Generator[str]:
    """As real data is kept, with the memory that a server for a million rows is given."""
    with running_postgres(directory, shared=True) as server, psycopg.connect(server, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET shared_buffers = '1GB'")
        connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
    with running_postgres(directory, shared=True) as server:
        yield server


class Prepared:
    """A database and a provider with results to collect, of which each run gets a copy."""

    def __init__(self, directory: Path, server: str, template: str, items: int, batch: int) -> None:
        self.port = 0
        self.directory = directory
        self.server = server
        self.template = template
        self.items = items
        self.batch = batch

    def environ(self, url: str, simulator: Simulator, spool: Path) -> dict[str, str]:
        return {
            "DATABASE_URL": url,
            "OPENAI_API_KEY": KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(spool),
            "REWRITE_BATCH_GROUPING": "packed",
            "REWRITE_BATCH_ITEMS_PER_BATCH": str(self.batch),
            "REWRITE_BATCH_JOBS_PER_RUN": str(self.items),
            "REWRITE_BATCH_RUN_SECONDS": "3600",
            "REWRITE_BATCH_LOG_LEVEL": "error",
        }

    def timed(self, run: "Callable[[dict[str, str], int], dict[str, Any]]") -> dict[str, Any]:
        copy = self.directory / f"copy-{uuid4().hex}"
        shutil.copytree(self.directory / "simulator", copy / "simulator")
        with (
            new_database(self.server, self.template) as name,
            running_simulator(copy / "simulator", KEY, time_scale=0, port=self.port) as simulator,
        ):
            url = make_conninfo(self.server, dbname=name)
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("CHECKPOINT")  # what the copy left to write is not this run's
            result = run(self.environ(url, simulator, copy / "spool"), self.items)
        shutil.rmtree(copy)
        return result


@contextmanager
def prepared(directory: Path, server: str, items: int, batch: int) -> Generator[Prepared]:
    directory.mkdir(mode=0o711)
    with new_database(server) as template:
        url = make_conninfo(server, dbname=template)
        fill(url, items, MODEL)
        made = Prepared(directory, server, template, items, batch)
        with running_simulator(directory / "simulator", KEY, time_scale=0) as simulator:
            simulator.settings(max_file_bytes=LARGEST)
            done = command(made.environ(url, simulator, directory / "spool"), "submit", LARGER_FILES)
            assert done["submitted"] == items, done
            assert len(done["batches"]) == -(-items // batch), "a batch is a file of one model"
            simulator.finish_all()
            made.port = urlsplit(simulator.base_url).port or 0  # where the batches say that they are
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        yield made


def command(environ: dict[str, str], name: str, before: str = "") -> dict[str, Any]:
    """As people run it; the clock starts when the program is loaded."""
    code = (
        "import sys, time; from pathlib import Path; from rewrite_batch.cli import main\n"
        "import openai, rewrite_batch.collect.run\n"
        f"{before}\n"
        f"began = time.monotonic(); sys.argv = ['rewrite-batch', {name!r}, '--json']\n"
        "try: main()\n"
        "finally:\n"
        "    status = Path('/proc/self/status').read_text()\n"  # getrusage would count the parent, before the exec
        "    peak_kb = status.split('VmHWM:')[1].split()[0]\n"
        "    print(time.monotonic() - began, peak_kb, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    seconds, peak_kb = done.stderr.split()[-2:]
    return {**json.loads(done.stdout), "elapsed": float(seconds), "peak_mb": int(peak_kb) // 1024}


def run_collect(environ: dict[str, str], items: int) -> dict[str, Any]:
    done = command(environ, "collect")
    became = done["completed"] + sum(sum(done[what].values()) for what in ("failed", "retried", "returned", "dropped"))
    assert became == items, done
    assert not done["batches"] or all(batch["settled"] for batch in done["batches"])
    return {"seconds": done["elapsed"], "steps": done["seconds"], "peak_mb": done["peak_mb"]}


def run_floor(environ: dict[str, str], items: int) -> dict[str, Any]:
    with results(environ) as (connection, held, chunks):
        rows = list(chunks)
        run_id = held_by(connection, held)
        began = time.monotonic()
        for first, decided in rows:
            write(connection, held, first, decided, run_id=run_id, lease_s=LEASE_S)
        seconds = time.monotonic() - began
        assert sum(len(decided) for _, decided in rows) == items
        check_written(connection, items)
    return {"seconds": seconds}


@contextmanager
def leased(
    environ: dict[str, str], *, prepare_threshold: int | None = None
) -> Generator[tuple[Connection, OpenAI, Settings, Held]]:
    """The one batch there is, under a lease."""
    settings = load_settings(environ)
    with (
        psycopg.connect(environ["DATABASE_URL"], autocommit=True, prepare_threshold=prepare_threshold) as connection,
        provider_client(settings) as client,
    ):
        row = connection.execute("SELECT now() + interval '1 minute'").fetchone()
        assert row is not None
        held = take(connection, run_id=uuid4(), lease_s=LEASE_S, run_started_at=row[0])
        assert held is not None
        yield connection, client, settings, held


@contextmanager
def results(environ: dict[str, str]) -> Generator[tuple[Connection, Held, Generator[tuple[int, list[StageRow]]]]]:
    """Its lines downloaded, matched and decided: what no floor pays for."""
    with leased(environ) as (connection, client, settings, held):
        found = Fetcher(client, settings, settings.collect_grace_s, lambda _: None, []).fetch(held)
        assert isinstance(found, Fetched)
        record(connection, held, found.said, run_id=held_by(connection, held), lease_s=LEASE_S, over=True)
        try:
            yield connection, held, decided(connection, settings, held, found)
        finally:
            found.remove()


def decided(
    connection: Connection, settings: Settings, held: Held, found: Fetched
) -> Generator[tuple[int, list[StageRow]]]:
    prices = price_book(settings.price_book)
    applier = Applier(
        connection, connection, uuid4(), LEASE_S, prices, Backoff(), None, lambda: False, lambda _step, _count: None
    )
    yield from applier.decided(held, found.matched, found.ending.absent)


def held_by(connection: Connection, held: Held) -> Any:
    row = connection.execute("SELECT lease_token FROM rewrite_batches WHERE batch_id = %s", [held.batch_id]).fetchone()
    assert row is not None
    return row[0]


def check_written(connection: Connection, items: int) -> None:
    row = connection.execute("SELECT count(*) FROM rewrite_batch_items WHERE outcome IS NOT NULL").fetchone()
    assert row == (items,)


def run_per_item(environ: dict[str, str], items: int) -> dict[str, Any]:
    with leased(environ, prepare_threshold=PREPARED_AFTER) as (connection, client, settings, held):
        connection.execute("SELECT set_config('rewrite_batch.run_id', %s, false)", [str(uuid4())])
        file_id = client.batches.retrieve(held.provider_batch_id).output_file_id
        assert file_id is not None
        seconds = Singly(connection, client, price_book(settings.price_book), held).collect(file_id)
        check_written(connection, items)
        return {"seconds": seconds, "stored": stored(connection)}


def run_and_look(environ: dict[str, str], items: int) -> dict[str, Any]:
    done = run_collect(environ, items)
    with psycopg.connect(environ["DATABASE_URL"]) as connection:
        return {**done, "stored": stored(connection)}
