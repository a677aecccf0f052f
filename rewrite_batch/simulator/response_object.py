"""A draft becomes the provider's Response object, and its usage, which is what is billed."""

import re
from dataclasses import dataclass

from rewrite_batch.simulator.jsontext import Json
from rewrite_batch.simulator.lots import fraction
from rewrite_batch.simulator.model import Draft
from rewrite_batch.simulator.request_body import Request
from rewrite_batch.simulator.tokens import cacheable_prefix, count_tokens

_DATED = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True)
class Usage:
    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int

    def as_json(self, *, legacy: bool) -> Json:
        totals: Json = {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "total_tokens": self.input_tokens + self.output_tokens,
        }
        if legacy:
            return totals
        return totals | {
            "input_tokens_details": {
                "cached_tokens": self.cached_tokens,
                "cache_write_tokens": self.cache_write_tokens,
            },
            "output_tokens_details": {"reasoning_tokens": self.reasoning_tokens},
        }


def measure(request: Request, draft: Draft, lot: bytes, *, seen_before: bool) -> Usage:
    written = count_tokens(draft.refusal or draft.text)
    # Reasoning never eats the room of the answer: a line is truncated by its text alone.
    room = max(0, (request.max_output_tokens or 1_000_000) - written)
    reasoning = min(room, 64 * int(fraction(lot, 28) * 3))
    prefix = cacheable_prefix(request.instruction_tokens())
    if draft.legacy_usage:
        # A line without details hides nothing: what is billed is what the line says.
        prefix = reasoning = 0
    return Usage(
        input_tokens=request.prompt_tokens(),
        cached_tokens=prefix if seen_before else 0,
        cache_write_tokens=0 if seen_before else prefix,
        output_tokens=written + reasoning,
        reasoning_tokens=reasoning,
    )


def response_object(request: Request, draft: Draft, usage: Usage, response_id: str, at: float) -> Json:
    body = request.body
    failed = draft.status == "failed"
    return {
        "id": response_id,
        "object": "response",
        "created_at": int(at),
        "status": draft.status,
        "background": False,
        "completed_at": int(at) if draft.status == "completed" else None,
        "error": {"code": "server_error", "message": "The model failed to answer."} if failed else None,
        "incomplete_details": {"reason": draft.incomplete_reason} if draft.incomplete_reason else None,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": None,
        "model": request.model if _DATED.search(request.model) else f"{request.model}-2026-02-01",
        "output": _output(draft, response_id.removeprefix("resp_")),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": body.get("reasoning") or {"effort": "low", "summary": None},
        "safety_identifier": body.get("safety_identifier"),
        "service_tier": "default",
        "temperature": 1.0,
        "text": body.get("text") or {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage.as_json(legacy=draft.legacy_usage),
        "user": None,
        "metadata": body.get("metadata") or {},
    }


def _output(draft: Draft, stem: str) -> list[Json]:
    """Reasoning comes first; a split answer has a message with empty text before the real one."""
    items: list[Json] = [{"id": f"rs_{stem}", "type": "reasoning", "summary": []}]
    if not draft.has_message:
        return items
    status = "incomplete" if draft.status == "incomplete" else "completed"
    if draft.split_message:
        items.append(_message(f"msg_0{stem}", status, [_text_part("")]))
    part = {"type": "refusal", "refusal": draft.refusal} if draft.refusal else _text_part(draft.text)
    items.append(_message(f"msg_{stem}", status, [part]))
    return items


def _text_part(text: str) -> Json:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _message(message_id: str, status: str, content: list[Json]) -> Json:
    return {"id": message_id, "type": "message", "status": status, "role": "assistant", "content": content}
