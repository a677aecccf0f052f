"""The stand-in model: kind answers in the language asked for, and bad ones of every class on demand."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from rewrite_batch.simulator.model import BAD_CLASSES
from rewrite_batch.simulator.phrases import PACKAGED
from rewrite_batch.simulator.process import Simulator, running_simulator
from rewrite_batch.simulator.request_body import INTENTS, TOPICS
from tests.simulator.household import completed, jsonl, line, respond, results, rewritten, said, upload

LANGUAGES = sorted(path.stem for path in PACKAGED.glob("*.json"))
LONG = "Be kind and brief. " * 300


def answers(simulator: Simulator, client: OpenAI, *lines: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return results(client, completed(simulator, client, jsonl(*lines))).by_id()


def test_at_least_sixteen_languages_are_answered_in_their_own_words(simulator: Simulator, client: OpenAI) -> None:
    assert len(LANGUAGES) >= 16
    found = answers(simulator, client, *(line(n, language) for n, language in enumerate(LANGUAGES)))
    texts = {language: rewritten(found[f"line_{n}"]) for n, language in enumerate(LANGUAGES)}
    assert {language: text["output_language"] for language, text in texts.items()} == {x: x for x in LANGUAGES}
    assert len({text["rewritten_text"] for text in texts.values()}) == len(LANGUAGES)
    for language, script in (
        ("zh", "你"),
        ("ja", "\u3040\u309f"),
        ("ru", "ая"),
        ("ar", "\u0627\u064a"),
        ("th", "\u0e01\u0e4f"),
    ):
        low, high = min(script), max(script)
        assert any(low <= character <= high for character in texts[language]["rewritten_text"]), language


def test_every_phrase_file_covers_every_topic_and_intent() -> None:
    for language in LANGUAGES:
        data = json.loads((PACKAGED / f"{language}.json").read_text())
        assert set(data["sentences"]) == set(TOPICS), language
        assert all(set(topic) == set(INTENTS) for topic in data["sentences"].values()), language
        assert set(data["bad"]) >= {"profanity", "blame", "authority", "refusal"}, language


def test_a_regional_language_is_answered_and_named_as_asked(simulator: Simulator, client: OpenAI) -> None:
    found = answers(simulator, client, line(0, "pt-BR"), line(1, "pt"), line(2, "xx"))
    assert rewritten(found["line_0"])["output_language"] == "pt-BR"
    assert rewritten(found["line_2"])["output_language"] == "en"


def test_what_is_asked_decides_the_answer(simulator: Simulator, client: OpenAI) -> None:
    def asking(**asked: Any) -> dict[str, Any]:
        return {"input": json.dumps({"original_text": "x", "target_language": "en"} | asked)}

    found = answers(
        simulator,
        client,
        line(0, body=asking(topics=["guests"], intent="boundary")),
        line(1, body=asking(topics=["noise"], intent="boundary")),
        line(2, body=asking(topics=["unheard-of"], intent="nonsense")),
        line(3, body={"input": "no JSON at all"}),
    )
    data = json.loads((PACKAGED / "en.json").read_text())["sentences"]
    for number, (topic, intent) in enumerate((("guests", "boundary"), ("noise", "boundary"), ("other", "request"))):
        text = rewritten(found[f"line_{number}"])["rewritten_text"]
        assert any(sentence in text for sentence in data[topic][intent])
    assert rewritten(found["line_3"])["output_language"] == "en"


def test_the_answer_does_not_depend_on_the_custom_id(simulator: Simulator, client: OpenAI) -> None:
    first = answers(simulator, client, line(5))["line_5"]
    again = answers(simulator, client, line(5, custom_id="another_id"))["another_id"]
    assert said(first) == said(again)


def test_a_good_answer_has_reasoning_first_and_usage_that_adds_up(simulator: Simulator, client: OpenAI) -> None:
    response = answers(simulator, client, line(0))["line_0"]["response"]["body"]
    assert [item["type"] for item in response["output"]] == ["reasoning", "message"]
    usage = response["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["output_tokens"] > usage["output_tokens_details"]["reasoning_tokens"]


def test_long_instructions_are_cached_after_their_first_line(simulator: Simulator, client: OpenAI) -> None:
    lines = [line(n, body={"instructions": LONG}) for n in range(4)]
    found = answers(simulator, client, *lines, line(4), line(5))
    details = [found[f"line_{n}"]["response"]["body"]["usage"]["input_tokens_details"] for n in range(6)]
    cached = sorted(entry["cached_tokens"] for entry in details[:4])
    assert cached[0] == 0
    assert cached[1:] == [len(LONG) // 4 // 128 * 128] * 3
    assert sum(entry["cache_write_tokens"] for entry in details) == cached[1]
    assert [entry["cached_tokens"] for entry in details[4:]] == [0, 0]


def test_some_answers_come_in_awkward_shapes(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(split_message_share=1.0, legacy_usage_share=1.0)
    response = answers(simulator, client, line(0))["line_0"]["response"]["body"]
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "message"]
    assert response["output"][1]["content"][0]["text"] == ""
    assert set(response["usage"]) == {"input_tokens", "output_tokens", "total_tokens"}


def test_a_text_longer_than_allowed_is_truncated(simulator: Simulator, client: OpenAI) -> None:
    response = answers(simulator, client, line(0, body={"max_output_tokens": 16}))["line_0"]["response"]["body"]
    assert (response["status"], response["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
    assert response["usage"]["output_tokens"] <= 16


def _is(sort: str, entry: dict[str, Any], language: str = "es") -> bool:
    """Whether a result line is a bad answer of this class, seen from outside."""
    code, response = entry["response"]["status_code"], entry["response"]["body"]
    if sort.startswith("http_"):
        return code == int(sort[5:]) and entry["error"] is None and "error" in response
    if sort == "status_zero" or code != 200:
        return sort == "status_zero" and code == 0
    phrases = json.loads((PACKAGED / f"{language}.json").read_text())
    text = said(entry)
    whole: dict[str, Any] = json.loads(text) if text.endswith("}") else {}
    rewrite: str = whole.get("rewritten_text", "")
    own = any(opener in rewrite for opener in phrases["openers"])
    details: dict[str, Any] = response["incomplete_details"] or {}
    incomplete = details.get("reason")
    seen = {
        "refusal": [part["type"] for part in response["output"][-1].get("content", [])] == ["refusal"],
        "truncated": response["status"] == "incomplete" and incomplete == "max_output_tokens" and not whole,
        "content_filter": response["status"] == "incomplete" and incomplete == "content_filter",
        "wrong_language": bool(rewrite)
        and not own
        and not rewrite.startswith("Turn")
        and whole["output_language"] == language,
        "wrong_label": own and whole["output_language"] != language,
        "echo": rewrite.startswith("Turn that music down"),
        "broken_json": bool(text) and not whole and response["status"] == "completed",
        "extra_keys": set(whole) > {"rewritten_text", "output_language"},
        "empty": whole != {} and rewrite == "",
        "no_message": response["status"] == "completed" and len(response["output"]) == 1,
        "failed_response": response["status"] == "failed" and response["error"] is not None,
    }
    if sort in seen:
        return seen[sort]
    return any(phrase in rewrite for phrase in phrases["bad"][sort])


def test_no_class_of_bad_answer_was_forgotten() -> None:
    said_badly = {"wrong_language", "wrong_label", "profanity", "blame", "authority", "echo"}
    shaped_badly = {"broken_json", "extra_keys", "empty", "no_message", "truncated", "content_filter", "refusal"}
    assert set(BAD_CLASSES) >= said_badly | shaped_badly | {"failed_response", "http_400", "http_429", "status_zero"}


def test_every_class_of_bad_answer_can_be_had(simulator: Simulator, client: OpenAI) -> None:
    lines = [line(number) for number in range(len(BAD_CLASSES) + 1)]
    faults = [
        simulator.arm({"operation": "line", "index": number, "kind": sort}) for number, sort in enumerate(BAD_CLASSES)
    ]
    found = answers(simulator, client, *lines)
    for number, sort in enumerate(BAD_CLASSES):
        assert _is(sort, found[f"line_{number}"]), sort
    good = found[f"line_{len(BAD_CLASSES)}"]
    assert not any(_is(sort, good) for sort in BAD_CLASSES)
    assert [simulator.fired(fault) for fault in faults] == [1] * len(faults)


@pytest.mark.parametrize("how", ["share", "shares"])
def test_a_seeded_share_of_answers_is_bad(simulator: Simulator, client: OpenAI, how: str) -> None:
    if how == "share":
        simulator.settings(bad_share=0.4)
    else:
        simulator.settings(bad_shares={"refusal": 0.2, "http_500": 0.2})
    found = answers(simulator, client, *(line(number) for number in range(600)))
    sorts = Counter(next((s for s in BAD_CLASSES if _is(s, entry)), "good") for entry in found.values())
    assert 0.5 < sorts["good"] / 600 < 0.7
    assert set(sorts) - {"good"} == (set(BAD_CLASSES) if how == "share" else {"refusal", "http_500"})


def test_a_retry_may_get_past_a_failure_of_the_service(simulator: Simulator, client: OpenAI) -> None:
    simulator.settings(bad_shares={"http_500": 0.5})
    content = [line(number) for number in range(40)]
    first, second = (answers(simulator, client, *content) for _ in range(2))
    outcomes = {(_is("http_500", first[name]), _is("http_500", second[name])) for name in first}
    assert outcomes == {(True, True), (True, False), (False, True), (False, False)}


def test_another_directory_of_phrases_can_be_used(tmp_path: Path) -> None:
    spoken = {"request": ["S."]}
    data = {"openers": ["O."], "sentences": {"noise": spoken}, "closers": ["C."], "bad": {"refusal": ["No."]}}
    (tmp_path / "answers").mkdir()
    for language in ("en", "ja"):
        (tmp_path / "answers" / f"{language}.json").write_text(json.dumps(data))
    with (
        running_simulator(tmp_path / "state", "sk", time_scale=0, answers_dir=tmp_path / "answers") as simulator,
        OpenAI(base_url=simulator.base_url, api_key="sk") as client,
    ):
        for language, text in (("en", "O. S. C."), ("ja", "O.S.C.")):
            response = respond(client, language).parse()
            assert json.loads(response.output_text)["rewritten_text"] == text


def test_two_simulators_with_one_seed_write_the_same_bytes(tmp_path: Path) -> None:
    written = [_run_fresh(tmp_path / name, seed=seed) for name, seed in (("a", 3), ("b", 3), ("c", 4))]
    assert written[0] == written[1]
    assert written[0] != written[2]


def _run_fresh(state: Path, seed: int) -> tuple[bytes, bytes]:
    options: dict[str, Any] = {"time_scale": 0, "clock_start": 1.8e9, "seed": seed, "bad_share": 0.5}
    with (
        running_simulator(state, "sk", **options) as simulator,
        OpenAI(base_url=simulator.base_url, api_key="sk") as client,
    ):
        batch = completed(simulator, client, jsonl(*(line(number) for number in range(60))))
        assert upload(client, b"{}").id
        assert batch.output_file_id is not None
        assert batch.error_file_id is not None
        output, errors = (client.files.content(name).content for name in (batch.output_file_id, batch.error_file_id))
        return output, errors
