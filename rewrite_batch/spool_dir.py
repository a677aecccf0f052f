"""The spool directory: private to this user, or refused. Files in it hold families' words."""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from rewrite_batch.errors import ConfigurationError, SpoolFailed

_LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe of that name must not stop us


# A full disk, a quota or a limit of this process, a disk that fails, a file that somebody removed: the next run may do.
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOENT}


@contextmanager
def plain_errors(spool_dir: Path) -> Generator[None]:
    try:
        yield
    except FileExistsError:  # a batch id is used once: this is a defect, not a condition
        raise
    except OSError as error:
        number = error.errno or 0
    else:
        return
    said = f"cannot keep files in {spool_dir} ({os.strerror(number)})"
    advice = "free some space there, or set REWRITE_BATCH_SPOOL_DIR to a directory with room; nothing was sent"
    if number in _PASSING:
        raise SpoolFailed(f"{said}: {advice}")
    raise ConfigurationError(f"{said}: set REWRITE_BATCH_SPOOL_DIR to a directory that this user can write to")


@contextmanager
def private_spool(spool_dir: Path) -> Generator[int]:
    """The directory, opened: what was checked is what is used, whoever renames paths meanwhile."""
    with suppress(FileExistsError), plain_errors(spool_dir):
        spool_dir.mkdir(mode=0o700, parents=True)
    try:
        directory = os.open(spool_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _PASSING - {errno.ENOENT}:
            raise SpoolFailed(f"cannot open {spool_dir} ({os.strerror(error.errno or 0)}): try again later") from None
        raise ConfigurationError(f"{spool_dir} is not a directory of our own: set the spool directory to one") from None
    try:
        found = os.fstat(directory)
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise ConfigurationError(f"{spool_dir} is open to others: give it to this user alone (chmod 700)")
        yield directory
    finally:
        os.close(directory)


def sweep_spool(spool_dir: Path, names: "re.Pattern[str]", older_than_s: float, now: float) -> int:
    """Removes files of these names that are old enough and that no process holds, and says how many."""
    if not spool_dir.exists():
        return 0
    with private_spool(spool_dir) as directory:
        found = [path.name for path in spool_dir.iterdir() if names.fullmatch(path.name)]
        return sum(_swept(name, directory, now - older_than_s) for name in found)


def _swept(name: str, directory: int, before: float) -> bool:
    try:
        file = os.open(name, _LOOK, dir_fd=directory)
    except OSError:  # gone, a link, or not ours to open
        return False
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_mtime > before:
            return False
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=directory)
    except OSError:  # held by its writer, or another sweep was faster
        return False
    finally:
        os.close(file)
    return True
