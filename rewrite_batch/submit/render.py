"""Render: a request, its routing and a prompt come in; one line for the provider goes out, as bytes.

Pure and deterministic: fixed key order, no clock, no ids but the line's own. The instructions hold no user text, and
are the same for all requests of a prompt and target. What people wrote travels as JSON data in the user message; of the
context pack go only the fields that the model needs, and no id, role or safety note.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from rewrite_batch.contracts.shapes import RewriteRequestV1, RoutingDecisionV1
from rewrite_batch.ids import MAX_INDEX, custom_id, parse_custom_id
from rewrite_batch.submit.prompts import Prompt

__all__ = ["MAX_INDEX", "Rendered", "custom_id", "max_output_tokens", "parse_custom_id", "render", "render_line"]

ENDPOINT = "/v1/responses"
CUSTOM_ID_BYTES = 32 + 1 + len(str(MAX_INDEX))  # at most
MIN_OUTPUT_TOKENS = 256
MAX_OUTPUT_TOKENS = 32_768  # a ceiling on what one line can cost; the longest text and its reasoning fit
# A model that thinks first pays for it from the same limit.
REASONING_TOKENS = 1_536
TEMPERATURE = 0.3
# gpt-5 and the o-series refuse a temperature with status 400; a name that is not known here gets none.
_TAKES_TEMPERATURE = re.compile(r"(?:ft:)?gpt-4(?:o|\.1)(?![a-z0-9.])").match
_HEAD = b'{"custom_id":"'
# Legal inside JSON strings, and yet line ends to some readers of lines.
_LINE_ENDS = tuple((character.encode(), b"\\u%04x" % ord(character)) for character in "\u2028\u2029\u0085")

ANSWER_FORMAT = {
    "format": {
        "type": "json_schema",
        "name": "rewrite",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"rewritten_text": {"type": "string"}, "output_language": {"type": "string"}},
            "required": ["rewritten_text", "output_language"],
            "additionalProperties": False,
        },
    }
}
_json = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Rendered:
    """A line but for its custom id, which is known only when the line has a place."""

    tail: bytes
    prompt_chars: int
    data_chars: int

    @property
    def input_chars(self) -> int:
        return self.prompt_chars + self.data_chars

    @property
    def line_bytes(self) -> int:
        """What the line takes at most, whatever its index."""
        return len(_HEAD) + CUSTOM_ID_BYTES + len(self.tail)

    def line(self, custom: str) -> bytes:
        return b"".join((_HEAD, custom.encode("ascii"), self.tail))


def render(request: RewriteRequestV1, routing: RoutingDecisionV1, prompt: Prompt) -> Rendered:
    start, prompt_chars = _start(prompt, routing.model, request.target_locale)
    data = _json(_data(request)).decode()
    limit = max_output_tokens(routing.model, len(request.original_text))
    tail = b"".join((start, b"%d" % limit, _BEFORE_DATA, _encoded(data), _AFTER_DATA))
    return Rendered(tail, prompt_chars, len(data))


def render_line(custom: str, request: RewriteRequestV1, routing: RoutingDecisionV1, prompt: Prompt) -> bytes:
    return render(request, routing, prompt).line(custom)


def thinks(model: str) -> bool:
    """Before it answers, and for money. A model that is not known here may."""
    return not _TAKES_TEMPERATURE(model)


def max_output_tokens(model: str, text_chars: int) -> int:
    """A token a character holds a rewrite into any language with room to spare."""
    room = REASONING_TOKENS if thinks(model) else 0
    return max(MIN_OUTPUT_TOKENS, min(MAX_OUTPUT_TOKENS, MIN_OUTPUT_TOKENS + text_chars + room))


_BEFORE_DATA = b',"input":[{"role":"user","content":[{"type":"input_text","text":'
_AFTER_DATA = b"}]}]}}\n"


@lru_cache(maxsize=1024)
def _start(prompt: Prompt, model: str, target_language: str) -> tuple[bytes, int]:
    """From the end of the custom id to the first value that differs between lines of one model and target."""
    instructions = prompt.instructions(target_language)
    body: dict[str, object] = {
        "model": model,
        "instructions": instructions,
        "text": ANSWER_FORMAT,
        "store": False,
        **({"temperature": TEMPERATURE} if _TAKES_TEMPERATURE(model) else {}),
        "max_output_tokens": 0,
    }
    rest = _json({"method": "POST", "url": ENDPOINT, "body": body})
    return b'",' + _without_line_ends(rest).removeprefix(b"{").removesuffix(b"0}}"), len(instructions)


def _data(request: RewriteRequestV1) -> dict[str, object]:
    pack, policy = request.context_pack, request.policy
    how = pack.instructions
    return {
        "original_text": request.original_text,
        "source_language": request.source_locale,
        "target_language": request.target_locale,
        "intent": request.intent,
        "topics": request.topics,
        "rewrite_strength": request.rewrite_strength,
        "tone": how.tone,
        "directness": how.directness,
        "policy": {
            "tone": policy.tone,
            "directness": policy.directness,
            "emotional_temperature": policy.emotional_temperature,
            "rewrite_strength": policy.rewrite_strength,
        },
        "power_mode": pack.power.power_mode,
        "tone_multiplier": pack.power.tone_multiplier,
        **({"repair_timing": how.repair_timing} if how.repair_timing else {}),
        "framing": how.framing,
        "avoid": how.avoid,
        "do_not_add": how.do_not_add,
        "recipient_signals": [
            {"value_key": signal.value_key, "instruction": signal.instruction} for signal in pack.recipient_signals
        ],
    }


def _encoded(text: str) -> bytes:
    return _without_line_ends(_json(text))


def _without_line_ends(document: bytes) -> bytes:
    if document.isascii():
        return document
    for character, escape in _LINE_ENDS:
        document = document.replace(character, escape)
    return document
