"""One PostgreSQL server process over one directory: made, started, found again, stopped. `embedded` decides when.

The caller holds a lock around everything here, so that nobody else starts or stops the server meanwhile. A process
id that was read from a file is believed only if that process runs as the server's account over this very data.
"""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from rewrite_batch.errors import DatabaseUnavailable

SETTINGS = (
    "listen_addresses=",
    "max_connections=200",
    "timezone=UTC",
    "log_min_messages=warning",
    "log_error_verbosity=terse",
)
# A private server's data is thrown away: nothing is gained by surviving a power cut.
PRIVATE_SETTINGS = ("fsync=off", "full_page_writes=off")
# Nothing of ours reaches the server: not PG* variables, not the API key.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
START_S = 60.0
STOP_S = 30.0
KILL_S = 5.0
POLL_S = 0.03
MAX_SOCKET_DIRECTORY = 80  # bytes: a socket's whole path may have 107, fewer on some systems
PR_SET_PDEATHSIG = 1


class Postmaster:
    def __init__(self, directory: Path, binaries: Path, account: pwd.struct_passwd | None, *, shared: bool) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.log = directory / "postgres.log"
        self._sockets_here = directory / "sockets"
        self._binaries = binaries
        self._account = account
        self._shared = shared
        self._child: subprocess.Popen[bytes] | None = None

    def url(self) -> str:
        return f"postgresql:///postgres?host={quote(os.fsencode(self._sockets()), safe='')}&user=postgres"

    def ensure_running(self) -> None:
        """One that a killed process left behind may be ready, on its way up, or on its way down."""
        deadline = time.monotonic() + START_S
        launched = False
        while not self._is_ready():
            if self._pid() is None:
                if launched:
                    raise DatabaseUnavailable(f"the embedded PostgreSQL did not start; its log is {self.log}")
                self._make_data()
                self._launch()
                launched = True
            if time.monotonic() > deadline:
                raise DatabaseUnavailable(f"the embedded PostgreSQL is not ready after {START_S:.0f} s: see {self.log}")
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Fast when the data stays; immediate when nobody will look at it again; killed when it does not listen."""
        gently = signal.SIGINT if self._shared else signal.SIGQUIT
        for number, patience in ((gently, STOP_S), (signal.SIGKILL, KILL_S)):
            deadline = time.monotonic() + patience
            if (pid := self._pid()) is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            while self._pid() is not None and time.monotonic() < deadline:
                time.sleep(POLL_S)
        self._remove_sockets()

    def leave_running(self) -> None:
        """Others use it still, and it outlives us: Python shall not complain about a child that nobody awaits."""
        if self._child is not None and self._child.poll() is None:
            self._child.returncode = 0

    def _make_data(self) -> None:
        """`data` appears complete or not at all, and is never removed."""
        if os.path.lexists(self.data):
            return
        for leftover in self.directory.glob("data.part-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        part = self._given(Path(tempfile.mkdtemp(prefix="data.part-", dir=self.directory)))
        self._run("initdb", "-D", str(part), "-U", "postgres", "-A", "trust", "-E", "UTF8",
                  "--locale=C.UTF-8", "--no-instructions", "--no-sync")  # fmt: skip
        part.rename(self.data)

    def _launch(self) -> None:
        settings = [f"unix_socket_directories={self._make_sockets()}", *SETTINGS]
        if not self._shared:
            settings += PRIVATE_SETTINGS
        options = [part for setting in settings for part in ("-c", setting)]
        log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with _signals_wait():  # the server unblocks its own
                self._child = self._started(
                    "postgres", "-D", str(self.data), *options, output=log, ends=not self._shared
                )
        finally:
            os.close(log)

    def _is_ready(self) -> bool:
        """The file's line 8 is the state; whether that is still true only the socket can tell."""
        lines = self._pid_file()
        if len(lines) < 8 or lines[7].strip() != b"ready":
            return False
        sockets = self._sockets()
        try:
            found = sockets.lstat()
        except OSError:
            return False
        if found.st_uid != self._uid or found.st_mode & 0o077:
            return False
        with self._started("pg_isready", "-q", "-h", str(sockets), output=subprocess.DEVNULL, ends=False) as asked:
            return asked.wait() == 0

    def _pid(self) -> int | None:
        """Of the running server, if it is surely ours."""
        if self._child is not None and self._child.poll() is None:
            return self._child.pid
        lines = self._pid_file()
        if not lines or not lines[0].isdigit():
            return None
        pid = int(lines[0])
        return pid if self._runs_our_data(pid) else None

    def _runs_our_data(self, pid: int) -> bool:
        wanted = os.fsencode(self.data)
        if sys.platform != "linux":
            shown = subprocess.run(  # noqa: S603  a number, no shell
                ["/bin/ps", "-ww", "-o", "uid=,command=", "-p", str(pid)], capture_output=True, check=False
            ).stdout.split(maxsplit=1)  # fmt: skip
            return len(shown) == 2 and int(shown[0]) == self._uid and b" -D " + wanted + b" " in shown[1]
        process = Path("/proc", str(pid))
        try:
            return process.stat().st_uid == self._uid and wanted in (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            return False

    def _pid_file(self) -> list[bytes]:
        """Root reads what the server's account wrote: a link or a pipe in its place is nothing to us."""
        try:
            file = os.open(self.data / "postmaster.pid", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            return os.read(file, 10_000).splitlines()
        except OSError:
            return []
        finally:
            os.close(file)

    def _sockets(self) -> Path:
        """One step of a link and no more: what lies at its end is the server's account's to replace."""
        here = self._sockets_here
        return here.readlink() if here.is_symlink() else here

    def _make_sockets(self) -> Path:
        """Beside the data; where that path is too long, or has a separator in it, a link to a private place."""
        self._remove_sockets()
        here = self._sockets_here
        if len(os.fsencode(here)) <= MAX_SOCKET_DIRECTORY and not set(str(here)) & set(',"\n'):
            here.mkdir(mode=0o700)
            return self._given(here)
        # A name that nobody can guess, 0700. Not in TMPDIR, which may be long itself, or closed to that account.
        elsewhere = self._given(Path(tempfile.mkdtemp(prefix="rewrite-batch-", dir="/tmp")))
        here.symlink_to(elsewhere)
        return elsewhere

    def _remove_sockets(self) -> None:
        shutil.rmtree(self._sockets(), ignore_errors=True)
        if self._sockets_here.is_symlink():
            self._sockets_here.unlink()

    @property
    def _uid(self) -> int:
        return self._account.pw_uid if self._account else os.geteuid()

    def _given(self, path: Path) -> Path:
        """A directory that we made just now goes to the server's account."""
        if self._account:
            os.chown(path, self._account.pw_uid, self._account.pw_gid, follow_symlinks=False)
        return path

    def _run(self, program: str, *arguments: str) -> None:
        """To its end; an exception in us ends it and all that it started."""
        process = None
        try:
            with _signals_wait():
                process = self._started(program, *arguments, output=subprocess.PIPE, ends=True)
            output, _ = process.communicate(timeout=START_S)
            if process.returncode != 0:
                said = output.decode(errors="replace").strip()[-500:]
                raise DatabaseUnavailable(f"the embedded PostgreSQL's {program} failed: {said}")
        except subprocess.TimeoutExpired:
            raise DatabaseUnavailable(f"the embedded PostgreSQL's {program} takes more than {START_S:.0f} s") from None
        finally:
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def _started(self, program: str, *arguments: str, output: int, ends: bool) -> "subprocess.Popen[bytes]":
        """In a session of its own: Ctrl-C reaches us, and we stop it when we are done with it."""
        account = self._account
        return subprocess.Popen(  # noqa: S603  the program of our own wheel, no shell
            [self._binaries / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=ENVIRONMENT,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            start_new_session=True,
            preexec_fn=partial(_end_with, os.getpid()) if ends else None,  # noqa: PLW1509  no threads run yet
        )


@contextmanager
def _signals_wait() -> Generator[None]:
    """A signal's exception must not come between a process that has started and our knowing it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGALRM))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
        if os.getppid() != parent:
            os._exit(1)
