"""One line in, an item or a refusal with its place out; never its words."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.enqueue.check import MAX_LINE_BYTES, Checked, Refusal, check_line
from rewrite_batch.enqueue.run import read_lines
from tests.items import item_document

CANARY = "zanahoria-canary-7731"


def refusal(line: bytes) -> Refusal:
    checked = check_line(4, line)
    assert isinstance(checked, Refusal)
    assert checked.line == 4
    return checked


def changed(path: str, value: Any) -> bytes:
    document = item_document(text=CANARY)
    *parents, last = path.split(".")
    place = document
    for parent in parents:
        place = place[parent]
    place[last] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("rewrite_request.intent", CANARY, "rewrite_request.intent"),
        ("rewrite_request.topics", [], "rewrite_request.topics"),
        ("rewrite_request.topics", ["noise", CANARY], "rewrite_request.topics.1"),
        ("rewrite_request.lane", "same_language", "rewrite_request.lane"),
        ("rewrite_request.source_locale", "unknown", "rewrite_request.source_locale"),
        ("rewrite_request.home_id", CANARY, "rewrite_request.home_id"),
        ("rewrite_request.created_at", CANARY, "rewrite_request.created_at"),
        ("rewrite_request.model", "gpt-5.2", "rewrite_request.model"),
        ("rewrite_request." + CANARY, 1, "rewrite_request.?"),
        (
            "rewrite_request.context_pack.instructions.avoid",
            [],
            "rewrite_request.context_pack.instructions.avoid",
        ),
        (
            "rewrite_request.context_pack.target_language",
            "fr",
            "rewrite_request.context_pack.target_language",
        ),
        ("routing_decision.policy_version", "v2", "routing_decision.policy_version"),
        ("routing_decision.base_url", "ftp://x", "routing_decision.base_url"),
        ("max_attempts", 0, "max_attempts"),
        ("max_attempts", True, "max_attempts"),
        ("preference_payload", {"a": ["\x00"]}, "preference_payload"),
        ("not_before_at", "tomorrow", "not_before_at"),
    ],
)
def test_a_refusal_names_the_field_and_never_the_value(path: str, value: Any, field: str) -> None:
    refused = refusal(changed(path, value))
    assert refused.field == field
    assert CANARY not in str(refused)
    assert refused.reason


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense " + CANARY.encode(),
        b"[]",
        b"null",
        b'"' + CANARY.encode() + b'"',
        b"{}",
        b'{"rewrite_request": \xff\xfe}',
        b'{"a": "\\ud800"}',
        b'{"a": "\x01"}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"\xef\xbb\xbf{}",
        b"x" * (MAX_LINE_BYTES + 1),
    ],
)
def test_what_is_no_item_is_a_refusal_and_not_an_exception(line: bytes) -> None:
    assert CANARY not in str(refusal(line))


def test_a_good_line_leaves_normalised() -> None:
    document = item_document(surface="weekly_harmony", source_locale="en-NZ", target_locale="es-MX")
    document["rewrite_request"]["lane"] = "cross_language"
    checked = check_line(1, json.dumps(document).encode())
    assert isinstance(checked, Checked)
    request = json.loads(checked.document)["rewrite_request"]
    assert (request["surface"], request["source_locale"], request["target_locale"]) == (
        "weekly_feedback",
        "en",
        "es",
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_a_refusal(line: bytes) -> None:
    assert isinstance(check_line(1, line), Refusal)


@given(st.lists(st.binary(max_size=50).filter(lambda b: b"\n" not in b)))
def test_lines_split_at_newlines_alone_and_keep_their_numbers(lines: list[bytes]) -> None:
    read = list(read_lines(io.BytesIO(b"".join(line + b"\n" for line in lines))))
    assert [number for number, _ in read] == list(range(1, len(lines) + 1))
    assert [line for _, line in read][1:] == [line.rstrip(b"\r") for line in lines][1:]


def test_separators_inside_a_text_do_not_split_a_line() -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive"
    line = json.dumps(item_document(text=text), ensure_ascii=False).encode()
    assert len(list(read_lines(io.BytesIO(line + b"\n" + line)))) == 2
    assert isinstance(check_line(1, line), Checked)


def test_a_line_that_is_too_long_is_one_refusal_and_the_next_line_goes_on() -> None:
    source = io.BytesIO(b"x" * (3 * MAX_LINE_BYTES + 10) + b"\n{}\n")
    lines = list(read_lines(source))
    assert [number for number, _ in lines] == [1, 2]
    assert "longer than" in str(refusal(lines[0][1]))
    assert lines[1][1] == b"{}"
    exact = io.BytesIO(b"y" * (MAX_LINE_BYTES + 1) + b"\n{}\n")
    assert [line[:1] for _, line in read_lines(exact)] == [b"y", b"{"]
