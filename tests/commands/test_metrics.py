"""Metrics after a run, as a process: the file, the push, and that neither can spoil a run."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rewrite_batch.db import Connection
from rewrite_batch.simulator.process import running_simulator
from tests.commands.conftest import Run
from tests.items import TEXT, enqueue_one

KEY = "sk-metrics-canary"


def figure(text: str, name: str, **labels: str) -> float:
    [found] = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"rewrite_batch_{name}" and sample.labels.items() >= labels.items()
    ]
    return found


class Gateway:
    """Takes what a Pushgateway takes, over real HTTP."""

    def __init__(self) -> None:
        self.pushes: list[tuple[str, str, str]] = []
        self.status = 200
        pushes = self.pushes
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                pushes.append((self.command, self.path, body))
                self.send_response(gateway.status)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    made = Gateway()
    Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_file_and_a_push_after_each_run_say_what_it_did(
    run: Run, migrated: dict[str, str], connection: Connection, tmp_path: Path, gateway: Gateway
) -> None:
    file = tmp_path / "rewrite_batch.prom"
    with running_simulator(tmp_path / "simulator", KEY) as simulator:
        settings = {
            **migrated,
            "OPENAI_API_KEY": KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(tmp_path / "spool"),
            "REWRITE_BATCH_METRICS_FILE": str(file),
            "REWRITE_BATCH_PUSHGATEWAY_URL": gateway.url,
            "REWRITE_BATCH_ENVIRONMENT": "stage",
        }
        enqueue_one(connection)
        assert run("submit", **settings).returncode == 0
        submitted = file.read_text()
        assert run("collect", **settings).returncode == 0
    assert figure(submitted, "submitted_total") == figure(submitted, "batch_items_in_flight") == 1
    assert figure(submitted, "last_run_exit_code", command="submit") == 0
    collected = file.read_text()
    assert figure(collected, "last_success_timestamp_seconds", command="collect") > 1e9
    assert [(method, path) for method, path, _ in gateway.pushes] == [
        ("PUT", "/metrics/job/rewrite_batch/environment/stage")
    ] * 2
    assert gateway.pushes[1][2] == collected
    assert TEXT not in collected
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert file.stat().st_mode & 0o777 == 0o644, "another user reads it"


def test_metrics_that_cannot_be_written_are_logged_and_the_run_is_what_it_was(
    run: Run, migrated: dict[str, str], tmp_path: Path, gateway: Gateway
) -> None:
    gateway.status = 500
    done = run(
        "submit",
        **migrated,
        OPENAI_API_KEY=KEY,
        REWRITE_BATCH_SPOOL_DIR=str(tmp_path / "spool"),
        REWRITE_BATCH_METRICS_FILE=str(tmp_path / "no-such-directory" / "x.prom"),
        REWRITE_BATCH_PUSHGATEWAY_URL=gateway.url,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines() if "metrics_failed" in line]
    assert [(line["operation"], line["error_class"]) for line in lines] == [
        ("file", "FileNotFoundError"),
        ("push", "HTTPError"),
    ]
    assert len(gateway.pushes) == 1
