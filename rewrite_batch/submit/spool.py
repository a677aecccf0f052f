"""Spool: lines come in, a private file on disk with its sha256 goes out; nothing stays in memory but one buffer.

Two sums: sha256 is for the record, and made once, from the file; crc32, many times cheaper, is taken as the lines come
and tells right before the file is sent whether it still is what was written.

Files are 0600 in a directory of our own that nobody else can open, named by the batch's id and nothing else. A writer
holds a lock on its file until it removes it, so that `sweep` takes only what a dead process left. A repeat after a
crash writes a new file: a batch id is used once.
"""

import fcntl
import hashlib
import os
import re
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import UUID

from rewrite_batch.errors import SpoolFailed
from rewrite_batch.spool_dir import plain_errors, private_spool, sweep_spool

# Many groups can be open at once, each with a buffer of its own.
BUFFER_BYTES = 1 << 18
READ_BYTES = 1 << 20
_OURS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SpoolWriter:
    """Leave it with `remove`, or use it as a context manager, which removes the file however the block ends."""

    def __init__(self, spool_dir: Path, batch_id: UUID) -> None:
        self.path = spool_dir / f"{batch_id}.jsonl"
        self.bytes = 0
        self.lines = 0
        self.crc32 = 0  # of what is on disk: of everything, once it is closed
        self._pending = bytearray()
        self._writable = True
        with private_spool(spool_dir) as directory, plain_errors(spool_dir):
            self._file: int | None = os.open(self.path.name, _CREATE, 0o600, dir_fd=directory)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def append(self, line: bytes) -> None:
        if not self._writable:
            raise ValueError("this spool file is finished")
        self._pending += line
        self.bytes += len(line)
        self.lines += 1
        if len(self._pending) >= BUFFER_BYTES:
            self._flush()

    def close(self) -> None:
        """Everything is on disk and nothing more may be added. The lock stays until `remove`: an upload may be slow."""
        if self._writable and self._file is not None:
            self._flush()
            with self._whole_or_gone():
                os.fsync(self._file)
        self._writable = False

    def sha256(self) -> str:
        """Of the closed file, in hexadecimal."""
        with plain_errors(self.path.parent), self.path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()

    def remove(self) -> None:
        """The file goes, then its lock. Harmless when repeated."""
        self._writable = False
        if self._file is None:
            return
        self._pending.clear()
        self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @contextmanager
    def _whole_or_gone(self) -> Generator[None]:
        """Half a file is of no use, and on a full disk it is in the way."""
        try:
            with plain_errors(self.path.parent):
                yield
        except BaseException:
            self._writable = False
            self.path.unlink(missing_ok=True)
            raise

    def _flush(self) -> None:
        assert self._file is not None
        self.crc32 = zlib.crc32(self._pending, self.crc32)
        with memoryview(self._pending) as rest, self._whole_or_gone():
            written = 0
            while written < len(rest):
                written += os.write(self._file, rest[written:])
        self._pending.clear()


@contextmanager
def verified(path: Path, *, size: int, crc32: int) -> Generator[BufferedReader]:
    """The file, opened, if it is what was written: one that was cut or changed since then must never be sent."""
    changed = SpoolFailed(f"{path} is not what was written to it: check the disk, and who else writes there")
    try:
        source = path.open("rb")
    except OSError:
        raise changed from None
    with source:
        if not _is_whole(source, size, crc32):
            raise changed
        yield source


def _is_whole(source: BufferedReader, size: int, crc32: int) -> bool:
    found = 0
    try:
        if os.fstat(source.fileno()).st_size != size:
            return False
        while piece := source.read(READ_BYTES):
            found = zlib.crc32(piece, found)
    except OSError:
        return False
    return found == crc32


def sweep(spool_dir: Path, older_than_s: float, now: float) -> int:
    """Removes leftovers of ours that no process holds, and says how many. `now` is in seconds since the epoch."""
    return sweep_spool(spool_dir, _OURS, older_than_s, now)
