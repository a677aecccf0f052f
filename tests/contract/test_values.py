"""Ids, times and texts: which spellings are taken. Model and schema share helpers and could be wrong together,
so the verdict itself is written down here."""

import json

import pytest
from pydantic import ValidationError

from rewrite_batch.contracts.schemas import validator
from rewrite_batch.contracts.shapes import EnqueueItemV1
from tests.contract.documents import full_documents
from tests.contract.mutations import UUID, Path, put

ID: Path = ("rewrite_request", "home_id")
TIME: Path = ("not_before_at",)
TEXT: Path = ("rewrite_request", "original_text")
NOTE: Path = ("rewrite_request", "context_pack", "safety_notes", 0)
PAYLOAD: Path = ("preference_payload",)
URL: Path = ("routing_decision", "base_url")


def verdicts(line: str) -> set[bool]:
    """Of the model and of the schema."""
    taken = validator("EnqueueItemV1").is_valid(json.loads(line))  # pyright: ignore[reportUnknownMemberType]  jsonschema's stubs
    try:
        EnqueueItemV1.from_json(line)
    except ValidationError:
        return {False, taken}
    return {True, taken}


def line_with(path: Path, value: object) -> str:
    return json.dumps(put(full_documents()["EnqueueItemV1"], path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (ID, UUID),
        (ID, UUID.upper()),
        (TIME, None),
        (TIME, "2026-11-18T09:30:00Z"),
        (TIME, "2024-02-29T23:59:59.123456-09:30"),
        (TEXT, "x" * 20_000),
        (TEXT, "😀\n"),
        (NOTE, "x" * 500),
        (PAYLOAD, {}),
        (PAYLOAD, {"": [None, 1.5, {"a": "ä"}]}),
        (URL, None),
        (URL, "http://127.0.0.1:8080/v1"),
    ],
)
def test_a_value_in_its_one_spelling_is_taken(path: Path, value: object) -> None:
    assert verdicts(line_with(path, value)) == {True}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((ID, value) for value in [None, 1, "", f"{{{UUID}}}", f"urn:uuid:{UUID}", UUID.replace("-", "")]),
        *((TIME, value) for value in ["", 1763458200, 1763458200.0, "1763458200", "2026-11-18"]),
        *((TIME, f"2026-{rest}") for rest in ["11-18T09:30:00", "11-18T24:00:00Z", "02-30T09:30:00Z"]),
        *((TIME, f"2026-11-18T09:30:00{end}") for end in ["z", "+0100", "+16:00", "+24:00", ".1234567Z", "Z\n"]),
        *((TIME, f"{year}-01-01T00:00:00Z") for year in ["0000", "0001", "1899", "3000", "9999"]),
        *((TEXT, value) for value in [None, "", " \n\t", "\u00a0\u2003", "a\x00", "\ud800", "x" * 20_001]),
        *((NOTE, value) for value in [None, "", "  ", "a\x00", "a\udc00", "x" * 501]),
        *((PAYLOAD, value) for value in [None, "a", {"a": "\x00"}, {"\x00": 1}, {"a": [{"b": "\ud800"}]}]),
        *((PAYLOAD, {"a": [value]}) for value in [float("nan"), float("inf"), float("-inf")]),
        *((URL, value) for value in ["", "https://", "https://me:secret@host", "https://a b", "file:///a"]),
    ],
)
def test_anything_else_is_refused(path: Path, value: object) -> None:
    assert verdicts(line_with(path, value)) == {False}


def test_a_number_too_large_for_a_float_is_refused() -> None:
    assert verdicts(line_with(PAYLOAD, {"a": "?"}).replace('"?"', "1e999")) == {False}


@pytest.mark.parametrize(
    ("path", "least", "most"),
    [(("max_attempts",), 1, 20), (("routing_decision", "max_retries"), 0, 100)],
)
def test_a_count_is_a_whole_number_within_its_limits(path: Path, least: int, most: int) -> None:
    assert verdicts(line_with(path, least)) == verdicts(line_with(path, most)) == {True}
    for value in [least - 1, most + 1, float(most), str(most), True, None]:
        assert verdicts(line_with(path, value)) == {False}
