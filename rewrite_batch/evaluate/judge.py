"""A file of candidates comes in, one verdict a line goes out, in the order of the file; then a summary.

Read and judged in chunks: memory does not follow the file. Pure but for the file that it reads.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO

import polars as pl

from rewrite_batch.evaluate.lines import Line, Refused, candidates_of, read_lines
from rewrite_batch.evaluate.packs import Lexicon
from rewrite_batch.evaluate.run import CHUNK, evaluate

_EVAL_RESULT = (
    "schema_valid", "lexicon_pass", "tone_safety", "intent_preserved", "violations", "judge_version", "dataset_version",
)  # fmt: skip


@dataclass
class Summary:
    """lines = judged + refused, always."""

    lines: int = 0
    refused: int = 0
    languages: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    @property
    def judged(self) -> int:
        return self.lines - self.refused

    def add(self, language: str, verdict: dict[str, Any]) -> None:
        counts = self.languages.setdefault(language, Counter())
        counts["judged"] += 1
        counts["kept"] += verdict["kept"]
        counts["not checked"] += verdict["lexicon_version"] == "none"
        counts["broken answers"] += not verdict["schema_valid"]
        counts["intent lost"] += verdict["intent_preserved"] == "fail"
        counts.update(verdict["violations"])


def judge(
    source: BinaryIO, lexicon: Lexicon, summary: Summary, on_refusal: Callable[[Refused], None]
) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Each line that could be read, with its verdict; refused ones are told and counted."""
    lines = _readable(source, summary, on_refusal)
    while chunk := list(islice(lines, 8 * CHUNK)):
        verdicts = evaluate(candidates_of(chunk), lexicon=lexicon)
        for line, verdict in zip(chunk, verdicts.iter_rows(named=True), strict=True):
            summary.add(line.target_locale, verdict)
            yield line, verdict


def _readable(source: BinaryIO, summary: Summary, on_refusal: Callable[[Refused], None]) -> Iterator[Line]:
    for line in read_lines(source):
        summary.lines += 1
        if isinstance(line, Refused):
            summary.refused += 1
            on_refusal(line)
        else:
            yield line


def as_json(line: Line, verdict: dict[str, Any]) -> dict[str, Any]:
    rules: dict[str, list[str]] = {}
    for fired in verdict["rules"]:
        rules.setdefault(fired["code"], []).append(fired["rule"])
    return {
        "id": line.id,
        "eval_result": {name: verdict[name] for name in _EVAL_RESULT},
        "rules": rules,
        "lexicon_version": verdict["lexicon_version"],
        "kept": verdict["kept"],
    }


def find_line(source: BinaryIO, wanted: str) -> pl.DataFrame | None:
    """The candidate with this id, or none."""
    for line in read_lines(source):
        if isinstance(line, Line) and line.id == wanted:
            return candidates_of([line])
    return None
