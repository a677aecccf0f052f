"""The demo: everything on one machine, nothing left behind, however it ends."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewrite_batch.samples import fixture_items
from tests.commands.conftest import environment


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A temporary directory of its own, so that what a demo leaves can be seen; the server's user may pass through."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="rb-demo-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def start(scratch: Path, *arguments: str) -> "subprocess.Popen[str]":
    """In a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "rewrite_batch", "demo", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(TMPDIR=str(scratch)),
        process_group=0,
    )  # fmt: skip


def processes_naming(scratch: Path) -> list[str]:
    """Command lines of processes that work in the directory."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(scratch) in line:
            found.append(line)
    return found


def test_the_demo_brings_every_complaint_to_an_end_shows_three_and_cleans_up(scratch: Path) -> None:
    process = start(scratch)
    shown, said = process.communicate()
    assert process.returncode == 0, said
    count = len(fixture_items())
    table, *examples = shown.split("\n\n")
    assert "language pair" in table
    assert "es → en" in table
    total = table.splitlines()[-1].split()
    assert total[:2] == ["all", str(count)]
    completed, failed = int(total[2]), int(total[-1])
    assert completed + failed == count
    assert completed > failed > 0
    assert len(examples) == 3
    assert all("before: " in example and "after: " in example for example in examples)
    assert "to be tried again" in said
    assert list(scratch.iterdir()) == []
    assert processes_naming(scratch) == []


def test_two_demos_at_once_do_not_meet(scratch: Path) -> None:
    both = [start(scratch, "--json") for _ in range(2)]
    for process in both:
        shown, said = process.communicate()
        assert process.returncode == 0, said
        told = json.loads(shown)
        assert told["enqueued"] == len(fixture_items())
        assert sum(pair["completed"] + sum(pair["failed"].values()) for pair in told["pairs"]) == told["enqueued"]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", ["starting PostgreSQL", "enqueued", "tick 1: submitted"])
def test_the_demo_cleans_up_when_it_is_stopped(scratch: Path, number: signal.Signals, code: int, moment: str) -> None:
    process = start(scratch)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(moment):
            break
    os.killpg(process.pid, number)  # a terminal sends Ctrl-C to all that the program has started in its group
    _, said = process.communicate()
    assert process.returncode in {code, 0}, said  # 0: it was done before the signal reached it
    assert "Traceback" not in said
    assert list(scratch.iterdir()) == []
    assert processes_naming(scratch) == []


def test_a_killed_demo_leaves_no_process(scratch: Path) -> None:
    process = start(scratch)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("migrating"):
            break
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    while processes_naming(scratch):
        os.sched_yield()  # the kernel has told them; they are on their way out
