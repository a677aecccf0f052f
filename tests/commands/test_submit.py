"""Submit, status, cancel and check as an operator meets them: on a terminal, in a pipe, and when something is wrong."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from rewrite_batch.simulator.process import Simulator, running_simulator
from tests.commands.conftest import Run, environment
from tests.items import enqueue_one, item_document

KEY = "sk-submit-command"
LONGEST_SILENCE_S = 60
CLEAR = "\x1b[2J\x1b[H"  # before each look of --watch


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    with running_simulator(tmp_path_factory.mktemp("provider") / "state", KEY, time_scale=0) as simulator:
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
    }


def queue(working: dict[str, str], count: int) -> None:
    with psycopg.connect(working["DATABASE_URL"], autocommit=True) as connection:
        for _ in range(count):
            enqueue_one(connection, item_document())


def states(working: dict[str, str]) -> dict[str, int]:
    with psycopg.connect(working["DATABASE_URL"]) as connection:
        return dict(connection.execute("SELECT status, count(*) FROM rewrite_jobs GROUP BY 1").fetchall())


class Terminal:
    """A process whose stdin and stderr are a person's; stdout too, unless it is piped."""

    def __init__(self, settings: dict[str, str], *arguments: str, piped: bool = False) -> None:
        self.ours, theirs = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rewrite_batch", *arguments],
            env=environment(**settings, TERM="xterm", COLUMNS="80"),
            stdin=theirs,
            stdout=subprocess.PIPE if piped else theirs,
            stderr=theirs,
        )
        os.close(theirs)

    def read_until(self, text: str) -> "Terminal":
        while text not in self.seen:
            assert self._read(), f"ended before {text!r}: {self.seen}"
        return self

    def answer(self, line: str) -> "Terminal":
        os.write(self.ours, line.encode())
        return self

    def end(self) -> int:
        while self._read():
            pass
        os.close(self.ours)
        return self.process.wait()

    def piped(self) -> str:
        assert self.process.stdout is not None
        with self.process.stdout as pipe:
            return pipe.read().decode()

    def _read(self) -> bool:
        if not select.select([self.ours], [], [], LONGEST_SILENCE_S)[0]:
            self.process.kill()
            raise AssertionError(f"it says nothing more: {self.seen}")
        piece = b""
        with suppress(OSError):  # when the last writer is gone, reading a terminal is an error
            piece = os.read(self.ours, 65_536)
        self.seen += piece.decode(errors="replace").replace("\r\n", "\n")
        return bool(piece)


def test_nothing_pending_is_one_line_exit_code_0_and_no_call(
    run: Run, working: dict[str, str], provider: Simulator
) -> None:
    piped = run("submit", **working)
    assert (piped.returncode, piped.stdout.count("\n"), piped.stderr) == (0, 1, "")
    assert json.loads(piped.stdout)["claimed"] == 0
    terminal = Terminal(working, "submit")
    assert terminal.end() == 0
    assert "nothing is pending\n" in terminal.seen
    assert run("submit", "--dry-run", **working).returncode == 0
    assert provider.calls() == []


def test_a_person_sees_how_far_it_is_and_a_table_and_whole_ids_at_the_end(working: dict[str, str]) -> None:
    queue(working, 3)
    terminal = Terminal(working, "submit")
    assert terminal.end() == 0
    assert "claimed 3  rendered 3  uploaded 3  created 3" in terminal.seen
    with psycopg.connect(working["DATABASE_URL"]) as connection:
        row = connection.execute("SELECT batch_id::text FROM rewrite_batches").fetchone()
    assert row is not None
    table = terminal.seen[terminal.seen.rindex("Batches") :]
    first_column = "".join(line.partition(" ")[0] for line in table.splitlines())
    assert row[0] in first_column, "folded, not cut: it is what `cancel --batch` wants"


def test_a_limit_says_itself_in_one_line_with_exit_code_0(working: dict[str, str], provider: Simulator) -> None:
    queue(working, 1)
    closed = {**working, "REWRITE_BATCH_DAILY_BUDGET_USD": "0", "REWRITE_BATCH_LOG_LEVEL": "error"}
    told = Terminal(closed, "submit")
    assert told.end() == 0
    assert "waiting: budget  not claimed" in told.seen
    planned = Terminal(closed, "submit", "--dry-run")
    assert planned.end() == 0
    assert "nothing would be sent" in planned.seen
    assert "would wait: budget  not claimed" in planned.seen
    assert provider.calls() == []


def test_a_dry_run_needs_no_key_and_calls_nobody(run: Run, working: dict[str, str], provider: Simulator) -> None:
    queue(working, 2)
    done = run("submit", "--dry-run", **{name: value for name, value in working.items() if name != "OPENAI_API_KEY"})
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["dry_run"], told["items"], told["batches"]) == (True, 2, 1)
    assert states(working) == {"queued": 2}
    assert provider.calls() == []


def test_every_log_line_of_a_run_names_it(run: Run, working: dict[str, str], provider: Simulator) -> None:
    """Also those of the thread that sends."""
    queue(working, 1)
    provider.refuse()
    try:
        done = run("submit", **working)
    finally:
        provider.accept()
    assert done.returncode == 75
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert "not_created" in {line["event"] for line in lines}
    assert {line.get("run_id") for line in lines} == {json.loads(done.stdout)["run_id"]}


@pytest.mark.parametrize(
    ("said", "left"), [("y\n", "canceled"), ("n\n", "queued"), ("\n", "queued"), ("\x04", "queued")]
)
def test_cancel_asks_on_a_terminal_and_only_yes_is_yes(working: dict[str, str], said: str, left: str) -> None:
    queue(working, 2)
    terminal = Terminal(working, "cancel", "--model", "gpt-5.2").read_until("for good?")
    assert "queued     2" in terminal.seen
    assert states(working) == {"queued": 2}, "not before it is answered"
    assert terminal.answer(said).end() == 0
    assert states(working) == {left: 2}
    assert ("nothing was canceled" in terminal.seen) == (left == "queued")


def test_the_question_is_not_part_of_the_answer(working: dict[str, str]) -> None:
    queue(working, 2)
    terminal = Terminal(working, "cancel", "--model", "gpt-5.2", piped=True).read_until("for good?").answer("y\n")
    assert json.loads(terminal.piped())["canceled"] == {"queued": 2}
    assert terminal.end() == 0


def test_cancel_does_not_ask_when_told_yes_or_when_nobody_is_there(run: Run, working: dict[str, str]) -> None:
    queue(working, 1)
    terminal = Terminal(working, "cancel", "--model", "gpt-5.2", "--yes")
    assert terminal.end() == 0
    assert "for good?" not in terminal.seen
    assert states(working) == {"canceled": 1}
    queue(working, 1)
    assert run("cancel", "--model", "gpt-5.2", stdin="", **working).returncode == 0
    assert states(working) == {"canceled": 2}


def test_status_is_json_when_piped_and_watch_looks_again_until_it_is_stopped(run: Run, working: dict[str, str]) -> None:
    queue(working, 2)
    once = run("status", **working)
    assert once.returncode == 0
    assert json.loads(once.stdout)["queue"]["by_state"]["queued"] == 2

    terminal = Terminal(working, "status", "--watch", "1").read_until(CLEAR).read_until("stale claims")
    assert "due now                    2" in terminal.seen
    queue(working, 1)
    terminal.read_until("due now                    3")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130

    program = subprocess.Popen(
        [sys.executable, "-m", "rewrite_batch", "status", "--watch", "1", "--json"],
        env=environment(**working), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with program:
        assert program.stdout is not None
        looks = [json.loads(program.stdout.readline()) for _ in range(2)]
        program.terminate()
        program.communicate()
    assert [look["queue"]["due"] for look in looks] == [3, 3]
    assert program.returncode == 143


def test_check_ends_with_70_and_says_what_is_broken(run: Run, working: dict[str, str]) -> None:
    queue(working, 1)
    whole = run("check", **working)
    assert (whole.returncode, json.loads(whole.stdout)["broken"]) == (0, [])
    with psycopg.connect(working["DATABASE_URL"]) as connection:  # past the guards, as no program of ours can
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute("UPDATE rewrite_jobs SET status = 'canceled', finished_at = now()")
        row = connection.execute("SELECT job_id::text FROM rewrite_jobs").fetchone()
    assert row is not None
    broken = run("check", **working)
    assert broken.returncode == 70
    by_rule = {each["rule"]: each for each in json.loads(broken.stdout)["broken"]}
    assert by_rule["last_event_agrees"]["sample"] == [row[0]]
    assert "last_event_agrees" in broken.stderr
    terminal = Terminal(working, "check")
    assert terminal.end() == 70
    assert "last_event_agrees" in terminal.seen
