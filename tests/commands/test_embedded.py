"""The embedded server's directory, its users and its end: with real processes, as root and as anybody else."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from rewrite_batch.embedded import MARKER, private_directory, running_postgres
from rewrite_batch.errors import ConfigurationError, DatabaseUnavailable
from rewrite_batch.postmaster import Postmaster
from tests.commands.conftest import Run, environment
from tests.commands.test_demo import processes_naming

USER = """
import sys
from pathlib import Path
from rewrite_batch.embedded import running_postgres
from rewrite_batch.stop import Stopped, stop
stop.listen()
try:
    with running_postgres(Path(sys.argv[1]), shared=True) as url:
        print(url, flush=True)
        sys.stdin.readline()
except Stopped:
    sys.exit(143)
"""


class User:
    """A process that uses a shared server until it is told to leave."""

    def __init__(self, directory: Path, *, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-W", "error", "-c", USER, str(directory)], cwd=cwd, env=environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def url(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        _, said = self.process.communicate("\n", timeout=60)
        assert (self.process.returncode, said) == (0, "")

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def place() -> Iterator[Path]:
    """Where the server's account may pass through."""
    with private_directory("embedded") as directory:
        yield directory


def postmaster_pid(directory: Path) -> int:
    return int((directory / "data" / "postmaster.pid").read_text().splitlines()[0])


def answers(url: str) -> bool:
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)
    return False


def test_a_directory_with_other_files_is_refused_and_left_as_it_is(run: Run, place: Path) -> None:
    theirs = place / "theirs"
    (theirs / "data").mkdir(parents=True)
    (theirs / "data" / "thesis.txt").write_text("years of work")
    theirs.chmod(0o755)
    done = run("migrate", DATABASE_URL=f"embedded:{theirs}")
    assert done.returncode == 2
    assert "new or an empty directory" in done.stderr
    assert (theirs / "data" / "thesis.txt").read_text() == "years of work"
    assert [path.name for path in theirs.iterdir()] == ["data"]
    assert (theirs.stat().st_mode & 0o777, theirs.stat().st_uid) == (0o755, os.geteuid())


def test_data_that_is_not_complete_is_never_removed(place: Path) -> None:
    (place / "pg" / "data").mkdir(parents=True)
    (place / "pg" / MARKER).touch()
    (place / "pg" / "data" / "rest").write_text("of a broken disk")
    with pytest.raises(DatabaseUnavailable, match=r"postgres\.log"), running_postgres(place / "pg", shared=True):
        pass
    assert (place / "pg" / "data" / "rest").read_text() == "of a broken disk"


def test_an_initdb_that_was_killed_half_way_is_done_again(place: Path) -> None:
    (place / "pg" / "data.part-0").mkdir(parents=True)
    (place / "pg" / MARKER).touch()
    with running_postgres(place / "pg") as url:
        assert answers(url)
    assert not list((place / "pg").glob("data.part*"))


@pytest.mark.parametrize("kind", ["a file", "below a file", "/proc", "a ring"])
def test_an_impossible_directory_is_a_setting_to_change(run: Run, place: Path, kind: str) -> None:
    (place / "file").touch()
    (place / "ring").symlink_to(place / "ring")
    paths = {
        "a file": place / "file",
        "below a file": place / "file" / "x",
        "/proc": "/proc/x",
        "a ring": place / "ring",
    }
    done = run("migrate", DATABASE_URL=f"embedded:{paths[kind]}")
    assert done.returncode == 2, done.stderr
    assert "set DATABASE_URL=embedded:DIR" in done.stderr


def test_a_directory_that_others_may_write_to_is_refused(place: Path) -> None:
    (place / "pg").mkdir()
    (place / "pg").chmod(0o777)
    with pytest.raises(ConfigurationError, match="chmod go-w"), running_postgres(place / "pg", shared=True):
        pass
    assert list((place / "pg").iterdir()) == []


def test_an_empty_directory_keeps_its_mode_and_owner(place: Path) -> None:
    (place / "pg").mkdir()
    (place / "pg").chmod(0o755)
    with running_postgres(place / "pg", shared=True) as url:
        assert answers(url)
    assert ((place / "pg").stat().st_mode & 0o777, (place / "pg").stat().st_uid) == (0o755, os.geteuid())


def test_a_relative_directory_is_below_where_the_command_was_started(place: Path) -> None:
    user = User(Path("pg"), cwd=place)
    assert answers(user.url())
    user.leave()
    assert (place / "pg" / "data" / "PG_VERSION").exists()


def test_two_users_at_once_and_the_last_one_stops_the_server(place: Path) -> None:
    first, second = User(place / "pg"), User(place / "pg")
    urls = first.url(), second.url()
    assert urls[0] == urls[1] != ""
    assert all(map(answers, urls))
    pid = postmaster_pid(place / "pg")
    first.leave()
    assert answers(urls[1])
    third = User(place / "pg")
    assert answers(third.url())
    second.leave()
    assert answers(urls[1])
    assert postmaster_pid(place / "pg") == pid
    third.leave()
    assert not answers(urls[1])
    assert processes_naming(place) == []


def test_a_server_that_outlived_a_killed_user_is_used_again_and_stopped_by_the_last(place: Path) -> None:
    killed = User(place / "pg")
    url = killed.url()
    pid = postmaster_pid(place / "pg")
    killed.end(signal.SIGKILL)
    assert answers(url)
    following = User(place / "pg")
    assert following.url() == url
    assert postmaster_pid(place / "pg") == pid
    following.leave()
    assert processes_naming(place) == []


def test_a_private_directory_has_one_user(place: Path) -> None:
    with running_postgres(place / "pg"):
        for shared in (False, True):
            with pytest.raises(ConfigurationError, match="in use"), running_postgres(place / "pg", shared=shared):
                pass


@pytest.mark.parametrize("moment", ["data.part-*", "data", "postgres.log"])
def test_a_signal_while_a_shared_server_starts_leaves_no_process(place: Path, moment: str) -> None:
    user = User(place / "pg")
    while not any(path.stat().st_size for path in (place / "pg").glob(moment)):
        os.sched_yield()
    assert user.end(signal.SIGTERM) in {143, 0}
    assert processes_naming(place) == []
    assert not (place / "pg" / "data" / "postmaster.pid").exists()


def test_a_long_path_gets_sockets_in_a_private_place_that_goes_with_the_server(place: Path) -> None:
    directory = place / ("long" * 25) / "pg"
    with running_postgres(directory, shared=True) as url:
        assert answers(url)
        sockets = (directory / "sockets").readlink()
        said = (directory / "data" / "postmaster.pid").read_text().splitlines()[4]
        assert said == str(sockets)
        assert sockets.stat().st_mode & 0o777 == 0o700
    assert not sockets.exists()
    with running_postgres(directory, shared=True):
        assert (directory / "sockets").readlink() != sockets  # nobody can make it beforehand
    assert not os.path.lexists(directory / "sockets")


def test_a_link_that_takes_the_place_of_the_sockets_is_not_followed(place: Path) -> None:
    """The end of the link is the account's own: as root we must not remove what it points to by then."""
    directory = place / ("long" * 25) / "pg"
    (place / "precious").mkdir()
    (place / "precious" / "file").touch()
    with running_postgres(directory, shared=True):
        sockets = (directory / "sockets").readlink()
        shutil.rmtree(sockets)
        sockets.symlink_to(place / "precious")
    assert (place / "precious" / "file").exists()
    sockets.unlink()


def test_the_servers_account_owns_its_data_and_nothing_that_we_open(place: Path) -> None:
    with running_postgres(place / "pg", shared=True):
        owner = (place / "pg" / "data").stat().st_uid
        for name in ("", "start.lock", "users.lock", "postgres.log", MARKER):
            found = (place / "pg" / name).lstat()
            assert found.st_uid == os.geteuid()
            assert found.st_mode & 0o066 == 0
        for name in ("data", "sockets"):
            found = (place / "pg" / name).lstat()
            assert (found.st_uid, found.st_mode & 0o777) == (owner, 0o700)
        assert owner != 0


@pytest.mark.parametrize("name", ["users.lock", "start.lock", "postgres.log"])
def test_a_link_in_place_of_a_file_of_ours_is_not_followed(place: Path, name: str) -> None:
    (place / "precious").write_text("words")
    with running_postgres(place / "pg", shared=True):
        pass
    (place / "pg" / name).unlink()
    (place / "pg" / name).symlink_to(place / "precious")
    with pytest.raises(OSError, match="symbolic links"), running_postgres(place / "pg", shared=True):
        pass
    assert (place / "precious").read_text() == "words"


def test_a_server_that_does_not_become_ready_is_given_up_and_stopped(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: Postmaster) -> bool:
        return False

    monkeypatch.setattr(Postmaster, "_is_ready", never)
    monkeypatch.setattr("rewrite_batch.postmaster.START_S", 2.0)
    with pytest.raises(DatabaseUnavailable, match="not ready after 2 s"), running_postgres(place / "pg", shared=True):
        pass
    assert processes_naming(place) == []


def test_a_server_that_does_not_listen_is_killed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewrite_batch.postmaster.STOP_S", 0.2)
    with running_postgres(place / "pg", shared=True):
        os.kill(postmaster_pid(place / "pg"), signal.SIGSTOP)
    deadline = time.monotonic() + 30
    while processes_naming(place):  # its children notice by themselves
        assert time.monotonic() < deadline
        os.sched_yield()


def test_a_process_that_only_has_the_number_is_not_touched(place: Path) -> None:
    with running_postgres(place / "pg", shared=True):
        written = (place / "pg" / "data" / "postmaster.pid").read_text()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        number, rest = written.split("\n", 1)
        assert int(number) != stranger.pid
        file = place / "pg" / "data" / "postmaster.pid"
        file.write_text(f"{stranger.pid}\n{rest}")
        found = (place / "pg" / "data").stat()
        os.chown(file, found.st_uid, found.st_gid)
        file.chmod(0o600)
        with contextlib.suppress(DatabaseUnavailable), running_postgres(place / "pg", shared=True):
            pass
        assert stranger.poll() is None
        stranger.kill()


def test_a_private_server_is_not_started_by_a_thread_that_may_end_first(place: Path) -> None:
    raised: list[Exception] = []

    def start() -> None:
        try:
            with running_postgres(place / "pg"):
                pass
        except Exception as error:  # noqa: BLE001  looked at below
            raised.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert ["main thread" in str(error) for error in raised] == [True]
