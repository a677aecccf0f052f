"""The body of one Responses request, checked as the provider would: usable, or an error of status 400."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rewrite_batch.simulator.jsontext import Json, JsonError, decode, int_of, list_of, object_of, text_of
from rewrite_batch.simulator.replies import error_body
from rewrite_batch.simulator.tokens import count_tokens

# The parameters of `responses.create`; a test compares them with the installed client's request type.
PARAMETERS = frozenset(
    {
        "access_programs",
        "background",
        "context_management",
        "conversation",
        "image",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)
MIN_OUTPUT_TOKENS = 16
INTENTS = ("request", "boundary", "concern", "clarification")
TOPICS = ("noise", "cleanliness", "privacy", "guests", "schedule", "communication", "other")


class BodyError(Exception):
    """The body is not a request that could run; `.body` is the provider's 400."""

    def __init__(self, message: str, code: str, param: str | None) -> None:
        super().__init__(code)
        self.body = error_body(message, kind="invalid_request_error", code=code, param=param)


@dataclass(frozen=True)
class Ask:
    """What the model is asked, read leniently from the user's message."""

    original_text: str = ""
    target_language: str = "en"
    intent: str = "request"
    topic: str = "other"


@dataclass(frozen=True)
class Request:
    model: str
    instructions: str | None
    user_text: str
    max_output_tokens: int | None
    body: Json

    def prompt_tokens(self) -> int:
        # The schema and the message frames cost a little too.
        return _instruction_tokens(self.instructions) + count_tokens(self.user_text) + 12

    def instruction_tokens(self) -> int:
        return _instruction_tokens(self.instructions)


@lru_cache(maxsize=64)
def _instruction_tokens(instructions: str | None) -> int:
    """The instructions of a batch's lines are nearly always the same text."""
    return count_tokens(instructions or "")


def read_request(value: object, *, needs_model: bool = True) -> Request:
    body = object_of(value)
    if body is None:
        raise BodyError("Invalid type for 'body': expected an object.", "invalid_type", "body")
    for name in body:
        if name not in PARAMETERS:
            raise BodyError(f"Unknown parameter: '{name}'.", "unknown_parameter", name)
    model = text_of(body.get("model"))
    if not model and needs_model:
        raise BodyError("Missing required parameter: 'model'.", "missing_required_parameter", "model")
    _check_scalars(body)
    _check_format(body)
    return Request(
        model=model or "",
        instructions=text_of(body.get("instructions")),
        user_text=_user_text(body.get("input")),
        max_output_tokens=int_of(body.get("max_output_tokens")),
        body=body,
    )


def _check_scalars(body: Json) -> None:
    for name, kind in (("instructions", str), ("store", bool), ("metadata", dict)):
        if body.get(name) is not None and not isinstance(body[name], kind):
            raise BodyError(f"Invalid type for '{name}'.", "invalid_type", name)
    limit = body.get("max_output_tokens")
    if limit is None:
        return
    if int_of(limit) is None:
        raise BodyError("Invalid type for 'max_output_tokens'.", "invalid_type", "max_output_tokens")
    if limit < MIN_OUTPUT_TOKENS:
        raise BodyError(
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got"
            f" {limit} instead.",
            "integer_below_min_value",
            "max_output_tokens",
        )


def _check_format(body: Json) -> None:
    """Strict structured output wants every property required and no others allowed."""
    text = object_of(body.get("text"))
    chosen = object_of(text.get("format")) if text else None
    if chosen is None or chosen.get("type") != "json_schema":
        return
    schema = object_of(chosen.get("schema"))
    if not chosen.get("name") or schema is None:
        raise BodyError(
            "Missing required parameter: 'text.format.name' or 'text.format.schema'.",
            "missing_required_parameter",
            "text.format",
        )
    properties = object_of(schema.get("properties")) or {}
    required: list[Any] = list_of(schema.get("required")) or []
    if chosen.get("strict") and (
        schema.get("additionalProperties") is not False or set(properties) != {str(name) for name in required}
    ):
        raise BodyError(
            "Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be"
            " false, and 'required' to include every property.",
            "invalid_json_schema",
            "text.format.schema",
        )


def _user_text(value: object) -> str:
    """The last user message of `input`, which is a string or a list of messages."""
    if isinstance(value, str):
        return value
    messages = list_of(value)
    if not messages:
        raise BodyError("Missing required parameter: 'input'.", "missing_required_parameter", "input")
    texts: list[str] = []
    for message in messages:
        entry = object_of(message)
        if entry is None or "content" not in entry or not isinstance(entry.get("role"), str):
            raise BodyError("Invalid value for 'input'.", "invalid_value", "input")
        if entry["role"] == "user":
            texts.append(_content_text(entry["content"]))
    return texts[-1] if texts else ""


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [object_of(part) for part in list_of(content) or []]
    if not parts or any(part is None or part.get("type") != "input_text" for part in parts):
        raise BodyError("Invalid value for 'input[].content'.", "invalid_value", "input")
    return "".join(text_of(part.get("text")) or "" for part in parts if part)


def read_ask(user_text: str) -> Ask:
    try:
        asked = object_of(decode(user_text.encode("utf-8", "replace"))) or {}
    except JsonError:
        asked = {}
    topics = [topic for topic in list_of(asked.get("topics")) or [] if topic in TOPICS]
    intent = text_of(asked.get("intent"))
    return Ask(
        original_text=text_of(asked.get("original_text")) or ("" if asked else user_text),
        target_language=text_of(asked.get("target_language")) or "en",
        intent=intent if intent in INTENTS else "request",
        topic=topics[0] if topics else "other",
    )
