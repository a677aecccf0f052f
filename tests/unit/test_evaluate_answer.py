"""The fast reading of an answer agrees with the JSON Schema, which is the authority."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite_batch.contracts.schemas import validator
from rewrite_batch.contracts.values import MAX_TEXT
from rewrite_batch.evaluate.answer import read_answer

AUTHORITY: Any = validator("RewriteAnswerV1")

texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", " ", "\n", "a\x00b", "ok", "\u2028", "\u00a0", "x" * MAX_TEXT, "x" * (MAX_TEXT + 1), "😀" * 9]
    ),
)
languages = st.one_of(
    st.sampled_from(
        ["es", "es-ES", "EN-us", "cmn", "zh-Hant", "und", "xx", "", "es_ES", "es\n", "iw", "i-klingon", "a"]
    ),
    st.text(max_size=6),
)
values = st.one_of(texts, languages, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.just([]))
documents: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"rewritten_text": texts, "output_language": languages}),
    st.fixed_dictionaries({}, optional={"rewritten_text": values, "output_language": values, "more": values}),
    values,
)


@settings(max_examples=400, deadline=None)
@given(documents, st.booleans())
def test_it_takes_exactly_what_the_schema_takes(document: Any, ascii_only: bool) -> None:
    read = read_answer(json.dumps(document, ensure_ascii=ascii_only))
    assert AUTHORITY.is_valid(document) == (not isinstance(read, str))
    if not isinstance(read, str):
        assert read[0] == document["rewritten_text"]


def test_a_tag_becomes_its_primary_language() -> None:
    assert read_answer('{"rewritten_text": "x", "output_language": "es-MX"}') == ("x", "es")
    assert read_answer('{"rewritten_text": "x", "output_language": "cmn"}') == ("x", "zh")


def test_half_a_surrogate_pair_is_no_answer() -> None:
    assert isinstance(read_answer('{"rewritten_text": "a\\ud83d", "output_language": "es"}'), str)
    assert isinstance(read_answer('{"rewritten_text": "a\ud83d", "output_language": "es"}'), str)


def test_absurd_nesting_is_no_answer_and_no_exception() -> None:
    assert read_answer("[" * 200_000) == "schema"
