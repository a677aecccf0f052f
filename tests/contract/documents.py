"""Valid documents of every shape: the whole vocabulary, awkward text, tags with regions, odd times."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.items import item_document

Document = dict[str, Any]

# The same examples on every machine, and no failure because a machine is slow.
LAW = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# What people send, and what it is for processing.
TAGS = {
    "en": "en",
    "en-US": "en",
    "EN-us": "en",
    "en-NZ": "en",
    "es": "es",
    "es-MX": "es",
    "es-419": "es",
    "de-DE-1996": "de",
    "pt-BR": "pt",
    "zh-Hant-TW": "zh",
    "cmn": "zh",
    "yue-HK": "yue",
    "sr-Latn-RS": "sr",
    "nb-NO": "nb",
    "iw": "he",
    "ar-u-nu-latn": "ar",
    "fr-x-home": "fr",
    "i-klingon": "tlh",
}
AWKWARD = [
    "x",
    " leading, trailing\n",
    'He said "no" \\ {"a": 1}\t\r\n',
    "🏳️‍🌈👩‍👩‍👧 e\u0301 \u202eright to left\u202c",
    "شغّل الموسيقى بهدوء",
    "\u2028\u2029\ufeff.\x7f\x1f",
    "\U0010ffff\ue000\ufffe",
    "長" * 20_000,
]
words = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1).filter(str.strip),
)
notes = words.filter(lambda text: len(text) <= 500)
codes = st.sampled_from(["warm", "shared_space", "no.blame:v2", "a", "a" * 100])
keys = st.sampled_from(["v1", "2026-02-03", "C3.1+b", "pref_quiet:evening", "Z" * 100])
ids = st.uuids().flatmap(lambda one: st.sampled_from([str(one), str(one).upper()]))
tags = st.sampled_from(sorted(TAGS))
flags = st.booleans()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | notes,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(notes, inner, max_size=3),
    max_leaves=6,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def times(draw: st.DrawFn) -> str:
    """Every spelling of a time that is taken: any offset, any number of decimals."""
    seconds = draw(st.integers(-2_208_902_400, 32_503_593_600))  # the years 1900 to 2999, a day short of both
    minutes = draw(st.sampled_from([0, 60, -210, 345, 840, -959, 959]))
    moment = EPOCH + timedelta(seconds=seconds)
    offset = timezone(timedelta(minutes=minutes))
    text = moment.astimezone(offset).strftime("%Y-%m-%dT%H:%M:%S")
    decimals = draw(st.sampled_from(["", ".0", ".5", ".123456", ".000001"]))
    zone = draw(st.sampled_from(["Z", "+00:00", "-00:00"])) if minutes == 0 else str(offset).removeprefix("UTC")
    return f"{text}{decimals}{zone}"


def one(values: str) -> st.SearchStrategy[str]:
    return st.sampled_from(values.split())


TOPICS = "noise cleanliness privacy guests schedule communication other"
topics = st.lists(one(TOPICS), min_size=1, max_size=3)
intents = one("request boundary concern clarification")
strengths = one("light_touch full_reframe")
confidences = one("low medium high")
roles = one("owner housemate")
directness = one("soft balanced")


def shape(
    optional: dict[str, st.SearchStrategy[Any]] | None = None, /, **fields: st.SearchStrategy[Any]
) -> st.SearchStrategy[Document]:
    """Optional fields are there, null or missing."""
    given = {name: st.none() | values for name, values in (optional or {}).items()}
    return st.fixed_dictionaries(fields, optional=given)


classifier_results = shape(
    classifier_version=keys,
    detected_language=tags,
    topics=topics,
    intent=intents,
    rewrite_strength=strengths,
    confidence=shape({"language_confidence": confidences}, topic_confidence=confidences, intent_confidence=confidences),
    safety_flags=st.just(["none"]) | st.lists(one("emotional_intensity ambiguous_intent"), max_size=2),
)
context_packs = shape(
    context_version=keys,
    recipient_user_id=ids,
    target_language=tags,
    power=shape(
        sender_role=roles,
        recipient_role=roles,
        power_mode=one("higher_sender higher_recipient peer"),
        tone_multiplier=one("extra_gentle gentle neutral"),
    ),
    topic_scope=shape(
        topics=topics,
        included_preference_ids=st.lists(keys, max_size=2),
        excluded_preference_ids=st.lists(keys, max_size=2),
    ),
    instructions=shape(
        {"repair_timing": one("cool_off talk_soon check_in")},
        tone=codes,
        directness=directness,
        framing=st.lists(codes, max_size=2),
        avoid=st.lists(codes, min_size=1, max_size=2),
        do_not_add=st.lists(codes, min_size=1, max_size=2),
    ),
    recipient_signals=st.lists(shape(preference_id=keys, value_key=keys, instruction=notes), max_size=2),
    safety_notes=st.lists(notes, max_size=2),
)
policies = shape(
    tone=one("gentle neutral calm"),
    directness=directness,
    emotional_temperature=one("cool_down steady"),
    rewrite_strength=strengths,
)
routing_decisions = shape(
    {"base_url": one("https://api.openai.com/v1 http://127.0.0.1:8080/v1?a=b")},
    provider=one("openai google someone_else"),
    adapter_kind=one("openai_responses google_batch"),
    model=one("gpt-5.2 ft:gpt-4o:org::id models/gemini-3 claude@2026"),
    prompt_version=keys,
    policy_version=keys,
    execution_mode=one("batch async"),
    supports_translation=flags,
    cache_eligible=flags,
    max_retries=st.integers(0, 100),
)
answers = shape(rewritten_text=words, output_language=tags)
HARD = "vulgarity slur personal_attack blame authority preference_disclosure medical new_fact non_target_locale"
WARN = "sarcasm_warn hedge_warn"


@st.composite
def requests(draw: st.DrawFn) -> Document:
    source, target, recipient, pack = draw(tags), draw(tags), draw(ids), draw(context_packs)
    same = [tag for tag, language in TAGS.items() if language == TAGS[target]]
    pack |= {"recipient_user_id": recipient.lower(), "target_language": draw(st.sampled_from(same))}
    fields = shape(
        rewrite_request_id=ids,
        home_id=ids,
        sender_user_id=ids,
        recipient_user_id=st.just(recipient),
        recipient_snapshot_id=ids,
        recipient_preference_snapshot_id=ids,
        surface=one("weekly_feedback weekly_harmony direct_message other"),
        original_text=words,
        topics=topics,
        intent=intents,
        rewrite_strength=strengths,
        source_locale=st.just(source),
        target_locale=st.just(target),
        lane=st.just("same_language" if TAGS[source] == TAGS[target] else "cross_language"),
        classifier_result=classifier_results,
        context_pack=st.just(pack),
        policy=policies,
        classifier_version=keys,
        context_pack_version=keys,
        policy_version=keys,
        created_at=times(),
    )
    return draw(fields)


@st.composite
def eval_results(draw: st.DrawFn) -> Document:
    violations = draw(st.lists(one(f"{HARD} {WARN}"), max_size=3))
    hard = any(code in HARD.split() for code in violations)
    fields = shape(
        schema_valid=flags,
        lexicon_pass=st.sampled_from([None, not hard]),
        tone_safety=st.just("fail" if hard else "warn" if violations else "pass"),
        intent_preserved=one("pass warn fail"),
        violations=st.just(violations),
        judge_version=keys,
        dataset_version=keys,
    )
    return draw(fields)


@st.composite
def responses(draw: st.DrawFn) -> Document:
    result = draw(eval_results())
    fields = shape(
        rewrite_request_id=ids,
        recipient_user_id=ids,
        rewritten_text=words,
        output_language=tags,
        prompt_version=keys,
        policy_version=keys,
        lexicon_version=st.just("none") if result["lexicon_pass"] is None else keys,
        eval_result=st.just(result),
        created_at=times(),
    )
    return draw(fields)


@st.composite
def enqueue_items(draw: st.DrawFn) -> Document:
    request, routing = draw(requests()), draw(routing_decisions)
    fields = shape(
        {"not_before_at": times()},
        rewrite_request=st.just(request),
        routing_decision=st.just(routing | {"policy_version": request["policy_version"]}),
        preference_payload=st.dictionaries(notes, json_values, max_size=3),
        max_attempts=st.integers(1, 20),
    )
    return draw(fields)


VALID: dict[str, st.SearchStrategy[Document]] = {
    "ClassifierResultV1": classifier_results,
    "EnqueueItemV1": enqueue_items(),
    "RecipientContextPackV1": context_packs,
    "RewriteAnswerV1": answers,
    "RewriteEvalResultV1": eval_results(),
    "RewritePolicyV1": policies,
    "RewriteRequestV1": requests(),
    "RewriteResponseV1": responses(),
    "RoutingDecisionV1": routing_decisions,
}


def full_documents() -> dict[str, Document]:
    """One of each shape, every optional field set and no list empty, so that every place can be mutated."""
    item = item_document(topics=["noise", "guests"])
    request, routing = item["rewrite_request"], item["routing_decision"]
    pack, result = request["context_pack"], request["classifier_result"]
    item |= {"not_before_at": "2026-11-18T09:30:00Z", "preference_payload": {"quiet": [1, {"from": "22:00"}]}}
    routing["base_url"] = "https://api.openai.com/v1"
    result["confidence"]["language_confidence"] = "low"
    pack["instructions"]["repair_timing"] = "check_in"
    pack["topic_scope"] |= {"included_preference_ids": ["quiet"], "excluded_preference_ids": ["pets"]}
    pack["safety_notes"] = ["Lower the heat."]
    pack["recipient_signals"] = [{"preference_id": "quiet", "value_key": "evening", "instruction": "Speak of rest."}]
    verdicts: Document = {
        "schema_valid": True,
        "lexicon_pass": True,
        "tone_safety": "warn",
        "intent_preserved": "pass",
        "violations": ["hedge_warn"],
        "judge_version": "j1",
        "dataset_version": "d1",
    }
    answer: Document = {"rewritten_text": "Could we keep it quiet at night?", "output_language": "es"}
    response: Document = {
        **answer,
        "rewrite_request_id": request["rewrite_request_id"],
        "recipient_user_id": request["recipient_user_id"],
        "prompt_version": "v1",
        "policy_version": "v1",
        "lexicon_version": "l1",
        "eval_result": verdicts,
        "created_at": "2026-11-18T09:30:00Z",
    }
    documents = [result, item, pack, answer, verdicts, request["policy"], request, response, routing]
    return deepcopy(dict(zip(sorted(VALID), documents, strict=True)))
