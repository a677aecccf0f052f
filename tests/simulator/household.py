"""Lines, files and batches as a product would send them, through the real client."""

import json
from dataclasses import dataclass
from typing import Any

from openai import OpenAI
from openai._legacy_response import LegacyAPIResponse
from openai.types import Batch, FileObject
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from rewrite_batch.simulator.process import Simulator

MODEL = "gpt-5.2"
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rewritten_text", "output_language"],
    "properties": {"rewritten_text": {"type": "string"}, "output_language": {"type": "string"}},
}
WHOLE_LIFE_S = 100


def body(number: int = 0, language: str = "es", **changes: Any) -> dict[str, Any]:
    asked = {
        "original_text": f"Turn that music down, number {number}!",
        "source_language": "en",
        "target_language": language,
        "intent": "request",
        "topics": ["noise"],
        "rewrite_strength": "medium",
    }
    return {
        "model": MODEL,
        "instructions": "Rewrite the message kindly.",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": json.dumps(asked)}]}],
        "text": {"format": {"type": "json_schema", "name": "rewrite", "strict": True, "schema": SCHEMA}},
        "max_output_tokens": 400,
        "store": False,
        **changes,
    }


def line(number: int, language: str = "es", **changes: Any) -> dict[str, Any]:
    """`changes` are of the line; those of the body go in `body`."""
    of_body = changes.pop("body", {})
    entry = {
        "custom_id": f"line_{number}",
        "method": "POST",
        "url": "/v1/responses",
        "body": body(number, language, **of_body),
    }
    return entry | changes


def jsonl(*lines: dict[str, Any] | bytes) -> bytes:
    written = [entry if isinstance(entry, bytes) else json.dumps(entry).encode() for entry in lines]
    return b"".join(entry + b"\n" for entry in written)


def upload(client: OpenAI, content: bytes, name: str = "batch.jsonl") -> FileObject:
    return client.files.create(file=(name, content), purpose="batch")


def create(client: OpenAI, content: bytes, **metadata: str) -> Batch:
    return client.batches.create(
        input_file_id=upload(client, content).id,
        endpoint="/v1/responses",
        completion_window="24h",
        metadata=metadata,
    )


def respond(client: OpenAI, language: str = "es") -> "LegacyAPIResponse[Response]":
    """One synchronous response, with its raw text."""
    sent = ResponseCreateParamsNonStreaming(**body(0, language))
    return client.responses.with_raw_response.create(**sent)


def completed(simulator: Simulator, client: OpenAI, content: bytes) -> Batch:
    """A batch at the end of its life."""
    batch = create(client, content)
    simulator.advance(WHOLE_LIFE_S)
    return client.batches.retrieve(batch.id)


@dataclass(frozen=True)
class Lines:
    output: list[dict[str, Any]]
    errors: list[dict[str, Any]]

    def by_id(self) -> dict[str, dict[str, Any]]:
        return {entry["custom_id"]: entry for entry in self.output + self.errors}


def download(client: OpenAI, file_id: str | None) -> bytes:
    return client.files.content(file_id).content if file_id else b""


def results(client: OpenAI, batch: Batch) -> Lines:
    parts = [download(client, file_id).split(b"\n") for file_id in (batch.output_file_id, batch.error_file_id)]
    return Lines(*([json.loads(raw) for raw in part if raw] for part in parts))


def said(entry: dict[str, Any]) -> str:
    """The text of an answered line, whatever its shape."""
    items = entry["response"]["body"]["output"]
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    return "".join(part.get("text", "") for part in parts)


def rewritten(entry: dict[str, Any]) -> dict[str, str]:
    return json.loads(said(entry))
