"""A JSONL file of candidates comes in, one checked line after the other goes out, or a refusal with its place.

A refusal names line, field and reason, and never quotes. A rewritten text or language that the contract does not allow
is no refusal: it is a broken answer, and its verdict says so. Keys that are not ours are left alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec
import polars as pl

from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.contracts.values import MAX_TEXT, Intent, PowerMode, Topic, is_readable
from rewrite_batch.evaluate.tables import CANDIDATES


class Line(msgspec.Struct, frozen=True):
    id: str
    target_locale: str
    source_locale: str
    original_text: str
    intent: Intent
    power_mode: PowerMode
    rewritten_text: str | None = None
    output_language: str | None = None
    topics: list[Topic] = msgspec.field(default_factory=list[Topic])
    label: str = ""
    codes: list[str] = msgspec.field(default_factory=list[str])


@dataclass(frozen=True)
class Refused:
    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


_decoder = msgspec.json.Decoder(Line)


def read_lines(source: BinaryIO) -> Iterator[Line | Refused]:
    for number, raw in enumerate(source, 1):
        line = raw.removeprefix(b"\xef\xbb\xbf").strip()
        if line:
            yield _read(number, line)


def _read(number: int, raw: bytes) -> Line | Refused:
    try:
        line = _decoder.decode(raw)
    except msgspec.ValidationError as error:
        return Refused(number, _without_values(str(error)))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return Refused(number, "is not a JSON object in UTF-8")
    for field in ("target_locale", "source_locale"):
        try:
            normalise_locale(getattr(line, field))
        except ValueError as error:
            return Refused(number, f"{field}: {error}")
    return line


def _without_values(message: str) -> str:
    """msgspec quotes an unknown enum value, which is somebody's input."""
    return "has an unknown value" + message[message.rfind(" - at") :] if message.startswith("Invalid enum") else message


def candidates_of(lines: Iterable[Line]) -> pl.DataFrame:
    return pl.DataFrame([_candidate(row, line) for row, line in enumerate(lines)], schema=CANDIDATES, orient="row")


def _candidate(row: int, line: Line) -> dict[str, Any]:
    text = line.rewritten_text
    return {
        "row": row,
        "target_locale": normalise_locale(line.target_locale),
        "source_locale": normalise_locale(line.source_locale),
        "original_text": line.original_text,
        "intent": line.intent,
        "power_mode": line.power_mode,
        "topics": line.topics,
        "rewritten_text": text if text is not None and is_readable(text) and len(text) <= MAX_TEXT else None,
        "output_language": _language(line.target_locale if line.output_language is None else line.output_language),
    }


def _language(tag: str) -> str | None:
    try:
        return normalise_locale(tag)
    except ValueError:
        return None
