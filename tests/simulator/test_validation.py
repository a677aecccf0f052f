"""Late validation: the upload takes anything; the batch fails, names what is wrong, and bills nothing."""

import json

import pytest
from openai import OpenAI
from openai.types import Batch

from rewrite_batch.simulator.process import Simulator
from tests.simulator.household import completed, create, jsonl, line


def problems(batch: Batch) -> list[tuple[str | None, int | None]]:
    assert batch.status == "failed"
    assert batch.errors is not None
    assert batch.errors.data is not None
    return [(error.code, error.line) for error in batch.errors.data]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", [("empty_file", None)]),
        (jsonl(line(1), b"{nonsense"), [("invalid_json_line", 2)]),
        (jsonl(line(1), b"[1]", b"", line(2)), [("invalid_json_line", 2), ("invalid_json_line", 3)]),
        (jsonl(line(1), b'{"custom_id": NaN}'), [("invalid_json_line", 2)]),
        (b"\xef\xbb\xbf" + jsonl(line(1)), [("invalid_json_line", 1)]),
        (jsonl(line(1), b'"\xff"'), [("invalid_json_line", 2)]),
        (jsonl(b"[" * 100_000), [("invalid_json_line", 1)]),
        (jsonl(line(1), line(2), line(1)), [("duplicate_custom_id", 3)]),
        (jsonl(line(1), line(2, body={"model": "gpt-5.6"})), [("mismatched_model", 2)]),
        (jsonl(line(1), line(2, url="/v1/chat/completions")), [("url_mismatch", 2)]),
        (jsonl(line(1, method="GET")), [("invalid_method", 1)]),
        (jsonl(line(1) | {"custom_id": None}), [("missing_required_parameter", 1)]),
        (
            jsonl({"custom_id": "a", "method": "POST", "url": "/v1/responses"}),
            [("missing_required_parameter", 1)],
        ),
        (
            jsonl(line(1), line(1, url="/x", body={"model": "other"})),
            [("duplicate_custom_id", 2), ("url_mismatch", 2), ("mismatched_model", 2)],
        ),
    ],
)
def test_a_bad_file_fails_its_batch_and_names_the_line(
    simulator: Simulator, client: OpenAI, content: bytes, expected: list[tuple[str, int | None]]
) -> None:
    batch = completed(simulator, client, content)
    assert problems(batch) == expected
    assert (batch.output_file_id, batch.error_file_id, simulator.ledger()) == (None, None, [])


def test_creating_looks_at_nothing_yet(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, b"{nonsense")
    assert (batch.status, batch.errors) == ("validating", None)
    simulator.advance(4)
    assert client.batches.retrieve(batch.id).status == "validating"
    simulator.advance(1)
    assert client.batches.retrieve(batch.id).status == "failed"


def test_an_unknown_input_file_is_accepted_and_fails_later(simulator: Simulator, client: OpenAI) -> None:
    batch = client.batches.create(input_file_id="file-unknown", endpoint="/v1/responses", completion_window="24h")
    assert batch.status == "validating"
    simulator.advance(5)
    assert problems(client.batches.retrieve(batch.id)) == [("invalid_input_file", None)]


def test_a_line_over_the_limit_of_a_file_is_one_too_many(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(max_lines=3)
    assert problems(completed(simulator, client, jsonl(*map(line, range(4))))) == [("too_many_tasks", None)]
    assert completed(simulator, client, jsonl(*map(line, range(3)))).status == "completed"


def test_unless_told_otherwise_the_limits_are_the_providers(simulator: Simulator) -> None:
    limits = {
        "max_lines": 50_000,
        "max_file_bytes": 200_000_000,
        "creations_an_hour": 2_000,
        "window_s": 24 * 3600,
        "retention_s": 30 * 24 * 3600,
    }
    assert {name: simulator.settings()[name] for name in limits} == limits


def test_a_model_that_does_not_exist_fails_the_batch(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(missing_models=["gpt-5.2"])
    assert problems(completed(simulator, client, jsonl(line(1)))) == [("model_not_found", 1)]


def test_only_so_many_errors_are_listed(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(max_listed_errors=5)
    assert len(problems(completed(simulator, client, b"x\n" * 20))) == 5


def test_line_separators_inside_a_text_do_not_split_a_line(simulator: Simulator, client: OpenAI) -> None:
    entry = line(1, body={"input": "a\u2028b\u2029c\u0085d"})
    raw = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
    assert completed(simulator, client, raw).status == "completed"
