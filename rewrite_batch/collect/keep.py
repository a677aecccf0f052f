"""Keep: copies of the raw result files, for `--replay`. They hold families' words: the directory must be private.

`DIR/<batch_id>.output.jsonl` and `DIR/<batch_id>.error.jsonl`, as the provider sent them.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from rewrite_batch.collect.download import ResultFile
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.spool_dir import private_spool

_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(output|error)\.jsonl")


def prepare(directory: Path) -> None:
    with private_spool(directory):
        pass


def keep(directory: Path, batch_id: UUID, files: Mapping[str, ResultFile]) -> None:
    """A copy appears under its name when it is whole. A repeat replaces it."""
    for kind, file in files.items():
        target = directory / f"{batch_id}.{kind}.jsonl"
        part = target.with_suffix(".part")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as copy:
            with file.path.open("rb") as source:
                shutil.copyfileobj(source, copy, 1 << 20)
            copy.flush()
            os.fsync(copy.fileno())
        part.replace(target)


def kept(directory: Path) -> dict[UUID, dict[str, Path]]:
    """Which files of which batch are in the directory."""
    if not directory.is_dir():
        raise ConfigurationError(f"{directory} is not a directory: name the one that `collect --keep` wrote")
    found: dict[UUID, dict[str, Path]] = {}
    for path in sorted(directory.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match:
            found.setdefault(UUID(match[1]), {})[match[2]] = path
    return found
