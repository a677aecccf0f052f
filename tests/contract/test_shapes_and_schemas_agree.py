"""One law: the model and the JSON Schema of a shape take the same documents, and what the model writes is
taken again, unchanged. The rules between fields, which JSON Schema cannot say, are the model's alone."""

import json
from datetime import datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rewrite_batch.contracts.schemas import validator
from rewrite_batch.contracts.shapes import SHAPES
from tests.contract.documents import LAW, TAGS, VALID, Document, full_documents
from tests.contract.mutations import DROPPED, Path, at, places, put, replacements

LANE = "lane: must follow from source_locale and target_locale"
RECIPIENT = "context_pack.recipient_user_id: must be the request's recipient_user_id"
LANGUAGE = "context_pack.target_language: must be the request's target_locale"
POLICY = "routing_decision.policy_version: must be the request's policy_version"
TONE = "tone_safety: must follow from violations"
LEXICON = "lexicon_pass: must follow from violations"
LEXICON_NAME = "lexicon_version: must be `none` exactly when eval_result.lexicon_pass is null"
BETWEEN_FIELDS = {LANE, RECIPIENT, LANGUAGE, POLICY, TONE, LEXICON, LEXICON_NAME}

LOCALES = {"source_locale", "target_locale", "detected_language", "target_language", "output_language"}
TIMES = {"created_at", "not_before_at"}
# Shapes inside shapes: they are mutated on their own.
PARTS = {"rewrite_request", "routing_decision", "classifier_result", "context_pack", "eval_result"}
IDS = ("user_id", "home_id", "request_id", "snapshot_id")


def refusals(name: str, document: object) -> set[str]:
    """What the model says against a document; nothing when it takes it."""
    try:
        SHAPES[name].from_json(json.dumps(document))
    except ValidationError as error:
        return {one["msg"].removeprefix("Value error, ") for one in error.errors()}
    return set()


def schema_takes(name: str, document: Any) -> bool:
    return validator(name).is_valid(document)  # pyright: ignore[reportUnknownMemberType]  jsonschema's stubs


def assert_same_verdict(name: str, document: object) -> bool:
    against = refusals(name, document)
    taken = schema_takes(name, document)
    assert taken == (against <= BETWEEN_FIELDS), (document, against)
    return taken


def stored(document: Document) -> Document:
    """What becomes of a document: locales normalised, the alias folded, ids and times in one spelling."""
    return {key: stored_value(key, value) for key, value in document.items()}


def stored_value(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        inner = cast("Document", value)
        return inner if key == "preference_payload" else stored(inner)
    if key in LOCALES:
        return TAGS[value]
    if key in TIMES and value:
        return datetime.fromisoformat(value).isoformat().replace("+00:00", "Z")
    if key.endswith(IDS):
        return value.lower()
    return "weekly_feedback" if value == "weekly_harmony" else value


def without_nulls(value: Any) -> Any:
    """An optional field that is missing is written as null."""
    if isinstance(value, dict):
        fields = cast("Document", value)
        return {name: without_nulls(inner) for name, inner in fields.items() if inner is not None}
    return value


@pytest.mark.parametrize("name", SHAPES)
@LAW
@given(data=st.data())
def test_a_valid_document_is_taken_by_both_and_so_is_what_becomes_of_it(name: str, data: st.DataObject) -> None:
    document = data.draw(VALID[name])
    assert refusals(name, document) == set()
    assert schema_takes(name, document)

    once = SHAPES[name].from_json(json.dumps(document)).to_json()
    assert without_nulls(json.loads(once)) == without_nulls(stored(document))
    assert schema_takes(name, json.loads(once))
    assert SHAPES[name].from_json(once).to_json() == once


@pytest.mark.parametrize("name", SHAPES)
@LAW
@given(data=st.data())
def test_both_give_the_same_verdict_on_a_valid_document_with_something_wrong(name: str, data: st.DataObject) -> None:
    document = data.draw(VALID[name])
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(places(document))))
        document = put(document, path, data.draw(st.sampled_from(replacements(document, path))))
    assert_same_verdict(name, document)


@pytest.mark.parametrize("name", SHAPES)
def test_both_give_the_same_verdict_on_every_mutation_of_every_place(name: str) -> None:
    document = full_documents()[name]
    verdicts = {
        assert_same_verdict(name, put(document, path, value))
        for path in places(document)
        if len(path) < 2 or path[0] not in PARTS
        for value in replacements(document, path)
    }
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", SHAPES)
def test_every_object_refuses_an_unknown_key_and_needs_every_key_that_is_not_optional(name: str) -> None:
    optional = {"language_confidence", "repair_timing", "base_url", "not_before_at"}
    document = full_documents()[name]
    for path in places(document):
        if "preference_payload" in path:
            continue
        if isinstance(at(document, path), dict) and path[-1:] != ("preference_payload",):
            assert refusals(name, put(document, (*path, "unknown"), 1)) == {"Extra inputs are not permitted"}
        if path and isinstance(path[-1], str):
            against = refusals(name, put(document, path, DROPPED))
            assert against == (set[str]() if path[-1] in optional else {"Field required"}), path


OTHER_ID = "0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b"


@pytest.mark.parametrize(
    ("name", "path", "value", "rule"),
    [
        ("RewriteRequestV1", ("lane",), "same_language", LANE),
        ("RewriteRequestV1", ("source_locale",), "es-MX", LANE),
        ("RewriteRequestV1", ("recipient_user_id",), OTHER_ID, RECIPIENT),
        ("RewriteRequestV1", ("context_pack", "recipient_user_id"), OTHER_ID, RECIPIENT),
        ("RewriteRequestV1", ("context_pack", "target_language"), "en", LANGUAGE),
        ("RewriteRequestV1", ("target_locale",), "fr", LANGUAGE),
        ("EnqueueItemV1", ("routing_decision", "policy_version"), "v2", POLICY),
        ("EnqueueItemV1", ("rewrite_request", "policy_version"), "v2", POLICY),
        ("EnqueueItemV1", ("rewrite_request", "lane"), "same_language", LANE),
        ("RewriteEvalResultV1", ("tone_safety",), "pass", TONE),
        ("RewriteEvalResultV1", ("tone_safety",), "fail", TONE),
        ("RewriteEvalResultV1", ("violations",), [], TONE),
        ("RewriteEvalResultV1", ("violations",), ["hedge_warn", "blame"], TONE),
        ("RewriteEvalResultV1", ("lexicon_pass",), False, LEXICON),
        ("RewriteResponseV1", ("lexicon_version",), "none", LEXICON_NAME),
        ("RewriteResponseV1", ("eval_result", "lexicon_pass"), None, LEXICON_NAME),
    ],
)
def test_the_model_alone_holds_the_rules_between_fields(name: str, path: Path, value: object, rule: str) -> None:
    document = put(full_documents()[name], path, value)
    assert refusals(name, document) == {rule}
    assert schema_takes(name, document)


@pytest.mark.parametrize("lexicon_pass", [True, False, None])
@pytest.mark.parametrize("code", ["slur", "non_target_locale"])
def test_a_hard_code_fails_the_lexicon_unless_none_is_configured(code: str, lexicon_pass: bool | None) -> None:
    document = full_documents()["RewriteEvalResultV1"]
    document |= {"violations": [code, "hedge_warn"], "tone_safety": "fail", "lexicon_pass": lexicon_pass}
    assert refusals("RewriteEvalResultV1", document) == ({LEXICON} if lexicon_pass else set())


def test_a_tag_with_a_region_agrees_with_its_language() -> None:
    document = full_documents()["RewriteRequestV1"]
    document |= {"source_locale": "es-MX", "target_locale": "es-ES", "lane": "same_language"}
    assert refusals("RewriteRequestV1", document) == set()
