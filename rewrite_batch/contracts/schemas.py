"""JSON Schemas of the shapes, and the validator that is the authority on what is stored as JSON.

The folder `schemas/` holds them as they are printed. jsonschema's own messages quote the value: use is_valid,
or an error's path and keyword, never its message.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]  its signature has no types
from pydantic import JsonValue

from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.contracts.shapes import SHAPES
from rewrite_batch.contracts.values import TIME_PATTERN, UUID_PATTERN, is_readable, is_storable

_formats = FormatChecker(formats=())


@_formats.checks("uuid")
def _is_uuid(value: object) -> bool:
    return not isinstance(value, str) or re.fullmatch(UUID_PATTERN, value) is not None


@_formats.checks("date-time", raises=ValueError)
def _is_time(value: object) -> bool:
    if isinstance(value, str) and re.fullmatch(TIME_PATTERN, value):
        datetime.fromisoformat(value)
        return True
    return not isinstance(value, str)


@_formats.checks("bcp47-language", raises=ValueError)
def _is_language(value: object) -> bool:
    return not isinstance(value, str) or bool(normalise_locale(value))


@_formats.checks("readable-text")
def _is_readable(value: object) -> bool:
    return not isinstance(value, str) or is_readable(value)


@_formats.checks("storable-json")
def _is_storable(value: object) -> bool:
    return is_storable(cast("JsonValue", value))


def _whole_number(_checker: Any, value: object) -> bool:
    # JSON Schema lets 1.0 pass as an integer; what we store is 1 or refused.
    return isinstance(value, int) and not isinstance(value, bool)


def _whole_pattern(_validator: Any, pattern: str, value: object, _schema: Any) -> Iterator[ValidationError]:
    # In JSON Schema `$` is the end; in Python's re.search a newline may follow it. All patterns are anchored.
    if isinstance(value, str) and re.fullmatch(pattern, value) is None:
        yield ValidationError(f"does not match {pattern}")


_Validator = cast(
    "type[Draft202012Validator]",
    extend(
        Draft202012Validator,
        validators={"pattern": _whole_pattern},
        type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _whole_number),
    ),
)


def schema_of(name: str) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:rewrite-batch:{name}",
        **SHAPES[name].model_json_schema(),
    }


def schema_text(name: str) -> str:
    """The schema as it is printed and committed."""
    return json.dumps(schema_of(name), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


@lru_cache
def validator(name: str) -> Draft202012Validator:
    return _Validator(schema_of(name), format_checker=_formats)
