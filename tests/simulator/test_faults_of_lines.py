"""Every fault of a result line: what the line says, how it is written, and that it says it fired."""

import json
from typing import Any

import pytest
from openai import OpenAI
from openai.types import Batch

from rewrite_batch.simulator.fault_kinds import LINE_CONTENT_KINDS, LINE_SHAPE_KINDS
from rewrite_batch.simulator.model import BAD_CLASSES
from rewrite_batch.simulator.process import Simulator
from tests.simulator.household import completed, create, download, jsonl, line, results, rewritten, said

THREE = jsonl(line(0), line(1), line(2))


def struck(simulator: Simulator, client: OpenAI, kind: str, **more: Any) -> tuple[Batch, list[bytes]]:
    """A batch of three lines whose line 1 met the fault, and its raw output without the last newline."""
    fault = simulator.arm({"operation": "line", "index": 1, "kind": kind, **more})
    batch = completed(simulator, client, THREE)
    assert simulator.fired(fault) == 1
    return batch, download(client, batch.output_file_id).removesuffix(b"\n").split(b"\n")


def about(lines: list[bytes], custom_id: str = "line_1") -> list[bytes]:
    return [raw for raw in lines if f'"{custom_id}"'.encode() in raw]


def test_an_http_status_of_choice(simulator: Simulator, client: OpenAI) -> None:
    batch, _ = struck(simulator, client, "http_status", code=503, error_code="overloaded")
    (entry,) = results(client, batch).errors
    assert (entry["custom_id"], entry["response"]["status_code"], entry["error"]) == ("line_1", 503, None)
    assert entry["response"]["body"]["error"]["code"] == "overloaded"


def test_status_zero_sits_in_the_output_of_a_batch_without_failures(simulator: Simulator, client: OpenAI) -> None:
    batch, _ = struck(simulator, client, "status_zero")
    assert batch.request_counts is not None
    assert (batch.request_counts.completed, batch.request_counts.failed, batch.error_file_id) == (3, 0, None)
    assert results(client, batch).by_id()["line_1"]["response"]["status_code"] == 0


def test_a_line_that_never_ran(simulator: Simulator, client: OpenAI) -> None:
    batch, _ = struck(simulator, client, "never_ran", error_code="batch_cancelled")
    (entry,) = results(client, batch).errors
    assert (entry["response"], entry["error"]["code"]) == (None, "batch_cancelled")


@pytest.mark.parametrize(
    ("kind", "character"),
    [("nul", "\x00"), ("lone_surrogate", "\ud800"), ("line_separator", "\u2028\u2029\x85")],
)
@pytest.mark.parametrize("level", ["inner", "outer"])
def test_odd_characters_in_the_rewritten_text(
    simulator: Simulator, client: OpenAI, kind: str, character: str, level: str
) -> None:
    _, lines = struck(simulator, client, kind, level=level)
    assert len(lines) == 3
    (raw,) = about(lines)
    text = said(json.loads(raw))
    if (kind, level) == ("nul", "outer"):
        assert character in text
    else:
        assert json.loads(text)["rewritten_text"].startswith(character)


def test_awkward_shapes_on_demand(simulator: Simulator, client: OpenAI) -> None:
    batch, _ = struck(simulator, client, "split_message")
    assert len(results(client, batch).by_id()["line_1"]["response"]["body"]["output"]) == 3
    simulator.disarm()
    batch, _ = struck(simulator, client, "legacy_usage")
    found = results(client, batch).by_id()
    assert "input_tokens_details" not in found["line_1"]["response"]["body"]["usage"]
    assert "input_tokens_details" in found["line_0"]["response"]["body"]["usage"]


def test_a_fault_can_insist_on_a_good_answer(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(bad_shares={"refusal": 1.0})
    batch, _ = struck(simulator, client, "good")
    found = results(client, batch).by_id()
    assert rewritten(found["line_1"])["output_language"] == "es"
    assert said(found["line_0"]) == ""


def test_a_line_twice(simulator: Simulator, client: OpenAI) -> None:
    _, lines = struck(simulator, client, "duplicate")
    first, second = about(lines)
    assert (first, len(lines)) == (second, 4)


def test_a_line_twice_with_different_contents(simulator: Simulator, client: OpenAI) -> None:
    batch, lines = struck(simulator, client, "duplicate_different")
    first, second = map(json.loads, about(lines))
    assert rewritten(first)["rewritten_text"] != rewritten(second)["rewritten_text"]
    assert len(simulator.ledger(batch.id)) == 3


def test_a_line_that_is_missing_though_it_was_billed(simulator: Simulator, client: OpenAI) -> None:
    batch, lines = struck(simulator, client, "missing")
    assert (about(lines), len(lines)) == ([], 2)
    assert "line_1" in {row["custom_id"] for row in simulator.ledger(batch.id)}


def test_a_line_that_is_not_json(simulator: Simulator, client: OpenAI) -> None:
    _, lines = struck(simulator, client, "malformed_line")
    with pytest.raises(json.JSONDecodeError):
        json.loads(about(lines)[0])
    assert len(lines) == 3


@pytest.mark.parametrize(("kind", "own"), [("unknown_custom_id", 0), ("extra_line", 1)])
def test_a_line_that_nobody_sent(simulator: Simulator, client: OpenAI, kind: str, own: int) -> None:
    _, lines = struck(simulator, client, kind)
    strangers = [raw for raw in lines if json.loads(raw)["custom_id"].startswith("nobody_")]
    assert (len(strangers), len(about(lines)), len(lines)) == (1, own, 3 + own)


def test_bytes_that_do_not_belong_in_a_line(simulator: Simulator, client: OpenAI) -> None:
    _, lines = struck(simulator, client, "bom")
    assert about(lines)[0].startswith(b"\xef\xbb\xbf{")
    simulator.disarm()
    _, lines = struck(simulator, client, "raw_nul")
    assert b"\x00" in about(lines)[0]
    simulator.disarm()
    _, lines = struck(simulator, client, "crlf")
    assert about(lines)[0].endswith(b"}\r")
    simulator.disarm()
    _, lines = struck(simulator, client, "blank_line")
    assert len([raw for raw in lines if raw]) == 3
    assert b"\n\n" in b"\n".join([*lines, b""])


def test_content_and_shape_can_meet_on_one_line(simulator: Simulator, client: OpenAI) -> None:
    simulator.arm({"operation": "line", "index": 1, "kind": "refusal"})
    _, lines = struck(simulator, client, "duplicate")
    refusals = [json.loads(raw)["response"]["body"]["output"][-1]["content"][0]["type"] for raw in about(lines)]
    assert refusals == ["refusal", "refusal"]


def test_lines_are_chosen_by_id_by_share_and_by_batch(simulator: Simulator, client: OpenAI) -> None:
    named = simulator.arm({"operation": "line", "custom_id": "line_7", "kind": "duplicate"})
    some = simulator.arm({"operation": "line", "share": 0.25, "kind": "http_500", "match": {"metadata_batch_id": "a"}})
    capped = simulator.arm({"operation": "line", "share": 1, "kind": "echo", "times": 3})
    content = jsonl(*(line(number) for number in range(200)))
    first, other = create(client, content, batch_id="a"), create(client, content, batch_id="b")
    simulator.finish_all()
    found = [results(client, client.batches.retrieve(batch.id)) for batch in (first, other)]
    assert 20 < len(found[0].errors) < 90
    assert simulator.fired(some) == len(found[0].errors)
    assert found[1].errors == []
    assert (simulator.fired(named), simulator.fired(capped)) == (1, 3)
    sent = [entry["custom_id"] for part in found for entry in part.output + part.errors]
    assert (len(sent), sent.count("line_7")) == (401, 3)


def test_a_fault_for_a_line_that_never_comes_says_so(simulator: Simulator, client: OpenAI) -> None:
    fault = simulator.arm({"operation": "line", "index": 99, "kind": "missing"})
    completed(simulator, client, THREE)
    assert simulator.fired(fault) == 0


def test_every_kind_of_fault_is_tested_here() -> None:
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123 - its own text
        text = file.read()
    kinds = [kind for kind in LINE_CONTENT_KINDS + LINE_SHAPE_KINDS if kind not in BAD_CLASSES]
    assert [kind for kind in kinds if f'"{kind}"' not in text] == []
