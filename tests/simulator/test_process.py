"""Starting, stopping and ordering a simulator; it serves loopback and never outlives whoever started it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from openai import OpenAI

from rewrite_batch.errors import ConfigurationError, ProviderUnavailable
from rewrite_batch.simulator.options import SimulatorOptions
from rewrite_batch.simulator.process import Simulator, running_simulator
from rewrite_batch.simulator.serve import serve
from tests.simulator.household import create, jsonl, line, respond

PARENT = """
import sys, time
from pathlib import Path
from rewrite_batch.simulator.process import running_simulator
with running_simulator(Path(sys.argv[1]), "sk") as simulator:
    print(simulator.pid, flush=True)
    sys.stdin.read()
"""


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _wait_until(it_is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not it_is_so():
        assert time.monotonic() < deadline


def test_the_ready_line_is_the_only_output(tmp_path: Path) -> None:
    options = json.dumps({"state_dir": str(tmp_path / "state"), "api_key": "sk-secret"})
    command = [sys.executable, "-m", "rewrite_batch.simulator", options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["base_url"].startswith("http://127.0.0.1:")
        with OpenAI(base_url=ready["base_url"], api_key="sk-secret") as client:
            respond(client)
        _tear_an_upload(ready["base_url"], tmp_path / "state" / "files")
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=10)
        assert (process.returncode, rest, errors) == (0, b"", b"")
    assert set(ready) == {"base_url", "control_url", "state_dir"}


def _tear_an_upload(base_url: str, bodies: Path) -> None:
    """A client that dies in the middle of sending leaves nothing, not even a line in the log."""
    address = urlsplit(base_url)
    part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\nhalf'
    head = "POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-secret\r\nContent-Length: 9999\r\n"
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=10) as torn:
        torn.sendall(f"{head}Content-Type: multipart/form-data; boundary=b\r\n\r\n{part}".encode())
        _wait_until(lambda: any(bodies.glob("*.tmp")))
    _wait_until(lambda: not any(bodies.iterdir()))


def test_it_ends_with_its_block(tmp_path: Path) -> None:
    with running_simulator(tmp_path / "state", "sk") as simulator:
        pid = simulator.pid
        assert is_running(pid)
    assert not is_running(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_it_dies_with_whoever_started_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path / "state")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        os.kill(parent.pid, signal.SIGKILL)
    _wait_until(lambda: not is_running(pid))


def test_only_loopback_is_served(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        serve(SimulatorOptions(state_dir=tmp_path / "state", api_key="sk", host="0.0.0.0"))


def test_a_start_that_fails_says_so(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable), running_simulator(tmp_path / "s", "sk", answers_dir=tmp_path):
        pass


def test_the_state_counts_every_call(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, jsonl(line(1)), batch_id="b")
    client.batches.retrieve(batch.id)
    client.batches.retrieve(batch.id)
    state = simulator.state()
    assert state["calls"] == {"files.create": 1, "batches.create": 1, "batches.retrieve": 2}
    assert [(entry["id"], entry["metadata"]) for entry in state["batches"]] == [(batch.id, {"batch_id": "b"})]
    calls = simulator.calls("batches.retrieve")
    assert [(call["target"], call["status"], call["fault_id"]) for call in calls] == [(batch.id, 200, None)] * 2


def test_the_control_port_is_healthy_and_apart_from_the_providers(simulator: Simulator) -> None:
    with urllib.request.urlopen(simulator.control_url + "/_sim/health", timeout=10) as answer:
        assert json.load(answer)["ok"] is True
    with pytest.raises(urllib.error.HTTPError) as missing:
        urllib.request.urlopen(simulator.base_url + "/../_sim/health", timeout=10)
    missing.value.close()
    assert missing.value.code == 404


@pytest.mark.parametrize("change", [{"invented": 1}, {"seed": "x"}, {"validating_s": -1}, {"bad_shares": []}])
def test_a_setting_that_does_not_exist_or_fit_is_refused(simulator: Simulator, change: dict[str, object]) -> None:
    before = simulator.settings()
    with pytest.raises(ConfigurationError):
        simulator.settings(**change)
    assert simulator.settings() == before


def test_a_reset_forgets_everything_but_the_clock(simulator: Simulator, client: OpenAI) -> None:
    create(client, jsonl(line(1)))
    simulator.finish_all()
    simulator.arm({"operation": "*", "kind": "reset_before"})
    simulator.settings(bad_share=0.5)
    simulator.refuse()
    now = simulator.now()
    simulator.reset()
    state = simulator.state()
    assert (state["batches"], state["files"], state["calls"], simulator.ledger()) == ([], [], {}, [])
    assert (simulator.faults(), simulator.now(), simulator.settings()["seed"]) == ([], now, 7)
    assert simulator.settings()["bad_share"] == 0.0
    assert list((simulator.state_dir / "files").iterdir()) == []
    client.models.list()


def test_time_never_goes_back(simulator: Simulator) -> None:
    with pytest.raises(ConfigurationError):
        simulator.advance(-1)
