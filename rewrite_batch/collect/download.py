"""Download: a result file at the provider comes in; the same bytes in a private file on disk go out, whole or none.

Whole is: as long as the answer announced and as the provider's own record of the file says, on disk, and under its
final name. A try that breaks off starts again from the first byte. The file is locked while this process uses it, so
that a sweep takes only what a dead process left.
"""

import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from rewrite_batch.errors import ProviderUnavailable
from rewrite_batch.provider import results as provider
from rewrite_batch.provider.client import LONGEST_PAUSE_S, Client
from rewrite_batch.spool_dir import private_spool, sweep_spool

TRIES = 3
_OURS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(output|error)\.[0-9a-f]{8}\.(part|jsonl)")
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass
class ResultFile:
    path: Path
    descriptor: int
    size: int = 0
    sha256: str = ""

    def remove(self) -> None:
        """The file goes, then its lock. Harmless when repeated."""
        if self.descriptor < 0:
            return
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)
        self.descriptor = -1


def download(
    client: Client,
    file_id: str,
    *,
    batch_id: UUID,
    kind: str,
    spool_dir: Path,
    base_s: float,
    on_bytes: Callable[[int], None],
    on_disk: list[ResultFile],
) -> ResultFile | None:
    """None: the provider does not have the file. It cannot be had whole now: ProviderUnavailable.

    `on_disk` learns of every file that is begun: whoever leaves before this returns removes them.
    """
    expected = provider.file_size(client, file_id, base_s=base_s)
    if expected is None:
        return None
    file = _new_file(spool_dir, batch_id, kind)
    on_disk.append(file)
    try:
        for attempt in range(TRIES):
            try:
                _fill(client, file_id, file, expected, on_bytes)
            except ProviderUnavailable as error:
                if error.status == 404:
                    break
                if attempt == TRIES - 1:
                    raise
            else:
                return file
            time.sleep(min(base_s * 2**attempt, LONGEST_PAUSE_S))
    except BaseException:
        file.remove()
        raise
    file.remove()
    return None


def _fill(client: Client, file_id: str, file: ResultFile, expected: int, on_bytes: Callable[[int], None]) -> None:
    got = provider.download(client, file_id, file.descriptor, on_bytes)
    if expected not in {provider.UNKNOWN_SIZE, got.size}:
        raise ProviderUnavailable("a download is not as long as the provider's record of the file")
    os.fsync(file.descriptor)
    whole = file.path.with_suffix(".jsonl")
    file.path.rename(whole)
    file.path, file.size, file.sha256 = whole, got.size, got.sha256


def sweep(spool_dir: Path, older_than_s: float, now: float) -> int:
    """Removes what dead collectors left, and says how many files."""
    return sweep_spool(spool_dir, _OURS, older_than_s, now)


def _new_file(spool_dir: Path, batch_id: UUID, kind: str) -> ResultFile:
    """A name of its own: another collector on this machine may be at the same batch, its lease lost or not."""
    path = spool_dir / f"{batch_id}.{kind}.{secrets.token_hex(4)}.part"
    with private_spool(spool_dir) as directory:
        descriptor = os.open(path.name, _CREATE, 0o600, dir_fd=directory)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return ResultFile(path, descriptor)
