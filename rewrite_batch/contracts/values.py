"""The vocabulary of the contracts as types: ids, codes, locales, times, and the closed lists of words.

Each type says the same thing twice, once to pydantic and once to JSON Schema; a property test holds the
two together.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from rewrite_batch.contracts.locale import TAG_PATTERN, normalise_locale

UUID_PATTERN = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
# Years and offsets that PostgreSQL takes and psycopg can read back, whatever the offset does to the year.
TIME_PATTERN = (
    r"^(19|2[0-9])[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-5]):[0-5][0-9])$"
)
CODE_PATTERN = r"^[a-z][a-z0-9_.:-]{0,99}$"
KEY_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.:+-]{0,99}$"
# Also google's models/…, and name@date.
MODEL_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.:+/@-]{0,199}$"
# ASCII, no space, and no @: a URL that is stored and printed carries no password.
URL_PATTERN = r"^https?://[!-?A-~]{1,490}$"


@dataclass(frozen=True, eq=False)
class _OneSpelling:
    """Several spellings of a UUID or a time would pass: there is one, and JSON Schema knows it too.

    From JSON all of it runs inside pydantic's core: every request has eight of these.
    """

    pattern: str
    schema: CoreSchema  # lax: what comes to it is a string of that pattern
    format: str
    advice: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        spelled = core_schema.chain_schema([core_schema.str_schema(pattern=self.pattern), self.schema])
        return core_schema.custom_error_schema(
            core_schema.json_or_python_schema(
                json_schema=spelled, python_schema=core_schema.union_schema([handler(source), spelled])
            ),
            custom_error_type=f"{self.format}_spelling",
            custom_error_message=self.advice,
        )

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "format": self.format, "pattern": self.pattern}


Id = Annotated[
    UUID,
    _OneSpelling(
        UUID_PATTERN,
        core_schema.uuid_schema(strict=False),
        "uuid",
        "must be a UUID such as 0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b",
    ),
]
Timestamp = Annotated[
    AwareDatetime,
    _OneSpelling(
        TIME_PATTERN,
        core_schema.datetime_schema(strict=False, tz_constraint="aware"),
        "date-time",
        "must be a time with its offset such as 2026-11-18T09:30:00Z",
    ),
]
Locale = Annotated[
    str,
    AfterValidator(normalise_locale),
    WithJsonSchema({"type": "string", "format": "bcp47-language", "pattern": TAG_PATTERN}),
]
Code = Annotated[str, StringConstraints(pattern=CODE_PATTERN)]
Key = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Version = Key
ModelName = Annotated[str, StringConstraints(pattern=MODEL_PATTERN)]
BaseUrl = Annotated[str, StringConstraints(pattern=URL_PATTERN)]

MAX_TEXT = 20_000
MAX_NOTE = 500


def is_storable(value: JsonValue) -> bool:
    """PostgreSQL takes neither NUL nor half a surrogate pair, and JSON knows no NaN or infinity."""
    if isinstance(value, str):
        return "\x00" not in value and _is_utf8(value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return all(is_storable(inner) for inner in value)
    if isinstance(value, dict):
        return all(is_storable(key) and is_storable(inner) for key, inner in value.items())
    return True


def _is_utf8(value: str) -> bool:
    """Half a surrogate pair has no bytes. Many times faster than looking for one, and every text comes through here."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_readable(value: str) -> bool:
    return is_storable(value) and bool(value.strip())


def _readable(value: str) -> str:
    if not is_readable(value):
        raise ValueError("must hold something to read, and no NUL")
    return value


def _storable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not is_storable(value):
        raise ValueError("must hold no NUL, NaN or infinity")
    return value


# What people wrote, or what is known about them, stays out of repr: a repr ends up in a log.
Text = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_TEXT),
    AfterValidator(_readable),
    Field(repr=False),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_TEXT, "format": "readable-text"}),
]
Note = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NOTE),
    AfterValidator(_readable),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_NOTE, "format": "readable-text"}),
]
Payload = Annotated[
    dict[str, JsonValue],
    AfterValidator(_storable),
    Field(repr=False),
    WithJsonSchema({"type": "object", "format": "storable-json"}),
]


def _fold_alias(value: str) -> str:
    return "weekly_feedback" if value == "weekly_harmony" else value


Surface = Annotated[
    Literal["weekly_feedback", "weekly_harmony", "direct_message", "other"], AfterValidator(_fold_alias)
]
Topic = Literal["noise", "cleanliness", "privacy", "guests", "schedule", "communication", "other"]
Topics = Annotated[list[Topic], Field(min_length=1, max_length=3)]
Intent = Literal["request", "boundary", "concern", "clarification"]
RewriteStrength = Literal["light_touch", "full_reframe"]
Lane = Literal["same_language", "cross_language"]
PowerMode = Literal["higher_sender", "higher_recipient", "peer"]
ExecutionMode = Literal["batch", "async"]
Confidence = Literal["low", "medium", "high"]
HouseRole = Literal["owner", "housemate"]
Verdict = Literal["pass", "warn", "fail"]
ViolationCode = Literal[
    "vulgarity",
    "slur",
    "personal_attack",
    "blame",
    "authority",
    "preference_disclosure",
    "medical",
    "new_fact",
    "non_target_locale",
    "sarcasm_warn",
    "hedge_warn",
]
WARNINGS: frozenset[ViolationCode] = frozenset({"sarcasm_warn", "hedge_warn"})  # every other code is hard
SafetyFlag = Literal["none", "emotional_intensity", "ambiguous_intent"]


def _none_stands_alone(flags: list[str]) -> list[str]:
    if "none" in flags and flags != ["none"]:
        raise ValueError("`none` stands alone")
    return flags


SafetyFlags = Annotated[
    list[SafetyFlag],
    AfterValidator(_none_stands_alone),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": ["none"]},
                {"type": "array", "items": {"enum": ["emotional_intensity", "ambiguous_intent"]}},
            ]
        }
    ),
]

JobStatus = Literal["queued", "processing", "batch_submitted", "completed", "failed", "canceled"]
LEGACY_STATUS = {"running": "processing", "succeeded": "completed"}
