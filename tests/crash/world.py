"""A household's queue, a provider and a spool of a test's own, and the command that works on them."""

import os
import select
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from openai import OpenAI
from psycopg import sql
from psycopg.conninfo import make_conninfo

from rewrite_batch.collect.result import CollectResult
from rewrite_batch.collect.run import collect
from rewrite_batch.db import Connection
from rewrite_batch.settings import load_settings
from rewrite_batch.simulator.process import Simulator
from rewrite_batch.submit.run import submit
from tests.conftest import new_database
from tests.crash.killer import Order, Point
from tests.crash.oracle import check_invariants, posts, snapshot
from tests.crash.runs import Run, Runs
from tests.items import enqueue_one, item_document

API_KEY = "sk-test-crash"
SUBMIT = ("submit", "--json")
COLLECT = ("collect", "--json")
TICKS = 5
POLL_S = 0.005  # between two looks at a condition that nobody reports
SETTINGS = {
    "REWRITE_BATCH_PROVIDER_TIMEOUT_S": "20",
    "REWRITE_BATCH_RETRY_BASE_S": "0.01",
    "REWRITE_BATCH_LOG_FORMAT": "json",
    "REWRITE_BATCH_LOG_LEVEL": "debug",
}

# Rows that somebody holds this moment cannot be stale.
AGE_CLAIMS = """UPDATE rewrite_jobs SET claimed_at = claimed_at - interval '1 day'
WHERE job_id IN (
    SELECT job_id FROM rewrite_jobs
    WHERE status = 'processing' AND ({everybody} OR claimed_by = ANY(%(runs)s)) FOR UPDATE SKIP LOCKED
)"""
AGE_LEASES = """UPDATE rewrite_batches SET lease_expires_at = now() - interval '1 second'
WHERE batch_id IN (
    SELECT batch_id FROM rewrite_batches
    WHERE lease_token IS NOT NULL AND ({everybody} OR lease_token::text = ANY(%(runs)s)) FOR UPDATE SKIP LOCKED
)"""
AGE_WAITS = """UPDATE rewrite_jobs SET not_before_at = now() - interval '1 second'
WHERE job_id IN (
    SELECT job_id FROM rewrite_jobs WHERE status = 'queued' AND not_before_at > now() FOR UPDATE SKIP LOCKED
)"""
SESSIONS = "application_name LIKE 'rewrite-batch %'"
AGE_CREATES = """UPDATE rewrite_batches SET create_sent_at = create_sent_at - interval '1 hour'
WHERE state = 'create_sent' AND ({everybody} OR lease_token::text = ANY(%(runs)s))"""


@dataclass
class World:
    url: str
    connection: Connection
    simulator: Simulator
    runs: Runs
    spool: Path
    settings: dict[str, str] = field(default_factory=dict[str, str])
    canaries: tuple[str, ...] = ()
    mutant: str = ""  # of the product: what must be caught
    gateway: dict[str, str] = field(default_factory=dict[str, str])  # answers instead of the provider
    chunk: int = 0
    history: list[Run] = field(default_factory=list[Run])

    def enqueue(self, count: int, **changes: Any) -> list[UUID]:
        return [enqueue_one(self.connection, self.document(**changes)) for _ in range(count)]

    def document(self, **changes: Any) -> dict[str, Any]:
        """`model` and `prompt_version` are of the routing, everything else of the request."""
        routing = {name: changes.pop(name) for name in ("model", "prompt_version") if name in changes}
        document = item_document(**changes)
        document["routing_decision"] |= routing
        return document

    def start(self, *points: Point, command: tuple[str, ...] = SUBMIT, **settings: str) -> Run:
        stdout, stderr = self.runs.new_files()
        order = Order(
            self.environ(**settings),
            str(stdout),
            str(stderr),
            arguments=command,
            points=points,
            mutant=self.mutant,
            chunk=self.chunk,
            gateway=self.gateway,
        )
        run = self.runs.start(order)
        self.history.append(run)
        return run

    def environ(self, **settings: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "SSL_CERT_DIR": os.environ["SSL_CERT_DIR"],
            "DATABASE_URL": self.url,
            "OPENAI_API_KEY": API_KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": self.simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(self.spool),
            **SETTINGS,
            **self.settings,
            **settings,
        }

    def submit(self, *points: Point, **settings: str) -> Run:
        """Until it ends, and its sessions with it."""
        run = self.start(*points, command=SUBMIT, **settings).wait()
        self.wait_for_sessions_to_end()
        return run

    def collect(self, *points: Point, **settings: str) -> Run:
        run = self.start(*points, command=COLLECT, **settings).wait()
        self.wait_for_sessions_to_end()
        return run

    def wait_for_sessions_to_end(self) -> None:
        """The server needs a moment to see that a process is gone."""
        wait_until(lambda: not self.sessions(), "the sessions of ended runs to end")

    def sessions(self, condition: str = "true") -> list[tuple[Any, ...]]:
        return self.rows(
            f"""SELECT pid, state, wait_event_type FROM pg_stat_activity
            WHERE datname = current_database() AND {SESSIONS} AND ({condition})"""
        )

    def waiting_for_locks(self) -> list[tuple[Any, ...]]:
        """Sessions of any command."""
        return self.rows(
            """SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'"""
        )

    def age(self, *runs: str, everything: bool = True, retries: bool = True) -> None:
        """As if hours had passed since these runs, or all of them, did anything; then retries are due too."""
        everybody = everything and not runs
        for statement in (AGE_CLAIMS, AGE_LEASES, AGE_CREATES):
            query = sql.SQL(statement).format(everybody=sql.SQL("true" if everybody else "false"))  # pyright: ignore[reportArgumentType]  all above
            self.connection.execute(query, {"runs": list(runs)})
        if everybody and retries:
            self.connection.execute(AGE_WAITS)
        self.age_spool()

    def age_leases(self) -> None:
        self.connection.execute(sql.SQL(AGE_LEASES).format(everybody=sql.SQL("true")), {"runs": []})

    def age_spool(self) -> None:
        for path in self.spool.iterdir() if self.spool.exists() else ():
            with suppress(FileNotFoundError):  # a run that is under way may remove its own
                os.utime(path, (0, 0))

    def recover(self) -> None:
        """Five ticks at most bring every unit to where submit can bring it; the next one finds nothing to do."""
        for _ in range(TICKS):
            self.age()
            run = self.submit()
            assert run.code == 0, f"exit code {run.code}: {run.stderr}"
            if self.is_settled():
                break
        self.check(at_rest=True)
        self.check_next_tick_does_nothing()

    def is_settled(self) -> bool:
        left = self.rows("SELECT 1 FROM rewrite_jobs WHERE status IN ('queued', 'processing')")
        files = self.rows("SELECT 1 FROM rewrite_batches WHERE state = 'abandoned' AND files_deleted_at IS NULL")
        return not left and not files and not (self.spool.exists() and list(self.spool.iterdir()))

    def bring_home(self) -> None:
        """Five ticks of submit and collect at most bring every unit to its end; one more finds nothing to do.

        In this process, which is quicker: what died was a process of its own, what comes after it is the same code.
        """
        for _ in range(TICKS):
            self.tick()
            if self.is_home():
                break
        self.check(at_rest=True, is_home=True)
        rows, calls = snapshot(self.connection), posts(self.simulator)
        self.tick()
        assert snapshot(self.connection) == rows
        assert posts(self.simulator) == calls

    def tick(self) -> None:
        """As if hours had passed, at the provider too."""
        self.age()
        self.send()
        self.simulator.finish_all()
        self.fetch()

    def send(self) -> None:
        """A submit in this process."""
        with self.connected() as connection:
            assert submit(connection, load_settings(self.environ()), run_id=uuid4()).exit_code == 0

    def fetch(self) -> CollectResult:
        """A collect in this process that leaves nothing for later."""
        result = self.try_to_fetch()
        assert result.exit_code == 0, result.as_json()
        return result

    def try_to_fetch(self) -> CollectResult:
        with self.connected() as first, self.connected() as second:
            return collect(first, second, load_settings(self.environ()), run_id=uuid4())

    def fetch_again(self) -> None:
        """After a collect that died: the next one does the rest, once, and the one after that finds nothing."""
        self.check(at_rest=False)
        self.age_leases()
        self.age_spool()
        self.fetch()
        rows, calls = snapshot(self.connection), posts(self.simulator)
        self.fetch()
        assert snapshot(self.connection) == rows
        assert posts(self.simulator) == calls
        assert not self.rows("SELECT 1 FROM rewrite_batches WHERE state <> 'settled' OR files_deleted_at IS NULL")
        self.check(at_rest=True)

    @contextmanager
    def connected(self) -> Generator[Connection]:
        with psycopg.connect(self.url, autocommit=True, prepare_threshold=None) as connection:
            yield connection

    def is_home(self) -> bool:
        left = self.rows("SELECT 1 FROM rewrite_jobs WHERE status NOT IN ('completed', 'failed', 'canceled')")
        files = self.rows("SELECT 1 FROM rewrite_batches WHERE files_deleted_at IS NULL")
        return not left and not files and not (self.spool.exists() and list(self.spool.iterdir()))

    def check(self, *, at_rest: bool, is_home: bool = False) -> None:
        check_invariants(
            self.connection,
            self.simulator,
            canaries=self.canaries,
            at_rest=at_rest,
            is_home=is_home,
            spool=self.spool,
        )

    def check_next_tick_does_nothing(self) -> None:
        rows, calls = snapshot(self.connection), posts(self.simulator)
        run = self.submit()
        assert run.code == 0
        assert snapshot(self.connection) == rows
        assert posts(self.simulator) == calls

    def statuses(self) -> dict[str, int]:
        return dict(self.rows("SELECT status, count(*) FROM rewrite_jobs GROUP BY status"))

    def batch_states(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT state FROM rewrite_batches ORDER BY planned_at, batch_id")]

    def batch_ids(self, state: str) -> list[UUID]:
        return [row[0] for row in self.rows(f"SELECT batch_id FROM rewrite_batches WHERE state = '{state}'")]

    def alerts(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT kind FROM rewrite_alerts ORDER BY alert_id")]

    def billed(self) -> tuple[int, int]:
        """Once everything at the provider has ended: how many batches and how many lines are on the bill."""
        self.simulator.finish_all()
        summary = self.simulator.ledger_summary()
        return len(summary["batches"]), summary["total"]["lines"]

    def live_at_provider(self) -> list[str]:
        ended = {"failed", "cancelling", "cancelled", "expired"}
        return [batch["id"] for batch in self.simulator.state()["batches"] if batch["status"] not in ended]

    def files_at_provider(self) -> list[str]:
        return [file["filename"] for file in self.simulator.state()["files"] if file["gone"] is None]

    def calls(self, operation: str) -> int:
        return len(self.simulator.calls(operation))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql.SQL(query)).fetchall()  # pyright: ignore[reportArgumentType]  test's own

    def value(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def client(self) -> OpenAI:
        return OpenAI(base_url=self.simulator.base_url, api_key=API_KEY, max_retries=0, timeout=20)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        select.select([], [], [], POLL_S)


@contextmanager
def new_world(
    server: str, template: str, simulator: Simulator, runs: Runs, directory: Path, **settings: str
) -> Generator[World]:
    """A fresh database, a provider as if new, an empty spool."""
    with new_database(server, template) as name:
        simulator.reset()
        url = make_conninfo(server, dbname=name)
        spool = directory / name
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            try:
                yield World(url, connection, simulator, runs, spool, settings)
            finally:
                runs.end_all()


def two_groups(world: World, each: int = 2) -> None:
    """Two batches to be, and one unit that must be refused."""
    world.enqueue(each, target_locale="es")
    world.enqueue(each, target_locale="de")
    world.enqueue(1, prompt_version="v999")
