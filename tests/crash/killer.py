"""Runs of submit and collect that meet a signal at a chosen point: real processes, no hook in the product.

    python -m tests.crash.killer      orders come in on stdin, what became of the runs goes out on stdout: JSON lines

The product is imported once; every order forks a process of its own that patches the libraries from the outside, runs
the real command line and sends itself a signal before or after the n-th commit, the n-th call of the provider, or the
n-th time of a named step. A point that is never reached leaves the run alone: whoever enumerates n stops there.
"""

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from openai import OpenAI
from psycopg.pq import TransactionStatus

from rewrite_batch import cli
from rewrite_batch.evaluate.language import model
from rewrite_batch.evaluate.packs import shipped
from tests.crash.mutants import MUTANTS
from tests.crash.points import COLLECT_STEPS, CUT, SUBMIT_STEPS, Numbers, cut, watch_rows

PR_SET_PDEATHSIG = 1
LOADED_LATE = (
    "rewrite_batch.submit.plan",
    "rewrite_batch.submit.run",
    "rewrite_batch.submit.show",
    "rewrite_batch.collect.replay",
    "rewrite_batch.collect.run",
    "rewrite_batch.collect.show",
    "rewrite_batch.cancel",
)
REACHED = "killer: reached "

# Collect reconciles what submit left; the steps of that are walked through with submit.
STEPS = {"submit": SUBMIT_STEPS, "collect": (*COLLECT_STEPS, "rewrite_batch.reconcile.ledger:register")}
EFFECT = "effect"  # a commit or a call: between two of them a kill makes no difference


@dataclass(frozen=True)
class Point:
    """`at` is commit, call, EFFECT or a step; statement (within a transaction), also with the
    statement's first four words; of collect also row (of a COPY).

    `signal` is what the process does to itself there; CUT loses the answer of a commit instead.
    """

    at: str
    when: str = "before"
    number: int = 0
    signal: str = "SIGKILL"

    def __str__(self) -> str:
        return f"{self.signal} {self.when} {self.at} {self.number}"


@dataclass(frozen=True)
class Order:
    environ: dict[str, str]
    stdout: str
    stderr: str
    arguments: tuple[str, ...] = ("submit", "--json")
    points: tuple[Point, ...] = ()
    mutant: str = ""
    chunk: int = 0  # collect writes so many units a transaction
    # A gateway in between: it answers calls of this method and path itself, with status 200 and this JSON.
    gateway: dict[str, str] = field(default_factory=dict[str, str])

    def line(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, line: str) -> "Order":
        given: dict[str, Any] = json.loads(line)
        given["points"] = tuple(Point(**point) for point in given["points"])
        return cls(**given)


class Watch:
    """Counts what passes, and strikes when a point is reached."""

    def __init__(self, points: tuple[Point, ...]) -> None:
        self.points = {(point.at, point.when, point.number): point for point in points}
        self.numbers = Numbers()

    @contextmanager
    def around(self, *kinds: str, what: str = "", connection: Any = None) -> Generator[None]:
        numbers = self.numbers.next(kinds)
        for kind in kinds:
            self.strike(kind, "before", numbers[kind], what, connection)
        try:
            yield
        finally:
            for kind in kinds:
                self.strike(kind, "after", numbers[kind], what, connection)

    def strike(self, at: str, when: str, number: int, what: str, connection: Any) -> None:
        point = self.points.get((at, when, number))
        if point:
            os.write(2, f"{REACHED}{point} ({what})\n".encode())
            if point.signal == CUT:
                cut(connection)
            # To this thread: sent to the process, a stop may find another thread first, and this one runs on.
            signal.pthread_kill(threading.get_ident(), signal.Signals[point.signal])


def watch_commits(watch: Watch) -> None:
    """The end of an outermost transaction, and every statement outside of one that is more than a look."""
    enter, leave = psycopg.Transaction.__enter__, psycopg.Transaction.__exit__
    execute: Any = psycopg.Connection.execute
    outermost: set[int] = set()

    def entered(self: psycopg.Transaction) -> psycopg.Transaction:
        if self.connection.info.transaction_status == TransactionStatus.IDLE:
            outermost.add(id(self))
        return enter(self)

    def left(self: psycopg.Transaction, kind: Any, error: Any, trace: Any) -> bool:
        commits = id(self) in outermost and kind is None
        outermost.discard(id(self))
        if not commits:
            return leave(self, kind, error, trace)
        with watch.around("commit", EFFECT, what="transaction", connection=self.connection):
            return leave(self, kind, error, trace)

    def executed(self: psycopg.Connection[Any], query: Any, *rest: Any, **named: Any) -> Any:
        words = _first_words(query)
        if self.info.transaction_status != TransactionStatus.IDLE:
            with watch.around("statement", f"statement {words}", what=words):
                return execute(self, query, *rest, **named)
        if words.startswith("SELECT"):
            return execute(self, query, *rest, **named)
        with watch.around("commit", EFFECT, what=words, connection=self):
            return execute(self, query, *rest, **named)

    setattr(psycopg.Transaction, "__enter__", entered)  # noqa: B010  pyright lets no method be replaced
    setattr(psycopg.Transaction, "__exit__", left)  # noqa: B010
    setattr(psycopg.Connection, "execute", executed)  # noqa: B010


def _first_words(query: Any) -> str:
    text = query.decode() if isinstance(query, bytes) else str(query)
    return " ".join(" ".join(line for line in text.splitlines() if not line.startswith("--")).split()[:4])


def watch_calls(watch: Watch, gateway: dict[str, str]) -> None:
    send = httpx2.Client.send

    def sent(self: httpx2.Client, request: httpx2.Request, **more: Any) -> httpx2.Response:
        answer = gateway.get(f"{request.method} {request.url.path}")
        if answer is not None:
            os.write(2, f"{REACHED}gateway\n".encode())
            return httpx2.Response(200, json=json.loads(answer), request=request)
        with watch.around("call", EFFECT, what=f"{request.method} {request.url.path}"):
            return send(self, request, **more)

    setattr(httpx2.Client, "send", sent)  # noqa: B010


def watch_steps(watch: Watch, steps: tuple[str, ...]) -> None:
    for step in steps:
        module, _, path = step.partition(":")
        owner: Any = importlib.import_module(module)
        *within, name = path.split(".")
        for part in within:
            owner = getattr(owner, part)
        setattr(owner, name, _watched(watch, step, getattr(owner, name)))


def _watched(watch: Watch, step: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any, **named: Any) -> Any:
        with watch.around(step):
            return original(*values, **named)

    return call


def run(order: Order) -> int:
    """In the forked process: everything from here on is the command itself."""
    os.environ.clear()
    os.environ.update(order.environ)
    files = ((0, os.devnull, os.O_RDONLY), (1, order.stdout, os.O_WRONLY), (2, order.stderr, os.O_WRONLY))
    for number, name, mode in files:
        os.dup2(os.open(name, mode | os.O_CREAT | os.O_APPEND, 0o600), number)
    if order.mutant:
        tempfile.tempdir = str(Path(order.stdout).parent)  # what a killed run cannot remove, the test's end does
        MUTANTS[order.mutant]()
    watch = Watch(order.points)
    watch_commits(watch)
    watch_calls(watch, order.gateway)
    if order.arguments[0] == "collect":
        watch_rows(watch.around)
        if order.chunk:
            for name in ("rewrite_batch.collect.apply", "rewrite_batch.collect.write"):
                vars(sys.modules[name])["MAX_CHUNK"] = order.chunk
            vars(sys.modules["rewrite_batch.collect.apply"])["STRETCH"] = order.chunk
    watch_steps(watch, STEPS.get(order.arguments[0], ()))
    sys.argv = ["rewrite-batch", *order.arguments]
    try:
        cli.main()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        return int(end.code or 0)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _fork(order: Order) -> int:
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        _die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = run(order)
    finally:
        os._exit(code)


def _events() -> Iterator[dict[str, int]]:
    """What happened to the runs since the last look."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            yield {"pid": pid, "stopped": 1}
        else:
            yield {"pid": pid, "code": os.waitstatus_to_exitcode(status)}


def warm_up() -> None:
    """What is loaded and built at first use: once here instead of once a run. Nobody is called.

    Of the checks only what is read from files: a fork after polars has worked would wait for threads it does not have.
    """
    for module in LOADED_LATE:
        importlib.import_module(module)
    shipped()
    model("latin")

    def answer(request: httpx2.Request) -> httpx2.Response:
        one: dict[str, Any] = {"id": "x", "status": "validating", "input_file_id": "x", "created_at": 1, "metadata": {}}
        return httpx2.Response(200, json=one if request.method == "POST" else {"data": [one], "has_more": False})

    with (
        httpx2.Client(),
        httpx2.Client(transport=httpx2.MockTransport(answer)) as transport,
        OpenAI(api_key="none", base_url="http://127.0.0.1:9", http_client=transport) as client,
    ):
        client.files.create(file=("x.jsonl", b"{}"), purpose="batch")
        client.batches.create(input_file_id="x", endpoint="/v1/responses", completion_window="24h")
        client.batches.cancel("x")
        client.files.delete("x")
        assert len(list(client.batches.list())) == len(list(client.files.list())) == 1


def serve() -> None:
    _die_with_parent()
    warm_up()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    gc.collect()
    gc.freeze()
    orders = b""
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        said: list[dict[str, int]] = []
        if woken in ready:
            os.read(woken, 4096)
        if 0 in ready:
            piece = os.read(0, 1 << 16)
            if not piece:
                break
            *lines, orders = (orders + piece).split(b"\n")
            for line in lines:
                pid = _fork(Order.of(line.decode()))
                running.add(pid)
                said.append({"pid": pid, "started": 1})
        said += _events()
        running -= {event["pid"] for event in said if "code" in event}
        os.write(1, b"".join(json.dumps(event).encode() + b"\n" for event in said))
    for pid in running:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    serve()
