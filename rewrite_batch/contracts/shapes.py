"""The V1 shapes. Strict, frozen, unknown keys refused; locales leave normalised, aliases leave folded.

`Shape.from_json` is the only way in: strict parsing differs between JSON and Python values, and what is
stored is JSON. What it refuses it never quotes.

Every rule about one value is in the JSON Schema too. The rules between fields are here alone:
  RewriteRequestV1     lane follows from the locales; the context pack has its recipient and target language
  RewriteEvalResultV1  tone_safety and lexicon_pass follow from the violations
  RewriteResponseV1    lexicon_pass is null exactly when lexicon_version is `none`
  EnqueueItemV1        routing decision and request have one policy_version
"""

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from rewrite_batch.contracts.locale import lane_of
from rewrite_batch.contracts.values import (
    WARNINGS,
    BaseUrl,
    Code,
    Confidence,
    ExecutionMode,
    HouseRole,
    Id,
    Intent,
    Key,
    Lane,
    Locale,
    ModelName,
    Note,
    Payload,
    PowerMode,
    RewriteStrength,
    SafetyFlags,
    Surface,
    Text,
    Timestamp,
    Topics,
    Verdict,
    Version,
    ViolationCode,
)

_NAME_LIKE = re.compile(r"[a-z][a-z0-9_]{0,60}")


class Shape(BaseModel):
    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        # A ValidationError is shown to people: it must not carry the value, which may be a family's words.
        hide_input_in_errors=True,
    )

    @classmethod
    def from_json(cls, document: str | bytes) -> Self:
        try:
            return cls.model_validate_json(document)
        except ValidationError as error:
            shown = _without_input(error)
        raise shown  # outside the except, so that the original does not travel with it

    def to_json(self) -> str:
        return self.model_dump_json()


def _without_input(error: ValidationError) -> ValidationError:
    """hide_input_in_errors covers str(error); error.errors() would still hold the values, and both would hold
    unknown keys, which are somebody's input too."""
    details = [
        InitErrorDetails(
            type=_advice(one["msg"]) if one["type"].endswith("_spelling") else one["type"],
            loc=tuple(part if isinstance(part, int) or _NAME_LIKE.fullmatch(part) else "?" for part in one["loc"]),
            input=None,
            ctx=one.get("ctx", {}),
        )
        for one in error.errors(include_url=False, include_input=False)
    ]
    return ValidationError.from_exception_data(error.title, details, input_type="json", hide_input=True)


def _advice(message: str) -> PydanticCustomError:
    """A spelling error is ours, and so is its message, which quotes nothing."""
    return PydanticCustomError("spelling", message)  # pyright: ignore[reportArgumentType]


class ConfidenceV1(Shape):
    topic_confidence: Confidence
    intent_confidence: Confidence
    language_confidence: Confidence | None = None


class ClassifierResultV1(Shape):
    classifier_version: Version
    detected_language: Locale
    topics: Topics
    intent: Intent
    rewrite_strength: RewriteStrength
    confidence: ConfidenceV1
    safety_flags: SafetyFlags


class PowerV1(Shape):
    sender_role: HouseRole
    recipient_role: HouseRole
    power_mode: PowerMode
    tone_multiplier: Literal["extra_gentle", "gentle", "neutral"]


class TopicScopeV1(Shape):
    topics: Topics
    included_preference_ids: list[Key]
    excluded_preference_ids: list[Key]


class InstructionsV1(Shape):
    tone: Code
    directness: Literal["soft", "balanced"]
    repair_timing: Literal["cool_off", "talk_soon", "check_in"] | None = None
    framing: list[Code]
    avoid: Annotated[list[Code], Field(min_length=1)]
    do_not_add: Annotated[list[Code], Field(min_length=1)]


class RecipientSignalV1(Shape):
    preference_id: Key
    value_key: Key
    instruction: Annotated[Note, Field(repr=False)]


class RecipientContextPackV1(Shape):
    context_version: Version
    recipient_user_id: Id
    target_language: Locale
    power: PowerV1
    topic_scope: TopicScopeV1
    instructions: InstructionsV1
    recipient_signals: list[RecipientSignalV1]
    safety_notes: Annotated[list[Note], Field(repr=False)]


class RewritePolicyV1(Shape):
    tone: Literal["gentle", "neutral", "calm"]
    directness: Literal["soft", "balanced"]
    emotional_temperature: Literal["cool_down", "steady"]
    rewrite_strength: RewriteStrength


class RewriteRequestV1(Shape):
    rewrite_request_id: Id
    home_id: Id
    sender_user_id: Id
    recipient_user_id: Id
    recipient_snapshot_id: Id
    recipient_preference_snapshot_id: Id
    surface: Surface
    original_text: Text
    topics: Topics
    intent: Intent
    rewrite_strength: RewriteStrength
    source_locale: Locale
    target_locale: Locale
    lane: Lane
    classifier_result: ClassifierResultV1
    context_pack: RecipientContextPackV1
    policy: RewritePolicyV1
    classifier_version: Version
    context_pack_version: Version
    policy_version: Version
    created_at: Timestamp

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.lane != lane_of(self.source_locale, self.target_locale):
            raise ValueError("lane: must follow from source_locale and target_locale")
        if self.context_pack.recipient_user_id != self.recipient_user_id:
            raise ValueError("context_pack.recipient_user_id: must be the request's recipient_user_id")
        if self.context_pack.target_language != self.target_locale:
            raise ValueError("context_pack.target_language: must be the request's target_locale")
        return self


class RoutingDecisionV1(Shape):
    provider: Code
    adapter_kind: Code
    base_url: BaseUrl | None = None
    model: ModelName
    prompt_version: Version
    policy_version: Version
    execution_mode: ExecutionMode
    supports_translation: bool
    cache_eligible: bool
    max_retries: Annotated[int, Field(ge=0, le=100)]


class RewriteAnswerV1(Shape):
    """What the model returns; the worker adds the rest."""

    rewritten_text: Text
    output_language: Locale


class RewriteEvalResultV1(Shape):
    schema_valid: bool
    lexicon_pass: bool | None
    tone_safety: Verdict
    intent_preserved: Verdict
    violations: list[ViolationCode]
    judge_version: Version
    dataset_version: Version

    @model_validator(mode="after")
    def _verdicts_follow(self) -> Self:
        hard = not WARNINGS.issuperset(self.violations)
        if self.tone_safety != ("fail" if hard else "warn" if self.violations else "pass"):
            raise ValueError("tone_safety: must follow from violations")
        if self.lexicon_pass is hard:
            raise ValueError("lexicon_pass: must follow from violations")
        return self


class RewriteResponseV1(Shape):
    rewrite_request_id: Id
    recipient_user_id: Id
    rewritten_text: Text
    output_language: Locale
    prompt_version: Version
    policy_version: Version
    lexicon_version: Version
    eval_result: RewriteEvalResultV1
    created_at: Timestamp

    @model_validator(mode="after")
    def _lexicon_is_named(self) -> Self:
        if (self.eval_result.lexicon_pass is None) != (self.lexicon_version == "none"):
            raise ValueError("lexicon_version: must be `none` exactly when eval_result.lexicon_pass is null")
        return self


class EnqueueItemV1(Shape):
    """One line of an enqueue file, and one element of the array that the SQL function takes."""

    rewrite_request: RewriteRequestV1
    routing_decision: RoutingDecisionV1
    preference_payload: Payload
    max_attempts: Annotated[int, Field(ge=1, le=20)]
    not_before_at: Timestamp | None = None

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        if self.routing_decision.policy_version != self.rewrite_request.policy_version:
            raise ValueError("routing_decision.policy_version: must be the request's policy_version")
        return self


SHAPES: dict[str, type[Shape]] = {
    shape.__name__: shape
    for shape in (
        ClassifierResultV1,
        EnqueueItemV1,
        RecipientContextPackV1,
        RewriteAnswerV1,
        RewriteEvalResultV1,
        RewritePolicyV1,
        RewriteRequestV1,
        RewriteResponseV1,
        RoutingDecisionV1,
    )
}
