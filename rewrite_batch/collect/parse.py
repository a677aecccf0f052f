"""Parse: the bytes of a matched line come in; one typed row goes out: what the model answered, or why that is none.

Shapes as the provider documents them and as they were seen: reasoning items first, several messages, an empty one, a
refusal part, usage without its details. What is not read here may be of any shape. Of what the provider says in words,
only codes and ids go on, and only if they look like such.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from rewrite_batch import outcomes
from rewrite_batch.evaluate.answer import read_answer

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,199}").fullmatch
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}").fullmatch
MOST_TOKENS = 1 << 28  # far beyond any prompt; a line's price stays within the ledger's column
LATEST_S = 4_102_444_800  # the year 2100; what is beyond is no time


class _Error(msgspec.Struct):
    code: Any = None
    type: Any = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    content: list[_Part | str] | dict[str, msgspec.Raw] | str | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Body(msgspec.Struct):
    id: str | None = None
    status: str | None = None
    model: str | None = None
    output: list[_Item] | None = None
    error: _Error | str | None = None
    incomplete_details: _Incomplete | None = None
    usage: _Usage | None = None
    created_at: float | None = None
    completed_at: float | None = None


class _Response(msgspec.Struct):
    status_code: int
    request_id: str | None = None
    body: _Body | str | None = None


class _Line(msgspec.Struct):
    response: _Response | None = None
    error: _Error | str | None = None


_decode = msgspec.json.Decoder(_Line).decode


@dataclass(frozen=True, slots=True)
class Tokens:
    input: int
    cached: int
    cache_write: int
    output: int
    reasoning: int


@dataclass(slots=True)
class Row:
    """`reason` is empty where there is an answer to check."""

    reason: str
    status_code: int | None = None
    request_id: str | None = None
    response_id: str | None = None
    model: str | None = None
    answered_at: float | None = None
    tokens: Tokens | None = None
    rewritten_text: str | None = None
    output_language: str | None = None


def parse(line: bytes) -> Row:
    try:
        found = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = _decode_slowly(line)
    return Row("unreadable") if found is None else _row(found)


def _decode_slowly(line: bytes) -> _Line | None:
    """A half surrogate pair is no JSON for msgspec. The line was paid for all the same: its usage must be read."""
    try:
        return msgspec.convert(json.loads(line.decode("utf-8")), _Line)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _row(line: _Line) -> Row:
    response = line.response
    if response is None:
        return Row(outcomes.of_never_ran(_code(line.error)))
    body = response.body if isinstance(response.body, _Body) else _Body()
    status = response.status_code if 0 <= response.status_code <= 999 else None
    row = Row(
        reason="",
        status_code=status,
        request_id=_id(response.request_id),
        response_id=_id(body.id),
        model=_id(body.model),
        answered_at=_time(body.completed_at) or _time(body.created_at),
        tokens=_tokens(body.usage),
    )
    if status != 200:
        row.reason = outcomes.of_status(response.status_code, _code(body.error))
        return row
    answer = _answer(body)
    if isinstance(answer, str):
        row.reason = answer
    else:
        row.rewritten_text, row.output_language = answer
    return row


def _answer(body: _Body) -> tuple[str, str] | str:
    """The answer, or why a response with status 200 holds none."""
    if body.status in {"failed", "cancelled"}:
        return outcomes.of_failed_response(_code(body.error))
    parts = list(_parts(body))
    if any(part.type == "refusal" or part.refusal for part in parts):
        return "refusal"
    if body.status == "incomplete":
        why = body.incomplete_details.reason if body.incomplete_details else None
        return {"max_output_tokens": "truncated", "content_filter": "content_filter"}.get(why or "", "incomplete")
    if body.status not in {"completed", None}:
        return "incomplete"
    text = "".join(part.text for part in parts if part.type == "output_text" and part.text)
    return read_answer(text) if text else "no_answer"


def _parts(body: _Body) -> Iterator[_Part]:
    for item in body.output or ():
        if item.type == "message" and isinstance(item.content, list):
            yield from (part for part in item.content if isinstance(part, _Part))


def _tokens(usage: _Usage | None) -> Tokens | None:
    """None: the line says nothing of usage, or nonsense. Details that older lines lack are 0."""
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    into, out = usage.input_tokens_details or _Details(), usage.output_tokens_details or _Details()
    counts = [
        count or 0
        for count in (
            usage.input_tokens, into.cached_tokens, into.cache_write_tokens, usage.output_tokens, out.reasoning_tokens,
        )
    ]  # fmt: skip
    return Tokens(*counts) if all(0 <= count <= MOST_TOKENS for count in counts) else None


def _code(error: _Error | str | None) -> str:
    """The error's code, or else its type, if it looks like one."""
    if not isinstance(error, _Error):
        return ""
    return next((said for said in (error.code, error.type) if isinstance(said, str) and _CODE(said)), "")


def _id(text: str | None) -> str | None:
    return text if text is not None and _ID(text) else None


def _time(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 < seconds < LATEST_S else None
