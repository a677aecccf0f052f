"""JSON as the provider reads and writes it: UTF-8, no NaN, no byte order mark, any language as it is."""

import json
from typing import Any, cast

Json = dict[str, Any]


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_ASCII_ENCODER = json.JSONEncoder(ensure_ascii=True)


class JsonError(ValueError):
    """The bytes are not one JSON value in UTF-8."""


def decode(raw: bytes) -> object:
    try:
        return _DECODER.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        # The cause is dropped on purpose: its message may hold the text.
        raise JsonError("not one JSON value in UTF-8") from None


def encode(value: object) -> bytes:
    text = _ENCODER.encode(value)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate exists only as an escape.
        return _ASCII_ENCODER.encode(value).encode("ascii")


def object_of(value: object) -> Json | None:
    return cast(Json, value) if isinstance(value, dict) else None


def list_of(value: object) -> list[Any] | None:
    return cast(list[Any], value) if isinstance(value, list) else None


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) else None


def int_of(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_of(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
