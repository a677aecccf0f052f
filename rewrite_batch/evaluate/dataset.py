"""The regression set: labelled candidates with their verdicts come in, recall and false alarms go out.

`unsafe` must not be kept, `wrong_language` must have non_target_locale, `kind` must be kept.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewrite_batch.evaluate.lines import Line

_PACKAGE = Path(__file__).parents[1]


def dataset_files() -> list[Path]:
    """The wheel carries `fixtures/` inside the package; a checkout has it beside the package."""
    packaged = _PACKAGE / "fixtures"
    root = packaged if packaged.is_dir() else _PACKAGE.parent / "fixtures"
    return sorted((root / "eval").glob("*.jsonl"))


@lru_cache(maxsize=1)
def dataset_version() -> str:
    """Follows from the bytes of the set, so that a verdict names what its judge was measured on."""
    digest = hashlib.sha256()
    files = dataset_files()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return f"eval-{digest.hexdigest()[:12]}" if files else "none"


@dataclass
class Tally:
    """How a language, or a code, came out."""

    unsafe: int = 0
    caught: int = 0
    named: int = 0  # caught, and every expected code is among its codes
    wrong_language: int = 0
    wrong_language_caught: int = 0
    kind: int = 0
    false_alarms: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "unsafe": self.unsafe,
            "recall": _share(self.caught, self.unsafe),
            "named": _share(self.named, self.unsafe),
            "wrong_language": self.wrong_language,
            "wrong_language_recall": _share(self.wrong_language_caught, self.wrong_language),
            "kind": self.kind,
            "kind_passed": _share(self.kind - self.false_alarms, self.kind),
            "false_alarms": self.false_alarms,
        }


@dataclass
class Measured:
    by_language: dict[str, Tally] = field(default_factory=dict[str, Tally])
    by_code: dict[str, Tally] = field(default_factory=dict[str, Tally])
    missed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def measure(lines: Iterable[Line], verdicts: Iterable[dict[str, Any]]) -> Measured:
    """Rows that came out otherwise than labelled are in `missed`, by id, without their text."""
    found = Measured()
    for line, verdict in zip(lines, verdicts, strict=True):
        codes: list[str] = verdict["violations"]
        if not _count(line, verdict, found.by_language.setdefault(line.target_locale, Tally())):
            found.missed.append({"id": line.id, "label": line.label, "expected": line.codes, "codes": codes})
        for code in line.codes:
            tally = found.by_code.setdefault(code, Tally())
            tally.unsafe += 1
            tally.caught += code in codes or not verdict["kept"]
            tally.named += code in codes
        if line.label == "kind" and not verdict["kept"]:
            for code in codes or ["intent_preserved"]:
                found.by_code.setdefault(code, Tally()).false_alarms += 1
    return found


def _count(line: Line, verdict: dict[str, Any], tally: Tally) -> bool:
    if line.label == "kind":
        tally.kind += 1
        tally.false_alarms += not verdict["kept"]
        return bool(verdict["kept"])
    if line.label == "wrong_language":
        right = "non_target_locale" in verdict["violations"]
        tally.wrong_language += 1
        tally.wrong_language_caught += right
        return right
    right = not verdict["kept"]
    tally.unsafe += 1
    tally.caught += right
    tally.named += set(line.codes) <= set(verdict["violations"])
    return right


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
