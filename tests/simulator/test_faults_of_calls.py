"""Every fault of a call: armed, seen by the real client, and counted when it took effect."""

import json
import socket
import time
from typing import Any

import httpx2
import pytest
from openai import APIConnectionError, APIStatusError, APITimeoutError, NotFoundError, OpenAI
from openai.types import Batch

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.simulator.fault_kinds import CALL_KINDS, OPERATIONS
from rewrite_batch.simulator.process import Simulator
from tests.simulator.household import completed, create, download, jsonl, line, upload

LINES = jsonl(*(line(number) for number in range(5)))


def posts(simulator: Simulator) -> int:
    return simulator.state()["calls"].get("batches.create", 0)


def batches(simulator: Simulator) -> list[dict[str, Any]]:
    return simulator.state()["batches"]


@pytest.mark.parametrize("code", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529])
def test_a_status_instead_of_the_work(simulator: Simulator, client: OpenAI, code: int) -> None:
    fault = simulator.arm({"operation": "batches.create", "kind": "status", "code": code, "error_code": "odd"})
    with pytest.raises(APIStatusError) as failed:
        create(client, LINES)
    assert (failed.value.status_code, failed.value.code) == (code, "odd")
    assert (simulator.fired(fault), batches(simulator), posts(simulator)) == (1, [], 1)
    create(client, LINES)
    assert simulator.fired(fault) == 1


def test_a_status_after_the_work_hides_that_it_was_done(simulator: Simulator, client: OpenAI) -> None:
    fault = simulator.arm({"operation": "batches.create", "kind": "status", "code": 500, "after_work": True})
    with pytest.raises(APIStatusError):
        create(client, LINES)
    assert (simulator.fired(fault), len(batches(simulator))) == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "header", "value"),
    [
        ({"retry_after": "7"}, "retry-after", "7"),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),
        ({"retry_after": "soon"}, "retry-after", "soon"),
        ({"retry_after": "-5"}, "retry-after", "-5"),
        ({"retry_after_ms": "1500"}, "retry-after-ms", "1500"),
        ({}, "retry-after", None),
    ],
)
def test_retry_after_in_all_its_forms(
    simulator: Simulator, client: OpenAI, arguments: dict[str, str], header: str, value: str | None
) -> None:
    simulator.arm({"operation": "batches.list", "kind": "status", "code": 429, **arguments})
    with pytest.raises(APIStatusError) as limited:
        client.batches.list()
    assert limited.value.response.headers.get(header) == value


@pytest.mark.parametrize(("kind", "made"), [("reset_before", 0), ("reset_after", 1)])
def test_a_reset_connection_before_and_after_the_work(
    simulator: Simulator, client: OpenAI, kind: str, made: int
) -> None:
    file = upload(client, LINES)
    fault = simulator.arm({"operation": "batches.create", "kind": kind})
    with pytest.raises(APIConnectionError) as broken:
        client.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h")
    assert "reset by peer" in str(broken.value.__cause__)
    assert (simulator.fired(fault), len(batches(simulator)), posts(simulator)) == (1, made, 1)


def test_a_reset_upload_before_and_after_the_work(simulator: Simulator, client: OpenAI) -> None:
    for kind, made in (("reset_before", 0), ("reset_after", 1)):
        fault = simulator.arm({"operation": "files.create", "kind": kind})
        with pytest.raises(APIConnectionError):
            upload(client, LINES * 500)
        assert (simulator.fired(fault), len(simulator.state()["files"])) == (1, made)


@pytest.mark.parametrize(("kind", "made"), [("hang_before", 0), ("hang_after", 1)])
def test_a_call_that_is_never_answered(simulator: Simulator, client: OpenAI, kind: str, made: int) -> None:
    file = upload(client, LINES)
    fault = simulator.arm({"operation": "batches.create", "kind": kind})
    with pytest.raises(APITimeoutError):
        client.with_options(timeout=0.3).batches.create(
            input_file_id=file.id, endpoint="/v1/responses", completion_window="24h"
        )
    assert (simulator.fired(fault), len(batches(simulator)), posts(simulator)) == (1, made, 1)


def test_a_hanging_call_does_not_keep_the_server_from_stopping(simulator: Simulator) -> None:
    simulator.arm({"operation": "models.list", "kind": "hang_before"})
    address = httpx2.URL(simulator.base_url)
    with socket.create_connection((address.host, address.port), timeout=10) as waiting:
        key = f"Authorization: Bearer {simulator.api_key}"
        waiting.sendall(f"GET /v1/models HTTP/1.1\r\nHost: x\r\n{key}\r\n\r\n".encode())
        while not simulator.calls("models.list"):
            pass
        began = time.monotonic()
        simulator.stop()
        assert time.monotonic() - began < 5
    simulator.start()


def test_a_slow_answer_arrives_in_the_end(simulator: Simulator, client: OpenAI) -> None:
    fault = simulator.arm({"operation": "models.list", "kind": "delay", "seconds": 0.4})
    also = simulator.arm({"operation": "models.list", "kind": "status", "code": 503})
    began = time.monotonic()
    with pytest.raises(APIStatusError):
        client.models.list()
    assert time.monotonic() - began >= 0.4
    assert (simulator.fired(fault), simulator.fired(also)) == (1, 1)


def test_a_body_that_trickles_outlasts_every_single_read(simulator: Simulator, client: OpenAI) -> None:
    file = upload(client, LINES * 100)
    fault = simulator.arm({"operation": "files.content", "kind": "slow_body", "seconds": 0.8})
    began = time.monotonic()
    assert client.with_options(timeout=0.5).files.content(file.id).content == LINES * 100
    assert time.monotonic() - began >= 0.7
    assert simulator.fired(fault) == 1


def test_a_download_cut_short_that_the_client_can_notice(simulator: Simulator, client: OpenAI) -> None:
    file = upload(client, LINES)
    for how in ("close", "chunked"):
        fault = simulator.arm({"operation": "files.content", "kind": "truncate", "bytes": 50, "how": how})
        got = b""
        with (
            pytest.raises(httpx2.RemoteProtocolError),
            client.files.with_streaming_response.content(file.id) as answer,
        ):
            for piece in answer.iter_bytes():
                got += piece
        assert got == LINES[:50]
        assert simulator.fired(fault) == 1
    assert download(client, file.id) == LINES


def test_a_download_cut_short_with_a_length_that_fits(simulator: Simulator, client: OpenAI) -> None:
    file = upload(client, LINES)
    fault = simulator.arm({"operation": "files.content", "kind": "truncate", "fraction": 0.25, "how": "short_length"})
    assert download(client, file.id) == LINES[: len(LINES) // 4]
    assert simulator.fired(fault) == 1


def test_a_corrupted_download(simulator: Simulator, client: OpenAI) -> None:
    file = upload(client, LINES)
    fault = simulator.arm({"operation": "files.content", "kind": "corrupt", "offset": 10, "bytes": 3})
    spoiled = download(client, file.id)
    assert [place for place, (a, b) in enumerate(zip(spoiled, LINES, strict=True)) if a != b] == [10, 11, 12]
    other = simulator.arm({"operation": "files.content", "kind": "corrupt", "line": 2, "replacement": "{oops"})
    assert download(client, file.id).split(b"\n")[1] == b"{oops"
    assert (simulator.fired(fault), simulator.fired(other)) == (1, 1)
    assert download(client, file.id) == LINES


def test_a_page_of_html_with_status_200(simulator: Simulator, client: OpenAI) -> None:
    fault = simulator.arm({"operation": "batches.create", "kind": "html"})
    answer = client.batches.with_raw_response.create(
        input_file_id="file-1", endpoint="/v1/responses", completion_window="24h"
    )
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.text.startswith("<!DOCTYPE html>")
    assert (simulator.fired(fault), batches(simulator)) == (1, [])


def test_broken_json_with_status_200(simulator: Simulator, client: OpenAI) -> None:
    fault = simulator.arm({"operation": "batches.create", "kind": "broken_json"})
    with pytest.raises(json.JSONDecodeError):
        create(client, LINES)
    assert (simulator.fired(fault), len(batches(simulator))) == (1, 1)


def test_a_list_that_lags_behind_create(simulator: Simulator, client: OpenAI) -> None:
    fault = simulator.arm({"operation": "batches.list", "kind": "stale_list", "hide": 2, "times": 2})
    assert list(client.batches.list()) == []
    assert simulator.fired(fault) == 0
    ids = [create(client, LINES).id for _ in range(3)]
    assert [batch.id for batch in client.batches.list()] == ids[:1]
    assert [batch.id for batch in client.batches.list()] == ids[:1]
    assert [batch.id for batch in client.batches.list()] == ids[::-1]
    assert simulator.fired(fault) == 2
    assert client.batches.retrieve(ids[2]).id == ids[2]


def test_a_batch_that_appears_late(simulator: Simulator, client: OpenAI) -> None:
    fault = simulator.arm({"operation": "batches.create", "kind": "late_create", "seconds": 90})
    with pytest.raises(APIConnectionError):
        create(client, LINES, batch_id="late")
    simulator.advance(89)
    assert list(client.batches.list()) == []
    (hidden,) = batches(simulator)
    assert hidden["visible"] is False
    with pytest.raises(NotFoundError):
        client.batches.retrieve(hidden["id"])
    simulator.advance(1)
    assert [batch.metadata for batch in client.batches.list()] == [{"batch_id": "late"}]
    assert simulator.fired(fault) == 1
    simulator.finish_all()
    assert len(simulator.ledger()) == 5


def spoil(simulator: Simulator, client: OpenAI, batch: Batch, **fault: Any) -> Batch:
    """The batch as a fault shows it, once; then it shows the truth again."""
    number = simulator.arm({"operation": "batches.retrieve", **fault})
    shown = client.batches.retrieve(batch.id)
    assert simulator.fired(number) == 1
    assert client.batches.retrieve(batch.id) == batch
    return shown


def test_a_status_that_goes_back(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, LINES)
    shown = spoil(simulator, client, batch, kind="regress_status", to="in_progress")
    assert (shown.status, shown.output_file_id, shown.completed_at) == ("in_progress", None, None)


def test_a_status_cannot_go_back_before_its_beginning(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, LINES)
    fault = simulator.arm({"operation": "batches.retrieve", "kind": "regress_status"})
    assert client.batches.retrieve(batch.id).status == "validating"
    assert simulator.fired(fault) == 0
    simulator.advance(5)
    assert client.batches.retrieve(batch.id).status == "validating"
    assert simulator.fired(fault) == 1
    assert client.batches.retrieve(batch.id).status == "in_progress"


def test_a_status_that_nobody_knows(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, LINES)
    assert spoil(simulator, client, batch, kind="unknown_status", status="archived").status == "archived"


def test_file_ids_that_are_empty(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, LINES)
    shown = spoil(simulator, client, batch, kind="empty_file_ids")
    assert (shown.error_file_id, shown.output_file_id) == ("", batch.output_file_id)


def test_counts_that_disagree_with_the_lines(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, LINES)
    shown = spoil(simulator, client, batch, kind="count_mismatch", completed=3, failed=0)
    assert shown.request_counts is not None
    assert (shown.request_counts.total, shown.request_counts.completed) == (5, 3)
    other = spoil(simulator, client, batch, kind="count_mismatch")
    assert other.request_counts is not None
    assert (other.request_counts.total, other.request_counts.completed) == (6, 6)


def test_usage_that_disagrees_with_the_lines(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, LINES)
    assert batch.usage is not None
    shown = spoil(simulator, client, batch, kind="usage_mismatch", input_tokens=3, cached_tokens=-1).usage
    assert shown is not None
    assert (shown.input_tokens, shown.output_tokens) == (batch.usage.input_tokens + 3, batch.usage.output_tokens)
    assert shown.input_tokens_details.cached_tokens == batch.usage.input_tokens_details.cached_tokens - 1
    without = spoil(simulator, client, batch, kind="usage_mismatch", fields=["output_tokens"]).usage
    assert "output_tokens" not in (without.model_fields_set if without else {"output_tokens"})


def test_a_match_names_the_batch_that_a_fault_is_for(simulator: Simulator, client: OpenAI) -> None:
    ours, other = create(client, LINES, batch_id="ours"), create(client, LINES, batch_id="other")
    fault = simulator.arm({"operation": "batches.retrieve", "kind": "status", "match": {"metadata_batch_id": "ours"}})
    assert client.batches.retrieve(other.id).id == other.id
    with pytest.raises(APIStatusError):
        client.batches.retrieve(ours.id)
    listed = simulator.arm(
        {"operation": "batches.list", "kind": "unknown_status", "match": {"provider_batch_id": ours.id}}
    )
    assert {batch.id: batch.status for batch in client.batches.list()} == {
        ours.id: "paused",
        other.id: "validating",
    }
    created = simulator.arm({"operation": "batches.create", "kind": "status", "match": {"metadata_batch_id": "x"}})
    create(client, LINES, batch_id="y")
    with pytest.raises(APIStatusError):
        create(client, LINES, batch_id="x")
    simulator.finish_all()
    output = client.batches.retrieve(ours.id).output_file_id
    content = simulator.arm(
        {"operation": "files.content", "kind": "status", "match": {"metadata_batch_id": "ours"}, "code": 404}
    )
    with pytest.raises(NotFoundError):
        download(client, output)
    assert [simulator.fired(number) for number in (fault, listed, created, content)] == [1, 1, 1, 1]


def test_faults_queue_up_skip_and_say_what_is_left(simulator: Simulator, client: OpenAI) -> None:
    first = simulator.arm({"operation": "models.list", "kind": "status", "code": 500, "times": 2, "skip": 1})
    second = simulator.arm({"operation": "*", "kind": "status", "code": 503})
    seen: list[int] = []
    for _ in range(5):
        try:
            client.models.list()
            seen.append(200)
        except APIStatusError as error:
            seen.append(error.status_code)
    assert seen == [503, 500, 500, 200, 200]
    left = {fault["fault_id"]: (fault["fired"], fault["remaining"]) for fault in simulator.faults()}
    assert left == {first: (2, 0), second: (1, 0)}
    unfired = simulator.arm({"operation": "batches.cancel", "kind": "reset_after"})
    assert simulator.fired(unfired) == 0
    simulator.disarm(first)
    assert [fault["fault_id"] for fault in simulator.faults()] == [second, unfired]
    simulator.disarm()
    assert simulator.faults() == []


@pytest.mark.parametrize(
    "fault",
    [
        {"operation": "batches.created", "kind": "status"},
        {"operation": "batches.create", "kind": "explode"},
        {"operation": "batches.create", "kind": "stale_list"},
        {"operation": "batches.create", "kind": "status", "cod": 500},
        {"operation": "batches.create", "kind": "status", "times": 0},
        {"operation": "batches.create", "kind": "status", "code": "x"},
        {"operation": "batches.retrieve", "kind": "regress_status", "to": "completed"},
        {"operation": "batches.create", "kind": "status", "match": {"colour": "red"}},
        {"operation": "line", "kind": "refusal"},
        {"operation": "line", "kind": "refusal", "index": 1, "share": 0.5},
        {"operation": "line", "kind": "status", "index": 1},
        {"operation": "line", "kind": "refusal", "share": 2},
    ],
)
def test_a_fault_that_could_never_fire_is_refused(simulator: Simulator, fault: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        simulator.arm(fault)
    assert simulator.faults() == []


def test_every_operation_can_be_struck(simulator: Simulator, client: OpenAI) -> None:
    """A name in the list of operations that no call has would never fire."""
    file, batch = upload(client, LINES), create(client, LINES)
    calls = {
        "files.create": lambda: upload(client, LINES),
        "files.list": client.files.list,
        "files.retrieve": lambda: client.files.retrieve(file.id),
        "files.content": lambda: client.files.content(file.id),
        "files.delete": lambda: client.files.delete(file.id),
        "batches.create": lambda: create(client, LINES),
        "batches.list": client.batches.list,
        "batches.retrieve": lambda: client.batches.retrieve(batch.id),
        "batches.cancel": lambda: client.batches.cancel(batch.id),
        "responses.create": lambda: client.responses.create(model="gpt-5.2", input="x"),
        "responses.input_tokens": lambda: client.responses.input_tokens.count(model="gpt-5.2", input="x"),
        "models.list": client.models.list,
        "models.retrieve": lambda: client.models.retrieve("gpt-5.2"),
    }
    assert set(calls) == set(OPERATIONS)
    for operation, call in calls.items():
        fault = simulator.arm({"operation": operation, "kind": "status", "code": 418})
        with pytest.raises(APIStatusError) as struck:
            call()
        assert (struck.value.status_code, simulator.fired(fault)) == (418, 1)
        call()


def test_every_kind_of_fault_is_tested_here() -> None:
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123 - its own text
        text = file.read()
    assert [kind for kind in CALL_KINDS if f'"{kind}"' not in text] == []


def test_refused_connections(simulator: Simulator, client: OpenAI) -> None:
    client.models.list()
    simulator.refuse()
    for _ in range(2):
        with pytest.raises(APIConnectionError) as refused:
            client.models.list()
        assert "Connection refused" in str(refused.value.__cause__)
    assert simulator.state()["calls"] == {"models.list": 1}
    simulator.accept()
    client.models.list()


def test_connections_are_refused_for_a_while(simulator: Simulator, client: OpenAI) -> None:
    simulator.refuse(seconds=0.3)
    with pytest.raises(APIConnectionError):
        client.models.list()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            client.models.list()
            break
        except APIConnectionError:
            continue
    assert simulator.state()["calls"] == {"models.list": 1}
