"""One line of the file comes in; a valid item or a refusal with its place goes out. Pure, and it never raises.

A refusal names line, field and reason. It never quotes the line, which holds a family's words.
"""

import re
from dataclasses import dataclass

from pydantic import ValidationError

from rewrite_batch.contracts.shapes import EnqueueItemV1

MAX_LINE_BYTES = 1_000_000
NAME_LIKE = re.compile(r"[a-z][a-z0-9_]{0,60}")


@dataclass(frozen=True)
class Refusal:
    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.field}: {self.reason}"


@dataclass(frozen=True)
class Checked:
    line: int
    document: str


def check_line(number: int, line: bytes) -> Checked | Refusal:
    if len(line) > MAX_LINE_BYTES:
        return Refusal(number, "line", f"is longer than {MAX_LINE_BYTES:,} bytes")
    try:
        return Checked(number, EnqueueItemV1.from_json(line).to_json())
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
    except RecursionError:
        return Refusal(number, "line", "is nested too deeply")
    if first["type"] == "json_invalid":
        return Refusal(number, "line", "is not a JSON object in UTF-8")
    place, reason = _field(first["loc"]), first["msg"].removeprefix("Value error, ")
    # A rule over several fields names its field itself.
    named, separator, rest = reason.partition(": ")
    if separator and NAME_LIKE.match(named):
        return Refusal(number, f"{place}.{named}" if place else named, rest)
    return Refusal(number, place or "line", reason[:1].lower() + reason[1:])


def _field(location: tuple[int | str, ...]) -> str:
    """An unknown key is somebody's input: it is named only when it looks like a name."""
    return ".".join(str(part) if isinstance(part, int) or NAME_LIKE.fullmatch(part) else "?" for part in location)
