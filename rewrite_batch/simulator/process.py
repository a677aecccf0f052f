"""A simulator in a process of its own, for the demo and for tests: start, order, kill and start it again.

    with running_simulator(tmp_path, "sk-test", time_scale=0) as simulator:
        client = OpenAI(base_url=simulator.base_url, api_key="sk-test")
        simulator.arm({"operation": "batches.create", "kind": "reset_after"})
        simulator.advance(70)

It ends when the block ends, and on Linux also when the thread that started it does. This side needs only the
standard library.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from rewrite_batch.errors import ConfigurationError, ProviderUnavailable
from rewrite_batch.simulator.options import SimulatorOptions

START_SECONDS = 30.0
STOP_SECONDS = 10.0


class Simulator:
    """A running simulator. Its two URLs stay the same when it is killed and started again."""

    def __init__(self, options: SimulatorOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.base_url = ""
        self.control_url = ""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def api_key(self) -> str:
        return self._options.api_key

    @property
    def state_dir(self) -> Path:
        return self._options.state_dir

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, on the ports it had before; in a session of its own, since Ctrl-C is for us, who stop it."""
        given = asdict(self._options) | {"die_with": os.getpid()}
        for name, url in (("port", self.base_url), ("control_port", self.control_url)):
            given[name] = urlsplit(url).port or given[name]
        argument = json.dumps({name: str(value) if isinstance(value, Path) else value for name, value in given.items()})
        self._process = subprocess.Popen(  # noqa: S603 - our own module and options
            [sys.executable, "-m", "rewrite_batch.simulator", argument], stdout=subprocess.PIPE, start_new_session=True
        )
        ready = json.loads(self._ready_line())
        self.base_url, self.control_url = ready["base_url"], ready["control_url"]

    def stop(self) -> None:
        """SIGTERM, then SIGKILL when that is not heard in time."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up. `start` brings it back with what it had answered."""
        self._end(signal.SIGKILL)

    def reset(self) -> None:
        """As if new, and much quicker than a new process: for tests that come one after the other."""
        self._post("/_sim/reset", {})

    def arm(self, fault: dict[str, Any]) -> int:
        return int(self._post("/_sim/faults", fault)["fault_id"])

    def faults(self) -> list[dict[str, Any]]:
        return self._get("/_sim/faults")["faults"]

    def fired(self, fault_id: int) -> int:
        return next(int(fault["fired"]) for fault in self.faults() if fault["fault_id"] == fault_id)

    def disarm(self, fault_id: int | None = None) -> None:
        self._order("DELETE", "/_sim/faults" if fault_id is None else f"/_sim/faults/{fault_id}", None)

    def advance(self, seconds: float) -> float:
        """Push the clock; what became due has happened when this returns. The new time."""
        return float(self._post("/_sim/clock", {"advance_s": seconds})["now"])

    def finish_all(self) -> float:
        """Push the clock until every batch has ended."""
        return float(self._post("/_sim/clock", {"until_idle": True})["now"])

    def now(self) -> float:
        return float(self._get("/_sim/clock")["now"])

    def ledger(self, provider_batch_id: str | None = None) -> list[dict[str, Any]]:
        query = f"?provider_batch_id={quote(provider_batch_id)}" if provider_batch_id else ""
        return self._get(f"/_sim/ledger{query}")["rows"]

    def ledger_summary(self) -> dict[str, Any]:
        return self._get("/_sim/ledger/summary")

    def state(self) -> dict[str, Any]:
        return self._get("/_sim/state")

    def calls(self, operation: str | None = None) -> list[dict[str, Any]]:
        query = f"?operation={quote(operation)}" if operation else ""
        return self._get(f"/_sim/calls{query}")["calls"]

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Change these settings; all of them as they are now."""
        return self._post("/_sim/settings", changes) if changes else self._get("/_sim/settings")

    def end_batch(self, provider_batch_id: str, status: str, **more: Any) -> None:
        self._post(f"/_sim/batches/{quote(provider_batch_id)}", {"status": status, **more})

    def refuse(self, seconds: float | None = None) -> None:
        """Connections are refused, for so many real seconds or until `accept`."""
        self._post("/_sim/refuse", {} if seconds is None else {"seconds": seconds})

    def accept(self) -> None:
        self._post("/_sim/accept", {})

    def _get(self, path: str) -> dict[str, Any]:
        return self._order("GET", path, None)

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._order("POST", path, json.dumps(body).encode())

    def _order(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        request = urllib.request.Request(self.control_url + path, data=body, method=method)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - loopback
                return json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                reason = refused.read().decode("utf-8", "replace")
            raise ConfigurationError(f"the simulator refused {method} {path}: {reason}") from None

    def _ready_line(self) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor, line = self._process.stdout.fileno(), b""
        deadline = time.monotonic() + START_SECONDS
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(descriptor, 4096) if readable else b""
            if not piece:
                self.kill()
                raise ProviderUnavailable("the simulator did not start: its own message is on stderr")
            line += piece
        return line

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
        self._process = None


@contextmanager
def running_simulator(state_dir: Path, api_key: str, **options: Any) -> Generator[Simulator]:
    """Start one with these options (see SimulatorOptions) and stop it at the end of the block."""
    simulator = Simulator(SimulatorOptions(state_dir=state_dir, api_key=api_key, **options))
    try:
        simulator.start()
        yield simulator
    finally:
        simulator.stop()
