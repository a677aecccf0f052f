"""What the sample data promises: enough of everything, awkward where it should be, the same every time."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any, get_args

import pytest

import rewrite_batch
from rewrite_batch import samples
from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.contracts.shapes import EnqueueItemV1
from rewrite_batch.contracts.values import Intent, PowerMode, RewriteStrength, Topic
from rewrite_batch.evaluate.lines import Line, candidates_of
from rewrite_batch.evaluate.run import evaluate

ANSWERS = Path(rewrite_batch.__file__).parent / "simulator" / "answers"
LANGUAGES = [
    *("en", "es", "de", "fr", "pt", "it", "nl", "pl", "tr", "ru", "sv"),
    *("zh", "ja", "ko", "hi", "ar", "vi", "id", "th"),
]
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def ids(item: EnqueueItemV1) -> set[str]:
    request = item.rewrite_request
    return {
        str(request.rewrite_request_id),
        str(request.home_id),
        str(request.sender_user_id),
        str(request.recipient_user_id),
        str(request.recipient_snapshot_id),
        str(request.recipient_preference_snapshot_id),
    }


def test_there_are_enough_requests_languages_and_pairs() -> None:
    requests = [item.rewrite_request for item in samples.fixture_items()]
    assert len(requests) >= 96
    assert len({request.source_locale for request in requests}) >= 16
    assert {request.source_locale for request in requests} >= set(LANGUAGES)
    assert {request.target_locale for request in requests} == set(LANGUAGES)
    assert len({(request.source_locale, request.target_locale) for request in requests}) >= 30


def test_about_a_third_of_the_requests_stay_in_their_language() -> None:
    lanes = [item.rewrite_request.lane for item in samples.fixture_items()]
    assert 0.3 < lanes.count("same_language") / len(lanes) < 0.45


def test_every_intent_topic_strength_and_power_mode_occurs() -> None:
    found = samples.complaints()
    assert {complaint.intent for complaint in found} == set(get_args(Intent))
    assert {topic for complaint in found for topic in complaint.topics} == set(get_args(Topic))
    assert {complaint.rewrite_strength for complaint in found} == set(get_args(RewriteStrength))
    assert {complaint.power_mode for complaint in found} == set(get_args(PowerMode))
    assert {len(complaint.topics) for complaint in found} == {1, 2, 3}


def test_every_surface_occurs_and_the_alias_is_folded_only_in_the_request() -> None:
    raw = [complaint.surface for complaint in samples.complaints()]
    assert set(raw) == {"weekly_feedback", "weekly_harmony", "direct_message", "other"}
    folded = ["weekly_feedback" if surface == "weekly_harmony" else surface for surface in raw]
    assert [item.rewrite_request.surface for item in samples.fixture_items()] == folded


def test_a_handful_of_requests_go_to_the_smaller_model() -> None:
    models = [item.routing_decision.model for item in samples.fixture_items()]
    assert set(models) == {"gpt-5.2", "gpt-5-mini"}
    assert models.count("gpt-5-mini") < 10


def test_no_complaint_is_written_twice() -> None:
    texts = [complaint.original_text for complaint in samples.complaints()]
    keys = [complaint.key for complaint in samples.complaints()]
    assert len(set(texts)) == len(texts)
    assert len(set(keys)) == len(keys)


def test_every_awkward_complaint_says_why_it_is_there() -> None:
    awkward = [complaint for complaint in samples.complaints() if complaint.awkward]
    assert len(awkward) >= 14
    assert all(complaint.note for complaint in awkward)


def has(*characters: str) -> Callable[[str], bool]:
    return lambda text: all(character in text for character in characters)


def matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.search(pattern, text) is not None


def is_decomposed(text: str) -> bool:
    return text == unicodedata.normalize("NFD", text) != unicodedata.normalize("NFC", text)


AWKWARD: list[tuple[str, Callable[[str], bool]]] = [
    ("emoji-zwj", has("\u200d", "\U0001f468", "\U0001f3fd")),
    ("emoji-flags", has("\U0001f1e6\U0001f1f7")),
    ("emoji-only", lambda text: not any(character.isalnum() for character in text)),
    ("rtl-hebrew-english", matches(r"[\u05d0-\u05ea].*[A-Za-z]")),
    ("rtl-hebrew-english", lambda text: bool(BIDI & set(text))),
    ("rtl-arabic-bidi", has("\u202b", "\u202c", "\u061c")),
    ("zero-width", matches(r"\w[\u200b\u200c\u2060\ufeff\u00ad]\w")),
    ("quotes-backslashes", has('"', "“", "'", "‘", "\\")),
    ("newlines-tabs", has("\n", "\t", "\r")),
    ("line-separators", has("\u2028", "\u2029")),
    ("next-line", has("\u0085", "\x0b", "\x0c")),
    ("long-rant", lambda text: len(text) >= 4000),
    ("long-rant", lambda text: len(set(text.split(". "))) == len(text.split(". "))),
    ("orders-english", has("Ignore all previous instructions")),
    ("orders-spanish", has("Olvida todas las instrucciones anteriores")),
    ("json-looking", has('{"rewritten_text"')),
    ("html-markdown", has("<script>", "```", "**", "&lt;")),
    ("one-word", lambda text: len(text.split()) == 1),
    ("one-character", lambda text: len(text) == 1),
    ("decomposed", is_decomposed),
    ("decomposed-vietnamese", is_decomposed),
    ("combining-pile", matches(r"[\u0300-\u036f]{3}")),
    ("fullwidth", matches(r"[\uff10-\uff19].*[\uff21-\uff5a].*\u3000")),
    ("contact-details", matches(r"\S+@example\.com.*\+1 555-0100.*https://")),
    ("spaces-around", lambda text: text != text.strip()),
    ("rare-planes", lambda text: any(ord(character) > 0xFFFF for character in text)),
]


@pytest.mark.parametrize(("key", "holds"), AWKWARD)
def test_an_awkward_complaint_really_has_what_it_is_named_after(key: str, holds: Callable[[str], bool]) -> None:
    by_key = {complaint.key: complaint for complaint in samples.complaints()}
    assert holds(by_key[f"awkward-{key}"].original_text)


def test_the_committed_requests_are_what_the_complaints_give() -> None:
    committed = (samples.fixtures_dir() / "requests.jsonl").read_bytes()
    assert committed == samples.requests_jsonl().encode()


def test_every_committed_request_is_valid_when_lines_end_at_newlines_alone() -> None:
    with (samples.fixtures_dir() / "requests.jsonl").open("rb") as lines:
        read = [EnqueueItemV1.from_json(line) for line in lines]
    assert read == samples.fixture_items()


def test_the_text_reaches_the_request_unchanged() -> None:
    stored = [item.rewrite_request.original_text for item in samples.fixture_items()]
    assert stored == [complaint.original_text for complaint in samples.complaints()]


def test_the_classifier_agrees_with_the_complaint() -> None:
    for complaint, item in zip(samples.complaints(), samples.fixture_items(), strict=True):
        result = item.rewrite_request.classifier_result
        assert result.detected_language == normalise_locale(complaint.source_locale)
        assert (result.topics, result.intent) == (complaint.topics, complaint.intent)
        assert result.safety_flags == complaint.safety_flags


def test_fixture_ids_are_distinct_and_a_few_complaints_share_a_home() -> None:
    items = samples.fixture_items()
    homes = {item.rewrite_request.home_id for item in items}
    assert len(items) * 0.8 < len(homes) < len(items)
    assert len(set[str]().union(*map(ids, items))) == 5 * len(items) + len(homes)


def test_no_execution_unit_is_generated_twice() -> None:
    requests = [item.rewrite_request for item in samples.generate(3000, seed=1)]
    assert len({(request.rewrite_request_id, request.recipient_user_id) for request in requests}) == 3000


def test_the_same_seed_gives_the_same_bytes() -> None:
    first = [item.to_json() for item in samples.generate(500, seed=7)]
    assert first == [item.to_json() for item in samples.generate(500, seed=7)]


def test_fewer_items_are_the_beginning_of_more_items() -> None:
    assert list(samples.generate(20, seed=3)) == list(islice(samples.generate(10**9, seed=3), 20))


def test_different_seeds_share_no_id_with_each_other_or_with_the_fixtures() -> None:
    groups = [samples.generate(1000, seed=1), samples.generate(1000, seed=2), samples.fixture_items()]
    found = [set[str]().union(*map(ids, group)) for group in groups]
    assert len(set[str]().union(*found)) == sum(map(len, found))


def test_generated_items_are_valid_though_they_are_copied_without_validation() -> None:
    for item in samples.generate(1000, seed=5):
        assert EnqueueItemV1.from_json(item.to_json()) == item


def test_generated_texts_and_homes_vary() -> None:
    requests = [item.rewrite_request for item in samples.generate(3000, seed=9)]
    assert len({request.original_text for request in requests}) > 1500
    assert len({request.home_id for request in requests}) == 1000
    assert len({(request.source_locale, request.target_locale) for request in requests}) >= 30


def test_a_generated_text_still_holds_its_complaint() -> None:
    originals = {complaint.original_text for complaint in samples.complaints()}
    for item in samples.generate(300, seed=11):
        assert any(original in item.rewrite_request.original_text for original in originals)


def answers(language: str) -> dict[str, Any]:
    return json.loads((ANSWERS / f"{language}.json").read_bytes())


def kind_texts(document: dict[str, Any]) -> Iterator[str]:
    yield from document["openers"]
    yield from document["closers"]
    for by_intent in document["sentences"].values():
        for texts in by_intent.values():
            yield from texts


def test_there_is_a_file_of_answers_for_every_language_and_no_other() -> None:
    assert {path.stem for path in ANSWERS.glob("*.json")} == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_have_the_full_shape(language: str) -> None:
    document = answers(language)
    assert set(document) == {"language", "openers", "sentences", "closers", "bad"}
    assert document["language"] == language
    assert set(document["sentences"]) == set(get_args(Topic))
    for by_intent in document["sentences"].values():
        assert set(by_intent) == set(get_args(Intent))
        assert all(len(texts) >= (3 if language == "en" else 2) for texts in by_intent.values())
    assert len(document["openers"]) == len(document["closers"]) == 3
    assert {kind: len(texts) for kind, texts in document["bad"].items()} == {
        "profanity": 2,
        "blame": 2,
        "authority": 2,
        "refusal": 2,
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_kind_answers_hold_no_digit_and_are_each_said_once(language: str) -> None:
    texts = list(kind_texts(answers(language)))
    assert len(set(texts)) == len(texts)
    assert not [text for text in texts if any(character.isdigit() for character in text)]
    assert all(text == text.strip() and text for text in texts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_openers_ask_nothing(language: str) -> None:
    assert not [text for text in answers(language)["openers"] if re.search(r"[?？؟]", text)]


def test_every_kind_answer_of_the_simulator_passes_as_a_rewrite_of_every_complaint() -> None:
    lines: list[Line] = []
    for file in sorted(ANSWERS.glob("*.json")):
        data: dict[str, Any] = json.loads(file.read_text())
        openers: Iterator[str] = cycle(data["openers"])
        closers: Iterator[str] = cycle(data["closers"])
        gap = "" if file.stem in ("zh", "ja") else " "
        for complaint in samples.complaints():
            said: list[str] = data["sentences"][complaint.topics[0]][complaint.intent]
            texts = zip(openers, said, closers, strict=False)
            lines += [
                Line(
                    id=f"{complaint.key} {file.stem}", target_locale=file.stem, source_locale=complaint.source_locale,
                    original_text=complaint.original_text, intent=complaint.intent, power_mode=complaint.power_mode,
                    rewritten_text=gap.join(text), topics=list(complaint.topics),
                )
                for text in texts
            ]  # fmt: skip
    verdicts = evaluate(candidates_of(lines))
    refused: list[Any] = [
        (lines[row["row"]], row["rules"]) for row in verdicts.iter_rows(named=True) if not row["kept"]
    ]
    assert len(lines) > 5_000
    assert refused == []
