"""A shape holds a family's words and never shows them: not in repr, not in an error."""

import json
from traceback import format_exception

import pytest
from pydantic import ValidationError

from rewrite_batch.contracts.shapes import SHAPES, RewriteAnswerV1
from tests.contract.documents import full_documents
from tests.contract.mutations import Path, at, places, put

SECRET = "Turn-Down The Music"
PRIVATE: dict[str, list[Path]] = {
    "EnqueueItemV1": [
        ("rewrite_request", "original_text"),
        ("rewrite_request", "context_pack", "safety_notes", 0),
        ("rewrite_request", "context_pack", "recipient_signals", 0, "instruction"),
        ("preference_payload", "quiet"),
    ],
    "RewriteRequestV1": [("original_text",)],
    "RecipientContextPackV1": [("safety_notes", 0), ("recipient_signals", 0, "instruction")],
    "RewriteAnswerV1": [("rewritten_text",)],
    "RewriteResponseV1": [("rewritten_text",)],
}


@pytest.mark.parametrize(("name", "path"), [(name, path) for name, paths in PRIVATE.items() for path in paths])
def test_neither_repr_nor_str_shows_words_or_preferences(name: str, path: Path) -> None:
    item = SHAPES[name].from_json(json.dumps(put(full_documents()[name], path, SECRET)))
    assert SECRET in item.to_json()
    assert SECRET not in f"{item!r} {item} {[item]}"


def shown(name: str, document: str) -> str:
    """All that a careless caller could print of a refusal."""
    with pytest.raises(ValidationError) as refused:
        SHAPES[name].from_json(document)
    error = refused.value
    assert error.__context__ is None
    return f"{error} {error!r} {error.errors()} {error.json()} {''.join(format_exception(error))}"


@pytest.mark.parametrize("name", SHAPES)
def test_a_refusal_never_quotes_a_value(name: str) -> None:
    document = full_documents()[name]
    for path in places(document):
        if "preference_payload" not in path[:-1]:
            assert SECRET not in shown(name, json.dumps(put(document, path, [SECRET, {SECRET: SECRET + "\x00"}])))


@pytest.mark.parametrize("name", SHAPES)
def test_a_refusal_never_quotes_an_unknown_key(name: str) -> None:
    document = full_documents()[name]
    for path in places(document):
        if isinstance(at(document, path), dict) and "preference_payload" not in path:
            assert SECRET not in shown(name, json.dumps(put(document, (*path, SECRET), SECRET)))


@pytest.mark.parametrize(
    "line", [f'"{SECRET}', f"{SECRET}", f'{{"{SECRET}"}}', f'{{"rewritten_text": "{SECRET}\\ud800"}}']
)
def test_a_refusal_never_quotes_what_is_not_json(line: str) -> None:
    assert SECRET not in shown("RewriteAnswerV1", line)


def test_a_refusal_still_says_where_and_why() -> None:
    with pytest.raises(ValidationError) as refused:
        RewriteAnswerV1.from_json('{"output_language": "xx", "Some Words": 1}')
    assert {(one["loc"], one["type"]) for one in refused.value.errors()} == {
        (("rewritten_text",), "missing"),
        (("output_language",), "value_error"),
        (("?",), "extra_forbidden"),
    }


def test_not_even_an_error_of_the_constructor_quotes_a_value() -> None:
    with pytest.raises(ValidationError) as refused:
        RewriteAnswerV1.model_validate({"rewritten_text": [SECRET], "output_language": SECRET})
    assert SECRET not in str(refused.value)
