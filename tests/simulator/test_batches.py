"""The life of a batch: creating, waiting, ending well, expiring and being cancelled, and what is billed."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai import BadRequestError, ConflictError, NotFoundError, OpenAI, RateLimitError

from rewrite_batch.simulator.process import Simulator, running_simulator
from tests.simulator.household import completed, create, download, jsonl, line, results, upload

DAY = 24 * 3600
OPEN_SCHEMA: dict[str, Any] = {
    "type": "json_schema",
    "name": "x",
    "strict": True,
    "schema": {"properties": {"a": {"type": "string"}}},
}
TEN_LINES = jsonl(*(line(number) for number in range(10)))


def test_a_batch_lives_by_the_virtual_clock(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, TEN_LINES, batch_id="b-1", environment="test")
    assert (batch.status, batch.metadata) == ("validating", {"batch_id": "b-1", "environment": "test"})
    history: list[tuple[str, int]] = []
    for seconds in (4, 1, 30, 29, 1, 4, 1):
        simulator.advance(seconds)
        now = client.batches.retrieve(batch.id)
        assert now.request_counts is not None
        history.append((now.status, now.request_counts.completed))
    assert history == [
        ("validating", 0),
        ("in_progress", 0),
        ("in_progress", 5),
        ("in_progress", 9),
        ("finalizing", 10),
        ("finalizing", 10),
        ("completed", 10),
    ]
    ended = client.batches.retrieve(batch.id)
    start = batch.created_at
    times = (ended.in_progress_at, ended.finalizing_at, ended.completed_at, ended.expires_at)
    assert times == (start + 5, start + 65, start + 70, start + DAY)


def test_a_batch_lives_by_a_scaled_clock_that_nobody_pushes(tmp_path: Path) -> None:
    """A day in a few seconds, as when somebody tries things by hand."""
    with (
        running_simulator(tmp_path / "state", "sk", time_scale=200) as running,
        OpenAI(base_url=running.base_url, api_key="sk") as client,
    ):
        batch, seen = create(client, TEN_LINES), ["validating"]
        while seen[-1] != "completed":
            batch = client.batches.retrieve(batch.id)
            if batch.status != seen[-1]:
                seen.append(batch.status)
        assert [status for status in ("validating", "in_progress", "finalizing", "completed") if status in seen] == seen
        assert batch.completed_at == batch.created_at + 70
        assert len(results(client, batch).output) == 10


def test_results_come_in_another_order_and_all_of_them(simulator: Simulator, client: OpenAI) -> None:
    batch = completed(simulator, client, TEN_LINES)
    order = [entry["custom_id"] for entry in results(client, batch).output]
    sent = [f"line_{number}" for number in range(10)]
    assert sorted(order) == sent
    assert order != sent
    assert batch.error_file_id is None


def test_a_batch_whose_lines_all_fail_has_no_output_file(simulator: Simulator, client: OpenAI) -> None:
    broken = [line(number, body={"max_output_tokens": 15}) for number in range(9)]
    batch = completed(simulator, client, jsonl(*broken))
    assert (batch.status, batch.output_file_id) == ("completed", None)
    failures = results(client, batch).errors
    assert {(entry["response"]["status_code"], entry["error"]) for entry in failures} == {(400, None)}
    assert [entry["custom_id"] for entry in failures] != [entry["custom_id"] for entry in broken]
    assert len(failures) == 9
    assert failures[0]["response"]["body"]["error"]["code"] == "integer_below_min_value"
    assert simulator.ledger() == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"model": None}, "missing_required_parameter"),
        ({"input": []}, "missing_required_parameter"),
        ({"invented": 1}, "unknown_parameter"),
        ({"store": "no"}, "invalid_type"),
        ({"text": {"format": OPEN_SCHEMA}}, "invalid_json_schema"),
    ],
)
def test_a_body_that_could_not_run_fails_alone(
    simulator: Simulator, client: OpenAI, change: dict[str, object], code: str
) -> None:
    batch = completed(simulator, client, jsonl(line(0), line(1, body=change)))
    found = results(client, batch)
    assert [entry["custom_id"] for entry in found.output] == ["line_0"]
    assert found.errors[0]["response"]["body"]["error"]["code"] == code


def test_an_expired_batch_keeps_and_bills_what_was_done(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(in_progress_s=2 * (DAY - 5))
    batch = create(client, TEN_LINES)
    simulator.advance(DAY - 1)
    assert client.batches.retrieve(batch.id).status == "in_progress"
    simulator.advance(1)
    batch = client.batches.retrieve(batch.id)
    assert (batch.status, batch.expired_at) == ("expired", batch.expires_at)
    _assert_half_done(simulator, client, batch.id, "batch_expired")


def test_a_cancelled_batch_keeps_and_bills_what_was_done(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, TEN_LINES)
    simulator.advance(5 + 30)
    assert client.batches.cancel(batch.id).status == "cancelling"
    simulator.advance(4)
    assert client.batches.retrieve(batch.id).status == "cancelling"
    assert client.batches.cancel(batch.id).status == "cancelling"
    simulator.advance(1)
    assert client.batches.retrieve(batch.id).status == "cancelled"
    _assert_half_done(simulator, client, batch.id, "batch_cancelled")
    with pytest.raises(ConflictError):
        client.batches.cancel(batch.id)


def _assert_half_done(simulator: Simulator, client: OpenAI, batch_id: str, code: str) -> None:
    batch = client.batches.retrieve(batch_id)
    found = results(client, batch)
    assert (len(found.output), len(found.errors)) == (5, 5)
    assert len(found.by_id()) == 10
    assert {(entry["response"], entry["error"]["code"]) for entry in found.errors} == {(None, code)}
    billed = [row["custom_id"] for row in simulator.ledger(batch_id)]
    assert sorted(billed) == sorted(entry["custom_id"] for entry in found.output)
    assert batch.request_counts is not None
    assert (batch.request_counts.completed, batch.request_counts.total) == (5, 10)


def test_cancelling_before_validation_runs_nothing(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, TEN_LINES)
    client.batches.cancel(batch.id)
    simulator.advance(100)
    batch = client.batches.retrieve(batch.id)
    assert (batch.status, batch.output_file_id, batch.error_file_id) == ("cancelled", None, None)
    assert simulator.ledger() == []


@pytest.mark.parametrize("status", ["expired", "cancelled", "completed", "failed"])
def test_the_provider_can_end_a_batch_by_itself(simulator: Simulator, client: OpenAI, status: str) -> None:
    batch = create(client, TEN_LINES)
    simulator.end_batch(batch.id, status, share=0.3)
    ended = client.batches.retrieve(batch.id)
    assert ended.status == status
    assert len(simulator.ledger(batch.id)) == 3
    assert len(results(client, ended).by_id()) == 10


def test_the_provider_can_fail_a_batch_before_anything_ran(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, TEN_LINES)
    simulator.end_batch(batch.id, "failed", errors=[{"code": "odd", "line": 2, "message": "m", "param": None}])
    ended = client.batches.retrieve(batch.id)
    assert ended.errors is not None
    assert [(error.code, error.line) for error in ended.errors.data or []] == [("odd", 2)]
    assert (ended.output_file_id, simulator.ledger()) == (None, [])


def test_lists_are_paged_newest_first(simulator: Simulator, client: OpenAI) -> None:
    ids: list[str] = []
    for _ in range(5):
        ids.append(create(client, TEN_LINES).id)
        simulator.advance(1)
    assert [batch.id for batch in client.batches.list(limit=2)] == ids[::-1]
    page = client.batches.list(limit=2, after=ids[3])
    assert ([batch.id for batch in page.data], page.has_more) == ([ids[2], ids[1]], True)
    assert [client.batches.list(limit=2, after=after).has_more for after in (ids[2], ids[1])] == [False, False]
    for limit in (0, 101):
        with pytest.raises(BadRequestError):
            client.batches.list(limit=limit)


def test_an_unknown_batch_is_a_404_and_an_old_one_vanishes(simulator: Simulator, client: OpenAI) -> None:
    with pytest.raises(NotFoundError):
        client.batches.retrieve("batch_nothing")
    batch = completed(simulator, client, TEN_LINES)
    simulator.advance(30 * DAY)
    with pytest.raises(NotFoundError):
        client.batches.retrieve(batch.id)
    assert list(client.batches.list()) == []


def test_result_files_expire_counted_from_their_own_creation(simulator: Simulator, client: OpenAI) -> None:
    batch = client.batches.create(
        input_file_id=upload(client, TEN_LINES).id,
        endpoint="/v1/responses",
        completion_window="24h",
        output_expires_after={"anchor": "created_at", "seconds": 3_600},
    )
    simulator.advance(3_600)
    ended = client.batches.retrieve(batch.id)
    assert ended.output_file_id is not None
    assert download(client, ended.output_file_id)
    simulator.advance(70)
    with pytest.raises(NotFoundError):
        client.files.content(ended.output_file_id)


@pytest.mark.parametrize(
    "metadata",
    [{str(number): "x" for number in range(17)}, {"k" * 65: "x"}, {"k": "v" * 513}],
)
def test_metadata_over_the_limits_is_refused(client: OpenAI, metadata: dict[str, str]) -> None:
    file = upload(client, TEN_LINES)
    with pytest.raises(BadRequestError) as refused:
        client.batches.create(
            input_file_id=file.id, endpoint="/v1/responses", completion_window="24h", metadata=metadata
        )
    assert refused.value.param == "metadata"
    create(client, TEN_LINES, **{str(number): "v" * 512 for number in range(15)}, **{"k" * 64: "x"})


def test_creations_are_limited_by_the_hour(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(creations_an_hour=2)
    create(client, TEN_LINES)
    create(client, TEN_LINES)
    with pytest.raises(RateLimitError) as limited:
        create(client, TEN_LINES)
    assert limited.value.code == "rate_limit_exceeded"
    simulator.advance(3_601)
    create(client, TEN_LINES)


def test_enqueued_prompt_tokens_are_limited_by_model(simulator: Simulator, client: OpenAI) -> None:
    first = completed(simulator, client, TEN_LINES)
    assert first.usage is not None
    simulator.settings(enqueued_token_limits={"gpt-5.2": first.usage.input_tokens})
    fits, waits = create(client, TEN_LINES), create(client, TEN_LINES)
    other = create(client, jsonl(*(line(number, body={"model": "gpt-5.6"}) for number in range(10))))
    simulator.advance(10)
    assert client.batches.retrieve(fits.id).status == "in_progress"
    assert client.batches.retrieve(other.id).status == "in_progress"
    failed = client.batches.retrieve(waits.id)
    assert failed.errors is not None
    assert failed.errors.data is not None
    assert (failed.status, failed.errors.data[0].code) == ("failed", "token_limit_exceeded")
    assert f"Limit: {first.usage.input_tokens:,} enqueued tokens" in (failed.errors.data[0].message or "")
    simulator.advance(100)
    assert completed(simulator, client, TEN_LINES).status == "completed"


def test_an_exhausted_quota_is_a_429_of_its_own(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(quota_exhausted_models=["gpt-5.2"])
    with pytest.raises(RateLimitError) as exhausted:
        create(client, TEN_LINES)
    assert exhausted.value.code == "insufficient_quota"
    create(client, jsonl(line(1, body={"model": "gpt-5.6"})))
    with pytest.raises(RateLimitError):
        client.responses.create(model="gpt-5.2", input="x")


def test_a_running_batch_outlives_its_deleted_input(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, TEN_LINES)
    simulator.advance(10)
    client.files.delete(batch.input_file_id)
    simulator.advance(100)
    assert len(results(client, client.batches.retrieve(batch.id)).output) == 10


def test_the_same_seed_and_calls_give_the_same_bytes(simulator: Simulator, client: OpenAI) -> None:
    """Two batches of one file have the same answers; their ids and their order differ."""
    simulator.settings(bad_shares={"refusal": 0.3, "truncated": 0.3})
    batches = [completed(simulator, client, TEN_LINES) for _ in range(2)]
    found = [results(client, batch).by_id() for batch in batches]
    for custom_id, entry in found[0].items():
        again = found[1][custom_id]
        assert entry["response"]["body"]["id"] != again["response"]["body"]["id"]
        assert _contents(entry) == _contents(again)


def _contents(entry: dict[str, dict[str, dict[str, list[dict[str, object]]]]]) -> str:
    output = entry["response"]["body"]["output"]
    return json.dumps([item.get("content") for item in output])
