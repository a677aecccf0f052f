"""A batch on its way out: slow runs that nobody replaced, files that are not what was written, answers that mislead."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.crash.killer import Point
from tests.crash.test_provider_faults import CREATE, fault
from tests.crash.test_zombie import INTENT, UPLOAD, asleep, others_do_the_work
from tests.crash.world import API_KEY, World

MAKE = "rewrite_batch.provider.batches:create"
SLEPT = {
    "claimed": Point(INTENT, "before", 0, "SIGSTOP"),
    "before the upload": Point(UPLOAD, "before", 0, "SIGSTOP"),
    "in the upload": Point("call", "after", 0, "SIGSTOP"),
    "right before its last look": Point("rewrite_batch.submit.send:_still_held", "before", 0, "SIGSTOP"),
    "with the answer in hand": Point(MAKE, "after", 0, "SIGSTOP"),
}


@pytest.mark.parametrize("where", list(SLEPT))
def test_a_run_that_slept_past_its_lease_goes_on_when_nobody_took_its_work(world: World, where: str) -> None:
    run = asleep(world, SLEPT[where])
    world.age()
    run.wake().wait()
    assert run.code == 0, run.stderr
    assert run.result["submitted"] == 3
    assert (world.calls("files.create"), world.calls("files.delete"), world.calls(CREATE)) == (1, 0, 1)
    assert world.statuses() == {"batch_submitted": 3}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(1, 1)]
    world.recover()
    assert world.billed() == (1, 3)


def test_the_grace_of_a_create_is_counted_from_the_last_look_before_it(world: World) -> None:
    """A run sleeps between its note and its last look, and then its create is lost: the next run waits all the same."""
    run = asleep(world, SLEPT["right before its last look"])
    world.age()
    with fault(world, CREATE, "late_create", seconds=60):
        run.wake().wait()
    assert run.code == 75
    assert world.submit().result["reconciled"]["waiting"] == 1
    world.simulator.advance(61)
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.calls(CREATE) == 1
    assert world.billed() == (1, 3)


def test_the_lease_of_a_batch_grows_with_its_file(world: World) -> None:
    world.enqueue(40)
    run = asleep(world, Point(INTENT, "after", 0, "SIGSTOP"))
    grown = world.value(
        "SELECT extract(epoch FROM lease_expires_at - planned_at) - 3 * input_bytes / 500000.0 FROM rewrite_batches"
    )
    assert 240 <= grown < 300
    run.wake().wait()


def test_a_lost_upload_is_looked_for_once_a_try(world: World) -> None:
    world.enqueue(3)
    with fault(world, "files.create", "reset_after"), fault(world, "files.list", "status", code=500, times=None):
        world.submit()
    assert world.calls("files.create") == 1
    assert world.calls("files.list") == 2, "the tries of one are not multiplied by the tries of the other"
    assert world.statuses() == {"queued": 3}
    world.recover()
    assert world.billed() == (1, 3)


def test_a_batch_that_was_paid_for_and_lost_is_undecided(world: World) -> None:
    run = asleep(world, Point(MAKE, "after", 0, "SIGSTOP"))
    others_do_the_work(world)
    run.wake().wait()
    assert run.code == 75
    assert run.result["undecided"] == 3
    assert run.result["waiting"] == {}
    assert world.billed() == (1, 3)


def test_the_pause_and_the_alert_stay_when_the_batch_is_another_s_by_then(world: World) -> None:
    with fault(world, CREATE, "status", code=429, error_code="insufficient_quota"):
        run = asleep(world, Point("rewrite_batch.reconcile.ledger:abandon", "before", 0, "SIGSTOP"))
    world.age()
    assert world.start().wait().code == 0  # gives the batch up
    run.wake().wait()
    world.wait_for_sessions_to_end()
    assert run.code == 75
    assert world.alerts() == ["insufficient_quota"]
    assert world.rows("SELECT model, pause_reason FROM model_limits") == [("gpt-5.2", "insufficient_quota")]
    world.check(at_rest=True)


@pytest.mark.parametrize("days", [3, 30])
def test_a_provider_that_asks_for_days_is_asked_again_after_an_hour_and_somebody_hears_of_it(
    world: World, days: int
) -> None:
    world.enqueue(2)
    with fault(world, CREATE, "status", code=429, error_code="slow_down", retry_after=str(days * 86_400)):
        run = world.submit()
    assert world.value("SELECT extract(epoch FROM paused_until - updated_at)::int FROM model_limits") == 3_600
    assert world.alerts() == ["long_retry_after"]
    assert '"event": "paused"' in run.stderr


DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut in the middle of a line": lambda file: os.truncate(file, file.stat().st_size - 100),
    "cut to nothing": lambda file: os.truncate(file, 0),
    "one byte changed": lambda file: file.write_bytes(file.read_bytes().replace(b"gpt-5.2", b"gpt-5.3", 1)),
    "one line too many": lambda file: file.write_bytes(file.read_bytes() + b"{}\n"),
    "removed": lambda file: file.unlink(),
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_a_file_that_is_not_what_was_written_is_never_uploaded(world: World, damage: str) -> None:
    run = asleep(world, Point(INTENT, "after", 0, "SIGSTOP"))
    (file,) = world.spool.iterdir()
    DAMAGE[damage](file)
    run.wake().wait()
    assert run.code == 75, run.stderr
    assert run.result["waiting"] == {"spool_failed": 3}
    assert world.calls("files.create") == 0
    assert world.alerts() == ["spool_failed"]
    assert world.statuses() == {"queued": 3}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(0, 0)]
    world.recover()
    assert world.billed() == (1, 3)


def test_a_disk_without_room_says_so_and_the_claims_are_given_back(world: World) -> None:
    """A limit on the size of files, which for the writer is the same."""
    world.enqueue(3)
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        "DATABASE_URL": world.url,
        "OPENAI_API_KEY": API_KEY,
        "REWRITE_BATCH_PROVIDER_BASE_URL": world.simulator.base_url,
        "REWRITE_BATCH_SPOOL_DIR": str(world.spool),
    }
    limited = ["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", sys.executable, "-m", "rewrite_batch", "submit"]
    run = subprocess.run(limited, env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 75, run.stderr
    assert "REWRITE_BATCH_SPOOL_DIR" in run.stderr
    assert "defect" not in run.stderr
    assert world.statuses() == {"queued": 3}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(0, 0)]
    assert list(world.spool.iterdir()) == []
    assert world.simulator.calls() == []
    world.recover()


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_nothing_reaches_the_other_host(world: World, status: int) -> None:
    asked: list[str] = []
    received: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.path)
            self.send_error(500)

        do_GET = do_POST  # noqa: N815  the library's name

    with answering(Other) as other:

        class Redirecting(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                asked.append(self.path)
                self.send_response(status)
                self.send_header("location", f"{other}/files")
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_POST  # noqa: N815  the library's name

        world.enqueue(3)
        with answering(Redirecting) as address:
            run = world.submit(REWRITE_BATCH_PROVIDER_BASE_URL=address)
    assert "/v1/files" in asked
    assert received == []
    assert run.code == 0, run.stderr
    assert run.result["waiting"] == {"provider_redirects": 3}
    assert world.alerts() == ["provider_redirects"]
    assert world.statuses() == {"queued": 3}
    assert world.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs") == [(0, 0)]


def test_a_create_that_is_answered_with_a_redirect_is_undecided(world: World) -> None:
    world.enqueue(3)
    with fault(world, CREATE, "status", code=307, after_work=True):
        assert world.submit().result["undecided"] == 3
    assert world.submit().result["reconciled"]["adopted"] == 1
    assert world.billed() == (1, 3)


def test_the_address_comes_from_the_settings_alone(world: World) -> None:
    """The SDK would read an address of its own from the environment."""
    world.enqueue(1)
    run = world.submit(OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert run.code == 0, run.stderr
    assert world.statuses() == {"batch_submitted": 1}
