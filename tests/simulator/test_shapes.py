"""What the simulator sends and takes, held against the types of the installed client."""

import json
from typing import Any

import pytest
from openai import BadRequestError, OpenAI
from openai.pagination import SyncCursorPage
from openai.types import Batch, FileDeleted, FileObject, Model
from openai.types.batch_create_params import BatchCreateParams
from openai.types.file_create_params import ExpiresAfter
from openai.types.responses import InputTokenCountResponse, Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter, ValidationError

from rewrite_batch.simulator import batches, files, request_body
from rewrite_batch.simulator.process import Simulator
from tests.simulator.household import body, completed, create, jsonl, line, respond, results, upload

CREATION: TypeAdapter[Any] = TypeAdapter(BatchCreateParams)
GOOD_CREATION = {"input_file_id": "file-1", "endpoint": "/v1/responses", "completion_window": "24h"}


def strictly(shape: type[BaseModel], raw: str | bytes) -> Any:
    """Validate without any conversion, and refuse fields that the type does not know."""
    value = shape.model_validate_json(raw, strict=True)
    assert not value.model_extra, value.model_extra
    return value


def test_a_strict_shape_notices_an_absent_field_and_an_invented_one() -> None:
    whole = {"id": "a", "bytes": 1, "created_at": 1, "filename": "a", "object": "file", "purpose": "batch"}
    with pytest.raises(ValidationError):
        strictly(FileObject, json.dumps(whole))
    with pytest.raises(AssertionError):
        strictly(FileObject, json.dumps(whole | {"status": "processed", "invented": 1}))


def test_a_file_has_the_clients_shape(client: OpenAI) -> None:
    raw = client.files.with_raw_response.create(file=("a.jsonl", jsonl(line(1))), purpose="batch")
    file = strictly(FileObject, raw.text)
    assert file.bytes == len(jsonl(line(1)))
    strictly(FileObject, client.files.with_raw_response.retrieve(file.id).text)
    page = json.loads(client.files.with_raw_response.list().text)
    assert set(page) - {"object"} <= set(SyncCursorPage[FileObject].model_fields) | {"first_id", "last_id"}
    assert strictly(FileDeleted, client.files.with_raw_response.delete(file.id).text).deleted


def test_a_batch_has_the_clients_shape_in_every_state(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, jsonl(line(1), line(2)), batch_id="b1")
    failing = create(client, b"not json\n")
    cancelled = create(client, jsonl(line(1)))
    client.batches.cancel(cancelled.id)
    seen: set[str] = set()
    for _ in range(16):
        for known in (batch, failing, cancelled):
            value = strictly(Batch, client.batches.with_raw_response.retrieve(known.id).text)
            seen.add(value.status)
        simulator.advance(5)
    assert seen == {
        "validating",
        "in_progress",
        "finalizing",
        "completed",
        "failed",
        "cancelling",
        "cancelled",
    }
    listed = json.loads(client.batches.with_raw_response.list().text)
    assert len(listed["data"]) == 3
    for element in listed["data"]:
        strictly(Batch, json.dumps(element))


def test_every_answered_line_holds_a_whole_response(simulator: Simulator, client: OpenAI) -> None:
    """Bad answers too: a refusal or a truncated text is still a Response."""
    simulator.settings(bad_share=0.8, split_message_share=0.3)
    batch = completed(simulator, client, jsonl(*(line(n, body={"max_output_tokens": 300}) for n in range(120))))
    answered = [entry for entry in results(client, batch).output if entry["response"]["status_code"] == 200]
    assert len(answered) > 50
    statuses = {strictly(Response, json.dumps(entry["response"]["body"])).status for entry in answered}
    assert statuses == {"completed", "incomplete", "failed"}


def test_a_synchronous_response_and_its_token_count_have_the_clients_shapes(client: OpenAI) -> None:
    raw = respond(client).text
    response = strictly(Response, raw)
    assert response.model == "gpt-5.2-2026-02-01"
    assert json.loads(response.output_text)["output_language"] == "es"
    sent = {name: value for name, value in body().items() if name in ("model", "instructions", "input")}
    counted = client.responses.input_tokens.with_raw_response.count(**sent)
    assert strictly(InputTokenCountResponse, counted.text).input_tokens == response.usage.input_tokens


def test_models_have_the_clients_shape(client: OpenAI) -> None:
    for model in json.loads(client.models.with_raw_response.list().text)["data"]:
        strictly(Model, json.dumps(model))
    assert strictly(Model, client.models.with_raw_response.retrieve("gpt-5.2").text).id == "gpt-5.2"


def test_the_simulator_takes_exactly_the_parameters_that_the_client_sends() -> None:
    assert set(request_body.PARAMETERS) == set(ResponseCreateParamsNonStreaming.__annotations__)
    assert set(batches.PARAMETERS) == set(BatchCreateParams.__annotations__)


def test_what_the_tests_send_is_what_the_clients_request_types_allow() -> None:
    request: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsNonStreaming)
    request.validate_python(body(), extra="forbid")
    with pytest.raises(ValidationError):
        request.validate_python(body(max_output_tokens="many"), extra="forbid")
    CREATION.validate_python(GOOD_CREATION, strict=True, extra="forbid")
    TypeAdapter(ExpiresAfter).validate_python({"anchor": "created_at", "seconds": files.SHORTEST_LIFE})


@pytest.mark.parametrize(
    "changes",
    [
        {"completion_window": "1h"},
        {"completion_window": None},
        {"endpoint": "/v1/nowhere"},
        {"endpoint": None},
        {"input_file_id": None},
        {"input_file_id": 3},
        {"metadata": {"a": 1}},
        {"metadata": ["a"]},
        {"output_expires_after": {"anchor": "created_at"}},
        {"output_expires_after": {"anchor": "now", "seconds": 3600}},
    ],
)
def test_what_the_clients_request_type_refuses_is_refused(client: OpenAI, changes: dict[str, Any]) -> None:
    sent = {name: value for name, value in (GOOD_CREATION | changes).items() if value is not None}
    with pytest.raises(ValidationError):
        CREATION.validate_python(sent, strict=True)
    with pytest.raises(BadRequestError) as refused:
        client.post("/batches", body=sent, cast_to=object)
    assert refused.value.type == "invalid_request_error"
    assert refused.value.param is not None


def test_an_upload_is_listed_as_the_file_that_was_sent(client: OpenAI) -> None:
    file = upload(client, jsonl(line(1)), "0197-abc.jsonl")
    assert [(found.id, found.filename) for found in client.files.list(purpose="batch")] == [(file.id, "0197-abc.jsonl")]
