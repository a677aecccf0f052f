"""Lines in every shape that was seen: what the model answered, or why that is none."""

import json
from typing import Any

import pytest

from rewrite_batch.collect.parse import Row, Tokens, parse
from rewrite_batch.outcomes import BY_REASON
from tests.unit.collect_lines import TEXT, USAGE, answer, http_failure, line, message, never_ran, raw

REASONING: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": []}


def parsed(document: dict[str, Any]) -> Row:
    return parse(raw(document))


def test_a_good_line_gives_its_answer_its_ids_its_own_time_and_its_usage() -> None:
    row = parsed(line())
    assert (row.reason, row.rewritten_text, row.output_language) == ("", TEXT, "es")
    assert (row.status_code, row.request_id, row.response_id) == (200, "req_1", "resp_1")
    assert (row.model, row.answered_at) == ("gpt-5.2-2025-12-11", 1_794_980_000)
    assert row.tokens == Tokens(input=1000, cached=300, cache_write=200, output=50, reasoning=20)


@pytest.mark.parametrize(
    "output",
    [
        [message(answer())],
        [REASONING, REASONING, message(answer())],
        [message(""), message(answer())],
        [message(answer()), message("")],
        [message("", answer())],
        [message(answer()[:20], answer()[20:])],
        [{"type": "web_search_call", "content": "a string"}, message(answer())],
        [{"type": "thing", "content": {"an": "object"}}, message(answer())],
        [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}, "odd"]}, message(answer())],
    ],
)
def test_the_answer_is_found_among_reasoning_several_messages_and_empty_ones(output: list[Any]) -> None:
    assert parsed(line(output=output)).rewritten_text == TEXT


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "truncated"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "new_one"}}, "incomplete"),
        ({"status": "incomplete", "incomplete_details": None}, "incomplete"),
        ({"status": "in_progress"}, "incomplete"),
        ({"status": "failed", "error": {"code": "server_error"}}, "response_failed"),
        ({"status": "failed", "error": None}, "response_failed"),
        ({"status": "failed", "error": {"code": "invalid_prompt"}}, "response_refused"),
        ({"status": "cancelled"}, "response_failed"),
        ({"output": []}, "no_answer"),
        ({"output": None}, "no_answer"),
        ({"output": [REASONING]}, "no_answer"),
        ({"output": [message("")]}, "no_answer"),
        ({"output": [message(answer(), answer())]}, "schema"),
        ({"output": [message(answer()[:-2])]}, "schema"),
        ({"output": [message(answer(""))]}, "schema"),
        ({"output": [message(answer(" \n "))]}, "schema"),
        ({"output": [message(answer(language="klingon"))]}, "schema"),
        ({"output": [message(answer(language=""))]}, "schema"),
        ({"output": [message(json.dumps({"rewritten_text": "a", "output_language": "es", "more": 1}))]}, "schema"),
        ({"output": [message('{"rewritten_text": "a\\u0000b", "output_language": "es"}')]}, "unstorable"),
        ({"output": [message('{"rewritten_text": "a\\ud800b", "output_language": "es"}')]}, "schema"),
    ],
)
def test_a_200_without_a_usable_answer_says_why_and_is_still_on_the_bill(changes: dict[str, Any], reason: str) -> None:
    row = parsed(line(**changes))
    assert (row.reason, row.rewritten_text) == (reason, None)
    assert BY_REASON[row.reason].kind in {"permanent", "transient"}
    assert row.tokens is not None


def test_a_refusal_anywhere_is_a_refusal_whatever_else_was_written() -> None:
    refused = message(answer())
    refused["content"].append({"type": "refusal", "refusal": "I cannot help with that"})
    assert parsed(line(output=[refused])).reason == "refusal"


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (0, None, "no_status"),
        (201, None, "unexpected_status"),
        (302, None, "unexpected_status"),
        (399, None, "unexpected_status"),
        (400, "invalid_prompt", "bad_request"),
        (401, None, "unauthorized"),
        (403, None, "forbidden"),
        (403, "insufficient_quota", "insufficient_quota"),
        (404, "model_not_found", "not_found"),
        (408, None, "provider_timeout"),
        (409, None, "provider_conflict"),
        (413, None, "too_large"),
        (418, None, "unexpected_status"),
        (422, None, "unprocessable"),
        (429, "rate_limit_exceeded", "rate_limited"),
        (429, "insufficient_quota", "insufficient_quota"),
        (500, None, "provider_error"),
        (503, None, "provider_error"),
        (599, None, "provider_error"),
        (600, None, "unexpected_status"),
        (-1, None, "unexpected_status"),
    ],
)
def test_only_the_status_200_is_an_answer_and_each_other_has_its_class(status: int, code: str, reason: str) -> None:
    assert parsed(http_failure(0, status, code)).reason == reason
    # Even with a perfect body: it is the status that says whether it is one.
    assert parsed(line(http=status)).reason not in {"", "kept"}


def test_what_the_provider_says_in_words_goes_nowhere() -> None:
    failure = http_failure(0, 400, "Say these words to everybody")
    failure["response"]["request_id"] = "a secret in words"
    assert "words" not in repr(parsed(failure))
    assert parsed(failure).request_id is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("batch_expired", "batch_expired"),
        ("batch_cancelled", "batch_cancelled"),
        ("batch_failed", "batch_failed"),
        ("insufficient_quota", "insufficient_quota"),
        ("something_new", "never_ran"),
        (None, "never_ran"),
    ],
)
def test_a_line_that_never_ran_has_no_bill(code: str, reason: str) -> None:
    row = parsed(never_ran(0, code))
    assert (row.reason, row.tokens, row.status_code) == (reason, None, None)


def test_usage_without_its_details_counts_them_as_nothing() -> None:
    row = parsed(line(usage={"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}))
    assert row.tokens == Tokens(7, 0, 0, 3, 0)
    assert row.reason == ""


@pytest.mark.parametrize("usage", [None, {}, {**USAGE, "input_tokens": -1}, {**USAGE, "output_tokens": 1 << 60}])
def test_usage_that_is_missing_or_nonsense_is_no_bill_and_the_answer_stays(usage: Any) -> None:
    row = parsed(line(usage=usage))
    assert (row.tokens, row.reason) == (None, "")


def test_half_a_surrogate_pair_in_the_line_itself_fails_the_item_and_its_usage_is_read() -> None:
    row = parse(raw(line()).replace("Podríamos".encode(), b"\\ud800"))
    assert row.reason in {"schema", "unstorable"}
    assert row.tokens is not None


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\u0085", "\x0b", "\x1c"])
def test_other_line_ends_inside_a_text_are_text(odd: str) -> None:
    row = parsed(line(output=[message(answer(f"a{odd}b"))]))
    assert row.rewritten_text == f"a{odd}b"


@pytest.mark.parametrize(
    "document",
    [
        {**line(), "response": "a string"},
        {**line(), "response": {"status_code": "200"}},
        {**line(), "response": {"status_code": 200, "body": {**line()["response"]["body"], "output": "text"}}},
        [],
        {**line(), "error": [1], "response": None},
    ],
)
def test_a_shape_that_nobody_knows_is_unreadable_and_no_exception(document: Any) -> None:
    assert parse(raw(document)).reason == "unreadable"


def test_absurd_nesting_is_unreadable_and_no_exception() -> None:
    deep = b'{"custom_id":"x","response":{"status_code":200,"body":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_002
    assert parse(deep).reason == "unreadable"


@pytest.mark.parametrize("text", ["nonsense", "", "words and more words"])
def test_a_body_that_is_a_string_is_no_answer(text: str) -> None:
    document = line()
    document["response"]["body"] = text
    assert parsed(document).reason == "no_answer"
