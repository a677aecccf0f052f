"""The manifest of an export: which day of which table is in which state; and the lock that one writer holds.

It is written after the files it names, by rename. A day that it does not know, or knows by another fingerprint, is
written again: nothing else has to be remembered.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from rewrite_batch.errors import ConfigurationError, TryAgain

FORMAT = 1
NAME = "manifest.json"


class Day(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    rows: int
    fingerprint: str
    bytes: int


class Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    written_at: datetime = datetime.fromtimestamp(0, UTC)
    tables: dict[str, dict[date, Day]] = {}

    def files(self, directory: Path, table: str) -> list[Path]:
        return [file_of(directory, table, day) for day in sorted(self.tables.get(table, {}))]


def file_of(directory: Path, table: str, day: date) -> Path:
    """The layout that DuckDB, Spark, polars and others read as a column `day`."""
    return directory / table / f"day={day.isoformat()}" / "rows.parquet"


def load(directory: Path) -> Manifest | None:
    """None when there is no export yet."""
    file = directory / NAME
    try:
        manifest = Manifest.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise ConfigurationError(
            f"{file} cannot be used ({type(error).__name__}): remove it, and the next export writes all days again"
        ) from None
    if manifest.format != FORMAT:
        raise ConfigurationError(
            f"{file} has format {manifest.format}, and this release writes {FORMAT}: use a new directory"
        )
    return manifest


def save(directory: Path, manifest: Manifest) -> None:
    manifest.written_at = datetime.now(UTC)
    replace(directory / NAME, manifest.model_dump_json(indent=1).encode())


def replace(file: Path, content: bytes) -> None:
    """Whole or not at all."""
    half = file.with_name(f".{file.name}.half")
    half.write_bytes(content)
    settle(half, file)


def settle(half: Path, file: Path) -> None:
    """The file's bytes are on disk before its name is."""
    handle = os.open(half, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    half.replace(file)


@contextmanager
def locked(directory: Path) -> Generator[None]:
    """One writer a directory; the lock goes with the process, however it ends."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory / ".lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot write to {directory}: {os.strerror(error.errno or 0)}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise TryAgain(f"another export is writing to {directory}: let it finish") from None
    try:
        yield
    finally:
        os.close(handle)
