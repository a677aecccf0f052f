"""Runs of the command line as processes that a test starts, waits for, stops, wakes and kills."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.killer import REACHED, Order

LONGEST_RUN_S = 120.0


@dataclass
class Run:
    """One process. `code` is its exit code, negative for the signal that killed it."""

    runs: "Runs"
    pid: int
    stdout_file: Path
    stderr_file: Path
    stopped: bool = False
    code: int | None = None

    def wait(self, seconds: float = LONGEST_RUN_S) -> "Run":
        self.runs.read_until(lambda: self.code is not None, seconds, f"process {self.pid} to end")
        return self

    def wait_until_stopped_or_ended(self) -> "Run":
        self.runs.read_until(
            lambda: self.stopped or self.code is not None, LONGEST_RUN_S, f"process {self.pid} to stop"
        )
        return self

    def wait_until_stopped(self) -> "Run":
        self.wait_until_stopped_or_ended()
        assert self.code is None, f"the run ended before its point: {self.stderr}"
        return self

    def has_ended(self) -> bool:
        """A look, without waiting."""
        self.runs.read_what_is_there()
        return self.code is not None

    def send(self, number: signal.Signals) -> None:
        """Only to a process that we have not yet seen end."""
        if not self.has_ended():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wake(self) -> "Run":
        self.stopped = False
        self.send(signal.SIGCONT)
        return self

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def stdout(self) -> str:
        return self.stdout_file.read_text()

    @property
    def stderr(self) -> str:
        return self.stderr_file.read_text()

    @property
    def reached(self) -> list[str]:
        """The points that this run came to."""
        return [line.removeprefix(REACHED) for line in self.stderr.splitlines() if line.startswith(REACHED)]

    @property
    def result(self) -> dict[str, Any]:
        return json.loads(self.stdout)


@dataclass
class Runs:
    """The process that forks the runs, seen from a test."""

    server: subprocess.Popen[bytes]
    directory: Path
    known: dict[int, Run] = field(default_factory=dict[int, Run])
    count: int = 0
    _rest: bytes = b""
    _started: list[int] = field(default_factory=list[int])

    def start(self, order: Order) -> Run:
        assert self.server.stdin is not None
        self.server.stdin.write(order.line().encode() + b"\n")
        self.server.stdin.flush()
        self._started.clear()
        self.read_until(lambda: bool(self._started), LONGEST_RUN_S, "a process to start")
        run = self.known[self._started[0]]
        run.stdout_file, run.stderr_file = Path(order.stdout), Path(order.stderr)
        return run

    def new_files(self) -> tuple[Path, Path]:
        self.count += 1
        return self.directory / f"{self.count}.out", self.directory / f"{self.count}.err"

    def end_all(self) -> None:
        for run in list(self.known.values()):
            run.send(signal.SIGKILL)
        self.read_until(
            lambda: all(run.code is not None for run in self.known.values()), LONGEST_RUN_S, "all runs to end"
        )
        self.known.clear()

    def read_until(self, reached: Callable[[], bool], seconds: float, what: str) -> None:
        assert self.server.stdout is not None
        deadline = time.monotonic() + seconds
        while not reached():
            ready, _, _ = select.select([self.server.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"waited {seconds} s for {what}"
            self._read()

    def read_what_is_there(self) -> None:
        assert self.server.stdout is not None
        while select.select([self.server.stdout], [], [], 0)[0]:
            self._read()

    def _read(self) -> None:
        assert self.server.stdout is not None
        piece = os.read(self.server.stdout.fileno(), 1 << 16)
        assert piece, "the killer is gone"
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    def any_ended(self, among: list[Run]) -> list[Run]:
        """Waits for one of these runs at least."""
        self.read_until(lambda: any(run.code is not None for run in among), LONGEST_RUN_S, "any run to end")
        return [run for run in among if run.code is not None]

    def _hear(self, event: dict[str, int]) -> None:
        pid = event["pid"]
        if "started" in event:
            self.known[pid] = Run(self, pid, Path(), Path())
            self._started.append(pid)
        elif "stopped" in event:
            self.known[pid].stopped = True
        else:
            self.known[pid].code = event["code"]


@contextmanager
def running_killer(directory: Path) -> Generator[Runs]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.killer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        try:
            yield Runs(server, directory)
        finally:
            assert server.stdin is not None
            server.stdin.close()  # it ends what still runs, then itself
            server.wait()
