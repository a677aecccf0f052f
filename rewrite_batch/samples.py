"""Sample requests: the complaints of `fixtures/complaints.jsonl` go in, items ready to enqueue come out.

Pure: every id, time and variation follows from a complaint's key or from a seed and an index, so a repeat
gives the same bytes and enqueueing them again changes nothing.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid5

from rewrite_batch.contracts.locale import lane_of, normalise_locale
from rewrite_batch.contracts.shapes import EnqueueItemV1, Shape
from rewrite_batch.contracts.values import Intent, Key, PowerMode, RewriteStrength, SafetyFlags, Text, Topics

_PACKAGE = Path(__file__).parent
_NAMESPACE = UUID("6f0d5c1e-2a57-5d0b-9c83-41b7e8f3a920")
_START = datetime(2026, 11, 1, 8, tzinfo=UTC)
_VERSION = "v1"
_ID_FIELDS = (
    "rewrite_request_id",
    "sender_user_id",
    "recipient_user_id",
    "recipient_snapshot_id",
    "recipient_preference_snapshot_id",
)
_TAILS = ("", "!!", " ...", " 🙏", " 😤", " :(", " 🙄", " …")
_SENTENCE_END = re.compile(r"(?<=[.!?؟।])\s+|(?<=[。！？])")

_PREFERENCES = {
    "noise": ("pref_quiet_evenings", "calm", "Speak of rest and calm rather than of volume."),
    "cleanliness": (
        "pref_tidy_shared_spaces",
        "after_use",
        "Name the shared space, not the person who used it.",
    ),
    "privacy": ("pref_knock_first", "ask_before", "Acknowledge that closeness was meant well."),
    "guests": ("pref_guest_notice", "ahead_of_time", "Welcome the friendship before the request."),
    "schedule": ("pref_fixed_routine", "steady", "Offer to plan together."),
    "communication": ("pref_written_first", "short_text", "Keep it to a few short sentences."),
    "other": ("pref_plain_words", "direct", "Use plain words and one thought at a time."),
}
_FRAMING = {
    "request": ["shared_goal", "ask_as_question"],
    "boundary": ["own_need", "shared_respect"],
    "concern": ["own_feeling", "shared_goal"],
    "clarification": ["open_question", "good_faith"],
}
_ROLES = {
    "peer": ("housemate", "housemate", "neutral"),
    "higher_sender": ("owner", "housemate", "extra_gentle"),
    "higher_recipient": ("housemate", "owner", "gentle"),
}


class Complaint(Shape):
    """One line of the file. Locales and surface stay as they were sent: no alias is folded yet."""

    key: Key
    source_locale: str
    target_locale: str
    surface: Literal["weekly_feedback", "weekly_harmony", "direct_message", "other"]
    topics: Topics
    intent: Intent
    rewrite_strength: RewriteStrength
    power_mode: PowerMode
    safety_flags: SafetyFlags
    original_text: Text
    note: str | None = None

    @property
    def awkward(self) -> bool:
        return self.key.startswith("awkward-")

    @property
    def heated(self) -> bool:
        return "emotional_intensity" in self.safety_flags

    @property
    def unclear(self) -> bool:
        return "ambiguous_intent" in self.safety_flags


def fixtures_dir() -> Path:
    """The wheel carries `fixtures/` inside the package; a checkout has it beside the package."""
    packaged = _PACKAGE / "fixtures"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "fixtures"


@lru_cache(maxsize=1)
def complaints() -> tuple[Complaint, ...]:
    # Lines of bytes end at \n alone; str.splitlines would also cut at the U+2028 inside a complaint.
    with (fixtures_dir() / "complaints.jsonl").open("rb") as lines:
        return tuple(Complaint.from_json(line) for line in lines)


def fixture_items() -> list[EnqueueItemV1]:
    """Every complaint as an item, in the order of the file."""
    return [_item(position, complaint) for position, complaint in enumerate(complaints())]


def requests_jsonl() -> str:
    """What `fixtures/requests.jsonl` holds."""
    return "".join(f"{item.to_json()}\n" for item in fixture_items())


def generate(count: int, seed: int) -> Iterator[EnqueueItemV1]:
    """As many items as asked for, one at a time; the first ones do not depend on how many follow."""
    items, leads = fixture_items(), _leads()
    for index in range(count):
        ids = _generated_ids(seed, index)
        # The id is as good as a random draw, and it needs no generator whose state would have to be kept.
        draw, choice = divmod(ids["rewrite_request_id"].int, len(items))
        request = items[choice].rewrite_request
        text = _reworded(request.original_text, leads[request.source_locale], draw)
        yield _copy(items[choice], ids, text, _START + timedelta(milliseconds=index))


def _generated_ids(seed: int, index: int) -> dict[str, UUID]:
    ids = {part: uuid5(_NAMESPACE, f"generated:{seed}:{index}:{part}") for part in _ID_FIELDS}
    return ids | {"home_id": uuid5(_NAMESPACE, f"generated:{seed}:home:{index // 3}")}


def _copy(item: EnqueueItemV1, ids: dict[str, UUID], text: str, created_at: datetime) -> EnqueueItemV1:
    """Unvalidated, for speed: only ids that agree with each other, a text and a time are replaced."""
    request = item.rewrite_request
    pack = request.context_pack.model_copy(update={"recipient_user_id": ids["recipient_user_id"]})
    update = {**ids, "original_text": text, "context_pack": pack, "created_at": created_at}
    return item.model_copy(update={"rewrite_request": request.model_copy(update=update)})


def _reworded(text: str, leads: list[str], draw: int) -> str:
    """Half of the texts start with what somebody else said in that language; most end in another way."""
    draw, tail = divmod(draw, len(_TAILS))
    draw, led = divmod(draw, 2)
    lead = leads[draw % len(leads)] if led and leads else ""
    return f"{lead} {text}{_TAILS[tail]}" if lead and lead not in text else f"{text}{_TAILS[tail]}"


def _leads() -> dict[str, list[str]]:
    """First sentences by language. An awkward text gives none: cut up, it would be awkward in another way."""
    leads: dict[str, list[str]] = {}
    for complaint in complaints():
        known = leads.setdefault(normalise_locale(complaint.source_locale), [])
        if not complaint.awkward:
            known.append(_SENTENCE_END.split(complaint.original_text, maxsplit=1)[0])
    return leads


def _item(position: int, complaint: Complaint) -> EnqueueItemV1:
    document = {
        "rewrite_request": _request(position, complaint),
        "routing_decision": _routing("gpt-5-mini" if position % 25 == 7 else "gpt-5.2"),
        "preference_payload": {"preferences": _preference_ids(complaint), "version": _VERSION},
        "max_attempts": 2,
    }
    return EnqueueItemV1.from_json(json.dumps(document))


def _request(position: int, complaint: Complaint) -> dict[str, object]:
    # Every tenth complaint comes from the home of the one before it.
    home = complaints()[position - 1].key if position % 10 == 9 else complaint.key
    ids = {part: _id(complaint.key, part) for part in _ID_FIELDS}
    return {
        **ids,
        "home_id": _id(home, "home_id"),
        "surface": complaint.surface,
        "original_text": complaint.original_text,
        "topics": complaint.topics,
        "intent": complaint.intent,
        "rewrite_strength": complaint.rewrite_strength,
        "source_locale": complaint.source_locale,
        "target_locale": complaint.target_locale,
        "lane": lane_of(complaint.source_locale, complaint.target_locale),
        "classifier_result": _classifier_result(complaint),
        "context_pack": _context_pack(position, complaint, ids["recipient_user_id"]),
        "policy": _policy(complaint),
        "classifier_version": _VERSION,
        "context_pack_version": _VERSION,
        "policy_version": _VERSION,
        "created_at": (_START + timedelta(seconds=position)).isoformat(),
    }


def _classifier_result(complaint: Complaint) -> dict[str, object]:
    return {
        "classifier_version": _VERSION,
        "detected_language": complaint.source_locale,
        "topics": complaint.topics,
        "intent": complaint.intent,
        "rewrite_strength": complaint.rewrite_strength,
        "confidence": {
            "topic_confidence": "medium" if len(complaint.topics) > 1 else "high",
            "intent_confidence": "low" if complaint.unclear else "high",
            "language_confidence": "medium" if complaint.awkward else "high",
        },
        "safety_flags": complaint.safety_flags,
    }


def _context_pack(position: int, complaint: Complaint, recipient: str) -> dict[str, object]:
    sender_role, recipient_role, tone_multiplier = _ROLES[complaint.power_mode]
    included = _preference_ids(complaint)
    return {
        "context_version": _VERSION,
        "recipient_user_id": recipient,
        "target_language": complaint.target_locale,
        "power": {
            "sender_role": sender_role,
            "recipient_role": recipient_role,
            "power_mode": complaint.power_mode,
            "tone_multiplier": tone_multiplier,
        },
        "topic_scope": {
            "topics": complaint.topics,
            "included_preference_ids": included,
            "excluded_preference_ids": [] if "other" in complaint.topics else [_PREFERENCES["other"][0]],
        },
        "instructions": _instructions(complaint),
        "recipient_signals": _signals(complaint)[: position % 3],
        "safety_notes": _safety_notes(complaint),
    }


def _instructions(complaint: Complaint) -> dict[str, object]:
    return {
        "tone": _tone(complaint),
        "directness": _directness(complaint),
        "repair_timing": _repair_timing(complaint),
        "framing": _FRAMING[complaint.intent],
        "avoid": ["blame", "absolutes", "sarcasm", *([] if complaint.power_mode == "peer" else ["commands"])],
        "do_not_add": ["new_facts", "preferences", "diagnoses", "rules"],
    }


def _policy(complaint: Complaint) -> dict[str, object]:
    return {
        "tone": _tone(complaint),
        "directness": _directness(complaint),
        "emotional_temperature": "cool_down" if complaint.heated else "steady",
        "rewrite_strength": complaint.rewrite_strength,
    }


def _tone(complaint: Complaint) -> str:
    if complaint.heated:
        return "calm"
    return "neutral" if complaint.power_mode == "peer" else "gentle"


def _directness(complaint: Complaint) -> str:
    return "balanced" if complaint.power_mode == "peer" else "soft"


def _repair_timing(complaint: Complaint) -> str | None:
    if complaint.heated:
        return "cool_off"
    return {"clarification": "talk_soon", "concern": "check_in"}.get(complaint.intent)


def _preference_ids(complaint: Complaint) -> list[str]:
    return [_PREFERENCES[topic][0] for topic in complaint.topics]


def _signals(complaint: Complaint) -> list[dict[str, str]]:
    chosen = [_PREFERENCES[topic] for topic in dict.fromkeys((*complaint.topics, "communication"))]
    return [{"preference_id": i, "value_key": value, "instruction": text} for i, value, text in chosen]


def _safety_notes(complaint: Complaint) -> list[str]:
    heat = ["The sender is upset: keep the meaning, lower the heat."] if complaint.heated else []
    doubt = ["The intent is not certain: stay with what is written."] if complaint.unclear else []
    return heat + doubt


def _routing(model: str) -> dict[str, object]:
    return {
        "provider": "openai",
        "adapter_kind": "openai_responses",
        "base_url": None,
        "model": model,
        "prompt_version": _VERSION,
        "policy_version": _VERSION,
        "execution_mode": "batch",
        "supports_translation": True,
        "cache_eligible": True,
        "max_retries": 2,
    }


def _id(key: str, part: str) -> str:
    return str(uuid5(_NAMESPACE, f"fixture:{key}:{part}"))
