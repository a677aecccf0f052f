"""The closed lists of the contracts, spelled out: a word that comes or goes is a change of contract."""

import json
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from rewrite_batch.contracts import values
from rewrite_batch.contracts.shapes import SHAPES
from tests.contract.documents import Document, full_documents
from tests.contract.mutations import Path, at, places, put

STRENGTHS = ["light_touch", "full_reframe"]
TOPICS = ["noise", "cleanliness", "privacy", "guests", "schedule", "communication", "other"]
INTENTS = ["request", "boundary", "concern", "clarification"]
CONFIDENCES = ["low", "medium", "high"]
ROLES = ["owner", "housemate"]
DIRECTNESS = ["soft", "balanced"]
VERDICTS = ["pass", "warn", "fail"]
HARD = [
    *("vulgarity", "slur", "personal_attack", "blame", "authority", "preference_disclosure", "medical"),
    *("new_fact", "non_target_locale"),
]
WARN = ["sarcasm_warn", "hedge_warn"]

CLOSED: dict[str, dict[str, list[str]]] = {
    "RewriteRequestV1": {
        "surface": ["weekly_feedback", "weekly_harmony", "direct_message", "other"],
        "intent": INTENTS,
        "rewrite_strength": STRENGTHS,
        "lane": ["same_language", "cross_language"],
        "topics.0": TOPICS,
    },
    "ClassifierResultV1": {
        "topics.0": TOPICS,
        "intent": INTENTS,
        "rewrite_strength": STRENGTHS,
        "confidence.topic_confidence": CONFIDENCES,
        "confidence.intent_confidence": CONFIDENCES,
        "confidence.language_confidence": CONFIDENCES,
        "safety_flags.0": ["none", "emotional_intensity", "ambiguous_intent"],
    },
    "RecipientContextPackV1": {
        "power.sender_role": ROLES,
        "power.recipient_role": ROLES,
        "power.power_mode": ["higher_sender", "higher_recipient", "peer"],
        "power.tone_multiplier": ["extra_gentle", "gentle", "neutral"],
        "topic_scope.topics.0": TOPICS,
        "instructions.directness": DIRECTNESS,
        "instructions.repair_timing": ["cool_off", "talk_soon", "check_in"],
    },
    "RewritePolicyV1": {
        "tone": ["gentle", "neutral", "calm"],
        "directness": DIRECTNESS,
        "emotional_temperature": ["cool_down", "steady"],
        "rewrite_strength": STRENGTHS,
    },
    "RoutingDecisionV1": {"execution_mode": ["batch", "async"]},
    "RewriteEvalResultV1": {
        "tone_safety": VERDICTS,
        "intent_preserved": VERDICTS,
        "violations.0": [*HARD, *WARN],
    },
}
LISTS = [(name, field, words) for name, fields in CLOSED.items() for field, words in fields.items()]
EVERY_WORD = sorted({word for _, _, words in LISTS for word in words} | {"unknown", "", "Peer", "FAIL"})

FIELDS = {
    "RewriteRequestV1": """rewrite_request_id home_id sender_user_id recipient_user_id recipient_snapshot_id
        recipient_preference_snapshot_id surface original_text topics intent rewrite_strength source_locale
        target_locale lane classifier_result context_pack policy classifier_version context_pack_version
        policy_version created_at""",
    "ClassifierResultV1": """classifier_version detected_language topics intent rewrite_strength confidence
        safety_flags""",
    "RecipientContextPackV1": """context_version recipient_user_id target_language power topic_scope
        instructions recipient_signals safety_notes""",
    "RewritePolicyV1": "tone directness emotional_temperature rewrite_strength",
    "RoutingDecisionV1": """provider adapter_kind base_url model prompt_version policy_version execution_mode
        supports_translation cache_eligible max_retries""",
    "RewriteAnswerV1": "rewritten_text output_language",
    "RewriteResponseV1": """rewrite_request_id recipient_user_id rewritten_text output_language prompt_version
        policy_version lexicon_version eval_result created_at""",
    "RewriteEvalResultV1": """schema_valid lexicon_pass tone_safety intent_preserved violations judge_version
        dataset_version""",
    "EnqueueItemV1": "rewrite_request routing_decision preference_payload max_attempts not_before_at",
}


def errors(name: str, document: Document) -> list[tuple[str, str]]:
    """Where and what; a rule between fields has no place."""
    try:
        SHAPES[name].from_json(json.dumps(document))
    except ValidationError as error:
        return [(".".join(map(str, one["loc"])), one["type"]) for one in error.errors()]
    return []


def to_path(dotted: str) -> Path:
    return tuple(int(part) if part.isdigit() else part for part in dotted.split("."))


@pytest.mark.parametrize(("name", "fields"), FIELDS.items())
def test_a_shape_has_these_fields_and_no_others(name: str, fields: str) -> None:
    assert set(SHAPES[name].model_fields) == set(fields.split())
    assert set(FIELDS) == set(SHAPES)


@pytest.mark.parametrize(("name", "field", "words"), LISTS)
def test_a_closed_list_takes_its_words_and_no_others(name: str, field: str, words: list[str]) -> None:
    document = full_documents()[name]
    taken = {
        word
        for word in EVERY_WORD
        if not any(place.startswith(field) for place, _ in errors(name, put(document, to_path(field), word)))
    }
    assert taken == set(words)


@pytest.mark.parametrize(("name", "field"), [("RewriteRequestV1", "topics"), ("ClassifierResultV1", "topics")])
@pytest.mark.parametrize(("count", "taken"), [(0, False), (1, True), (3, True), (4, False)])
def test_there_are_one_to_three_topics(name: str, field: str, count: int, taken: bool) -> None:
    assert (errors(name, put(full_documents()[name], (field,), TOPICS[:count])) == []) == taken


@pytest.mark.parametrize("field", ["avoid", "do_not_add"])
def test_what_to_avoid_is_never_empty(field: str) -> None:
    document = put(full_documents()["RecipientContextPackV1"], ("instructions", field), [])
    assert errors("RecipientContextPackV1", document) == [(f"instructions.{field}", "too_short")]


@pytest.mark.parametrize(
    ("flags", "taken"),
    [
        (["none"], True),
        (["emotional_intensity"], True),
        (["ambiguous_intent", "emotional_intensity"], True),
        (["none", "emotional_intensity"], False),
        (["ambiguous_intent", "none"], False),
        (["none", "none"], False),
    ],
)
def test_the_safety_flag_none_stands_alone(flags: list[str], taken: bool) -> None:
    document = put(full_documents()["ClassifierResultV1"], ("safety_flags",), flags)
    assert (errors("ClassifierResultV1", document) == []) == taken


def test_weekly_harmony_is_stored_as_weekly_feedback() -> None:
    document = full_documents()["EnqueueItemV1"]
    document["rewrite_request"]["surface"] = "weekly_harmony"
    stored = json.loads(SHAPES["EnqueueItemV1"].from_json(json.dumps(document)).to_json())
    assert stored["rewrite_request"]["surface"] == "weekly_feedback"


def test_statuses_are_the_contracts_and_old_names_map_to_them() -> None:
    statuses = ("queued", "processing", "batch_submitted", "completed", "failed", "canceled")
    assert get_args(values.JobStatus) == statuses
    assert values.LEGACY_STATUS == {"running": "processing", "succeeded": "completed"}


def test_only_the_two_warnings_are_not_hard() -> None:
    assert sorted(values.WARNINGS) == sorted(WARN)
    assert set(get_args(values.ViolationCode)) - values.WARNINGS == set(HARD)


HINTS = [
    *("provider", "model", "prompt", "prompt_version", "routing_decision", "temperature", "adapter_kind"),
    *("base_url", "execution_mode", "system_prompt"),
]


@pytest.mark.parametrize("hint", HINTS)
def test_no_hint_at_provider_model_or_prompt_is_taken_anywhere_in_a_request(hint: str) -> None:
    document = full_documents()["RewriteRequestV1"]
    objects = [path for path in places(document) if isinstance(at(document, path), dict)]
    assert len(objects) == 9
    for path in objects:
        place = ".".join(map(str, (*path, hint)))
        assert errors("RewriteRequestV1", put(document, (*path, hint), "gpt-5.2")) == [(place, "extra_forbidden")]


@pytest.mark.parametrize("key", ["original_text", "rewritten_text", "text", "messages", "rewrite_request"])
def test_a_routing_decision_has_no_key_for_text(key: str) -> None:
    document = full_documents()["RoutingDecisionV1"] | {key: "Turn it down."}
    assert errors("RoutingDecisionV1", document) == [(key, "extra_forbidden")]


def test_no_field_of_a_routing_decision_takes_a_sentence() -> None:
    document = full_documents()["RoutingDecisionV1"]
    for field in document:
        sentence: Any = "Turn the music down, some of us work!"
        assert [place for place, _ in errors("RoutingDecisionV1", document | {field: sentence})] == [field]


@pytest.mark.parametrize("provider", ["openai", "google", "somebody_else"])
def test_a_routing_decision_may_name_an_adapter_that_this_worker_does_not_have(provider: str) -> None:
    document = full_documents()["RoutingDecisionV1"]
    document |= {"provider": provider, "adapter_kind": "not_here", "model": "models/new-1@2026"}
    assert errors("RoutingDecisionV1", document) == []
