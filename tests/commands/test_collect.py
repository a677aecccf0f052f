"""`rewrite-batch collect` as people start it: output, exit codes, signals, and nothing that leaks."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from pydantic import SecretStr

from rewrite_batch.settings import load_settings
from rewrite_batch.simulator.process import Simulator, running_simulator
from rewrite_batch.submit.run import submit
from tests.commands.conftest import Run, environment
from tests.items import enqueue_one, item_document

KEY = "sk-collect-command"
CANARY = "zanahoria-canary-7731"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    state = tmp_path_factory.mktemp("provider") / "state"
    with running_simulator(state, KEY, time_scale=0, bad_share=0) as simulator:
        yield simulator


@pytest.fixture
def working(provider: Simulator, database: SecretStr, tmp_path: Path) -> dict[str, str]:
    provider.reset()
    return {
        "DATABASE_URL": database.get_secret_value(),
        "OPENAI_API_KEY": KEY,
        "REWRITE_BATCH_PROVIDER_BASE_URL": provider.base_url,
        "REWRITE_BATCH_SPOOL_DIR": str(tmp_path / "spool"),
        "REWRITE_BATCH_RETRY_BASE_S": "0.01",
        "REWRITE_BATCH_LOG_FORMAT": "json",
        "REWRITE_BATCH_LOG_LEVEL": "debug",
    }


def send(working: dict[str, str], count: int, text: str = "Turn it down!") -> None:
    with psycopg.connect(working["DATABASE_URL"], autocommit=True) as connection:
        for _ in range(count):
            enqueue_one(connection, item_document(text))
        assert submit(connection, load_settings(working), run_id=uuid4()).submitted == count


def rows(working: dict[str, str], query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(working["DATABASE_URL"]) as connection:
        return connection.execute(sql.SQL(query)).fetchall()  # pyright: ignore[reportArgumentType]  a test's own


def test_collect_as_a_schedule_runs_it(run: Run, working: dict[str, str], provider: Simulator) -> None:
    idle = run("collect", **working)
    assert (idle.returncode, json.loads(idle.stdout)["polled"]) == (0, 0)
    send(working, 3)
    provider.finish_all()
    done = run("collect", **working)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["completed"], told["settled"], told["batches"][0]["items"]) == (3, 1, 3)
    assert rows(
        working, "SELECT exit_code, counts ->> 'completed' FROM worker_runs ORDER BY started_at DESC LIMIT 1"
    ) == [(0, "3")]


def test_a_person_at_a_terminal_sees_bytes_and_items_and_a_schedule_does_not(
    run: Run, working: dict[str, str], provider: Simulator
) -> None:
    send(working, 3)
    provider.finish_all()
    size = sum(file["bytes"] for file in provider.state()["files"] if file["purpose"] == "batch_output")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rewrite_batch", "collect", "--json"],
        stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment(**working, TERM="xterm", COLUMNS="100"),
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = read_terminal(ours)
        out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0, shown
    assert json.loads(out)["completed"] == 3
    assert f"polled 1  bytes {size:,}  items 3" in shown
    send(working, 1)
    provider.finish_all()
    assert "bytes" not in run("collect", **working).stderr


def read_terminal(descriptor: int) -> str:
    """All that is written to it, until its other end is closed."""
    pieces: list[bytes] = []
    with suppress(OSError):  # how Linux says that nobody is at the other end any more
        while piece := os.read(descriptor, 1 << 16):
            pieces.append(piece)
    return b"".join(pieces).decode(errors="replace")


def test_a_provider_that_is_away_is_a_passing_condition(run: Run, working: dict[str, str], provider: Simulator) -> None:
    send(working, 1)
    provider.finish_all()
    provider.refuse()
    try:
        done = run("collect", **working)
    finally:
        provider.accept()
    assert done.returncode == 75
    assert json.loads(done.stdout)["put_off"] == {"provider_unavailable": 1}
    assert "Traceback" not in done.stderr


def test_a_key_that_is_refused_is_a_configuration_error(run: Run, working: dict[str, str]) -> None:
    send(working, 1)
    done = run("collect", **(working | {"OPENAI_API_KEY": "sk-wrong"}))
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr
    assert rows(working, "SELECT lease_token FROM rewrite_batches") == [(None,)]
    assert rows(working, "SELECT exit_code FROM worker_runs WHERE command = 'collect'") == [(2,)]


def test_a_directory_that_others_can_open_keeps_no_words(run: Run, working: dict[str, str], tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir(mode=0o755)
    refused = run("collect", "--keep", str(open_to_all), **working)
    assert refused.returncode == 2
    assert "chmod 700" in refused.stderr


def test_sigterm_during_a_download_ends_it_soon_and_the_next_run_goes_on(
    working: dict[str, str], provider: Simulator, run: Run
) -> None:
    send(working, 3)
    provider.finish_all()
    slow = provider.arm({"operation": "files.content", "kind": "slow_body", "seconds": 60})
    process = subprocess.Popen(
        [sys.executable, "-m", "rewrite_batch", "collect", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**working),
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not provider.fired(slow):
        assert time.monotonic() < deadline
        os.sched_yield()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert process.returncode == 143, said
    assert rows(working, "SELECT count(*) FROM rewrite_batch_items WHERE outcome IS NOT NULL") == [(0,)]
    assert rows(working, "SELECT lease_token FROM rewrite_batches") == [(None,)]
    assert not list(Path(working["REWRITE_BATCH_SPOOL_DIR"]).iterdir())
    provider.disarm()
    assert json.loads(run("collect", **working).stdout)["completed"] == 3


def test_no_words_leave_by_logs_output_alerts_or_tables(run: Run, working: dict[str, str], provider: Simulator) -> None:
    """Original and answer hold the word, in lines good and bad: whatever happens, it stays inside."""
    kinds = ["echo", "refusal", "broken_json", "extra_keys", "nul", "lone_surrogate", "malformed_line", "bom",
             "unknown_custom_id", "duplicate_different", "truncated"]  # fmt: skip
    send(working, len(kinds) + 1, f"You {CANARY} never clean the {CANARY} kitchen")
    for index, kind in enumerate(kinds):
        provider.arm({"operation": "line", "kind": kind, "index": index})
    provider.finish_all()
    done = run("collect", **working)
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    for table in ("rewrite_jobs", "rewrite_batches", "rewrite_batch_items", "provider_calls", "token_reservations",
                  "rewrite_job_events", "worker_runs", "outbox_events", "rewrite_alerts", "model_limits"):  # fmt: skip
        assert rows(working, f"SELECT 1 FROM {table} t WHERE t::text LIKE '%{CANARY}%'") == [], table
    assert rows(working, "SELECT count(*) > 0 FROM rewrite_alerts") == [(True,)]
