"""Result lines as the provider writes them, for tests: good ones, and whatever a test makes of them."""

import json
from typing import Any
from uuid import UUID

from rewrite_batch.ids import custom_id

BATCH = UUID("0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b")
TEXT = "¿Podríamos bajar la música por la noche?"
USAGE: dict[str, Any] = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 200},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 1050,
}


def answer(text: str = TEXT, language: str = "es") -> str:
    return json.dumps({"rewritten_text": text, "output_language": language}, ensure_ascii=False)


def message(*texts: str, **more: Any) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "output_text", "annotations": [], "text": text} for text in texts]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content, **more}


def body(**changes: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_794_980_000,
        "status": "completed",
        "model": "gpt-5.2-2025-12-11",
        "error": None,
        "incomplete_details": None,
        "output": [{"id": "rs_1", "type": "reasoning", "summary": []}, message(answer())],
        "usage": USAGE,
    }
    return {key: value for key, value in {**usual, **changes}.items() if value != "absent"}


def line(index: int = 0, *, http: int = 200, batch_id: UUID = BATCH, **changes: Any) -> dict[str, Any]:
    """`changes` are of the body; `named` replaces the custom id."""
    named = changes.pop("named", None) or custom_id(batch_id, index)
    response = {"status_code": http, "request_id": "req_1", "body": body(**changes)}
    return {"id": "batch_req_1", "custom_id": named, "response": response, "error": None}


def http_failure(index: int, status: int, code: str | None = None) -> dict[str, Any]:
    made = line(index, http=status)
    made["response"]["body"] = {"error": {"message": "words", "type": "some_error", "param": None, "code": code}}
    return made


def never_ran(index: int, code: str) -> dict[str, Any]:
    return {**line(index), "response": None, "error": {"code": code, "message": "words"}}


def raw(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"
