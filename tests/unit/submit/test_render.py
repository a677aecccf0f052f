"""Rendering: deterministic lines, people's words only as data, and no id of ours."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.contracts.shapes import EnqueueItemV1, RewriteRequestV1
from rewrite_batch.samples import complaints, fixture_items, generate
from rewrite_batch.submit.prompts import Prompt, prompts
from rewrite_batch.submit.render import (
    MAX_INDEX,
    MAX_OUTPUT_TOKENS,
    custom_id,
    max_output_tokens,
    parse_custom_id,
    render,
    render_line,
)
from tests.unit.submit.requests import item

BATCH = UUID("0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b")
PROMPT = prompts()["v1"]
DATA_KEYS = {
    "original_text",
    "source_language",
    "target_language",
    "intent",
    "topics",
    "rewrite_strength",
    "tone",
    "directness",
    "policy",
    "power_mode",
    "tone_multiplier",
    "repair_timing",
    "framing",
    "avoid",
    "do_not_add",
    "recipient_signals",
}


def line_of(made: EnqueueItemV1, index: int = 0, prompt: Prompt = PROMPT) -> bytes:
    return render_line(custom_id(BATCH, index), made.rewrite_request, made.routing_decision, prompt)


def body_of(made: EnqueueItemV1) -> dict[str, Any]:
    return json.loads(line_of(made))["body"]


def data_of(made: EnqueueItemV1) -> dict[str, Any]:
    return json.loads(body_of(made)["input"][0]["content"][0]["text"])


@given(st.uuids(), st.integers(0, MAX_INDEX))
def test_custom_ids_round_trip(batch: UUID, index: int) -> None:
    text = custom_id(batch, index)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text)
    assert parse_custom_id(text) == (batch, index)


@given(st.text(st.sampled_from("0123456789abcdefABCDEF-٣ \n"), max_size=45) | st.text())
def test_what_reads_as_a_custom_id_is_spelled_as_one(text: str) -> None:
    parsed = parse_custom_id(text)
    assert parsed is None or custom_id(*parsed) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        BATCH.hex,
        f"{BATCH.hex}-",
        f"{BATCH.hex}-01",
        f"{BATCH.hex}-00",
        f"{BATCH.hex}--1",
        f"{BATCH.hex}-+1",
        f"{BATCH.hex}-1 ",
        f"{BATCH.hex}-1\n",
        f"{BATCH.hex}-1_0",
        f"{BATCH.hex}-٣",
        f"{BATCH.hex}-100000",
        f"{BATCH.hex}-{'9' * 5000}",
        f"{BATCH.hex.upper()}-1",
        f"{BATCH}-1",
        f"0{BATCH.hex}-1",
    ],
)
def test_another_spelling_is_nobodys_custom_id(text: str) -> None:
    assert parse_custom_id(text) is None


@pytest.mark.parametrize("index", [-1, MAX_INDEX + 1])
def test_an_index_that_could_not_be_read_back_is_never_written(index: int) -> None:
    with pytest.raises(ValueError, match="index"):
        custom_id(BATCH, index)


def test_a_line_is_what_the_provider_documents() -> None:
    line = json.loads(line_of(item(), 7))
    assert list(line) == ["custom_id", "method", "url", "body"]
    assert line["custom_id"] == f"{BATCH.hex}-7"
    assert (line["method"], line["url"]) == ("POST", "/v1/responses")
    body = line["body"]
    assert set(body) == {"model", "instructions", "text", "store", "max_output_tokens", "input"}
    assert body["model"] == "gpt-5.2"
    assert body["store"] is False
    answer = body["text"]["format"]
    assert (answer["type"], answer["name"], answer["strict"]) == ("json_schema", "rewrite", True)
    assert answer["schema"]["additionalProperties"] is False
    assert answer["schema"]["required"] == list(answer["schema"]["properties"]) == ["rewritten_text", "output_language"]
    assert [message["role"] for message in body["input"]] == ["user"]
    assert [part["type"] for part in body["input"][0]["content"]] == ["input_text"]


def test_a_stand_in_that_shares_no_code_with_us_reads_the_same_request() -> None:
    from rewrite_batch.simulator.request_body import read_ask, read_request

    for made in fixture_items():
        read = read_request(body_of(made))
        ask = read_ask(read.user_text)
        request = made.rewrite_request
        assert (read.model, ask.original_text) == (made.routing_decision.model, request.original_text)
        assert (ask.target_language, ask.intent) == (request.target_locale, request.intent)
        assert ask.topic == request.topics[0]


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("gpt-4o", True),
        ("gpt-4o-mini", True),
        ("gpt-4o-2024-11-20", True),
        ("gpt-4.1", True),
        ("gpt-4.1-mini", True),
        ("ft:gpt-4.1-mini:us", True),
        ("gpt-5", False),
        ("gpt-5.2-2026-02-01", False),
        ("o3", False),
        ("o4-mini", False),
        ("gpt-4.15", False),
        ("something-new", False),
    ],
)
def test_temperature_goes_only_to_models_that_take_it(model: str, takes: bool) -> None:
    assert ("temperature" in body_of(item({"model": model}))) == takes


@given(st.sampled_from(["gpt-5.2", "gpt-4o"]), st.integers(0, 20_000), st.integers(0, 20_000))
def test_output_limits_grow_with_the_text_between_their_bounds(model: str, one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert 256 <= max_output_tokens(model, low) <= max_output_tokens(model, high) <= MAX_OUTPUT_TOKENS


def test_a_model_that_reasons_gets_room_for_it() -> None:
    assert max_output_tokens("gpt-5.2", 100) >= max_output_tokens("gpt-4o", 100) + 1_000


def ids_of(request: RewriteRequestV1) -> Iterator[str]:
    for name, value in request:
        if isinstance(value, UUID):
            assert name.endswith("_id")
            yield from (str(value), value.hex)
    scope = request.context_pack.topic_scope
    yield from (*scope.included_preference_ids, *scope.excluded_preference_ids)
    yield from (signal.preference_id for signal in request.context_pack.recipient_signals)


def test_no_id_and_no_safety_note_leaves_the_house() -> None:
    for made in fixture_items():
        request, line = made.rewrite_request, line_of(made).decode()
        ids = list(ids_of(request))
        assert len(ids) >= 12
        assert [one for one in ids if one in line] == []
        assert [note for note in request.context_pack.safety_notes if note in line] == []


def test_canaries_in_every_id_and_note_stay_inside() -> None:
    document = item().rewrite_request.model_dump(mode="json")
    document["context_pack"]["topic_scope"]["included_preference_ids"] = ["canary.included"]
    document["context_pack"]["topic_scope"]["excluded_preference_ids"] = ["canary.excluded"]
    signal = {"preference_id": "canary.signal", "value_key": "calm", "instruction": "Speak of rest."}
    document["context_pack"]["recipient_signals"] = [signal]
    document["context_pack"]["safety_notes"] = ["canary note"]
    for version in ("classifier_version", "context_pack_version"):
        document[version] = "canary.version"
    request = RewriteRequestV1.from_json(json.dumps(document))
    line = render_line(custom_id(BATCH, 0), request, item().routing_decision, PROMPT)
    assert b"canary" not in line
    data = json.loads(json.loads(line)["body"]["input"][0]["content"][0]["text"])
    assert data["recipient_signals"] == [{"value_key": "calm", "instruction": "Speak of rest."}]


def test_the_text_is_data_and_never_instructions_whatever_it_orders() -> None:
    awkward = {one.original_text for one in complaints() if one.key.startswith("awkward-orders")}
    assert len(awkward) >= 2
    seen: set[str] = set()
    for made in fixture_items():
        text = made.rewrite_request.original_text
        body, data = body_of(made), data_of(made)
        assert data["original_text"] == text
        assert set(data) <= DATA_KEYS
        assert body["instructions"] == PROMPT.instructions(made.rewrite_request.target_locale)
        assert text not in json.dumps({**body, "input": None}, ensure_ascii=False)
        assert text not in json.dumps({**data, "original_text": None}, ensure_ascii=False)
        seen.add(text)
    assert awkward <= seen


def test_instructions_depend_on_the_target_alone_and_name_it_last() -> None:
    spanish, german = (PROMPT.instructions(tag) for tag in ("es", "de"))
    assert "Spanish (`es`)" in spanish
    assert "`ast`" in PROMPT.instructions("ast")
    assert "{" not in spanish
    differ = next(place for place, (one, other) in enumerate(zip(spanish, german, strict=False)) if one != other)
    assert differ > 0.98 * len(spanish)


def test_the_prompt_is_long_enough_to_be_cached() -> None:
    # The provider caches from 1,024 tokens; English prose has between 4 and 4.7 characters a token.
    assert len(PROMPT.text) / 4.7 >= 1_050
    assert len(PROMPT.text) / 4 <= 1_500


def test_the_prompt_explains_every_field_that_it_is_given() -> None:
    sent = set[str]().union(*(data_of(made) for made in fixture_items()))
    assert sent == DATA_KEYS
    assert [key for key in sorted(sent) if f"`{key}`" not in PROMPT.text] == []


@pytest.mark.parametrize("version", ["", "v2", "V1", "../prompts/v1", "v1.md", "/etc/passwd", "__init__", ".", ".."])
def test_a_version_is_a_name_and_never_a_path(version: str) -> None:
    assert version not in prompts()


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200)


@given(texts.filter(lambda text: bool(text.strip())))
def test_any_text_is_one_line_for_any_reader_and_comes_back_whole(text: str) -> None:
    made = item(text=text + "\u2028\u2029\u0085\r\n\x1c\x0b")
    line = line_of(made)
    assert line.endswith(b"\n")
    assert len(line.decode().splitlines()) == 1
    assert data_of(made)["original_text"] == made.rewrite_request.original_text


def test_letters_of_any_script_are_sent_as_they_are() -> None:
    assert "静かに".encode() in line_of(item(text="静かに"))


@given(st.integers(0, MAX_INDEX))
def test_the_size_is_known_before_the_place_is(index: int) -> None:
    made = item()
    rendered = render(made.rewrite_request, made.routing_decision, PROMPT)
    line = rendered.line(custom_id(BATCH, index))
    assert 0 <= rendered.line_bytes - len(line) <= 4
    assert rendered.line_bytes == len(rendered.line(custom_id(BATCH, MAX_INDEX)))
    assert rendered.prompt_chars == len(PROMPT.instructions("es"))
    assert rendered.data_chars == len(json.loads(line)["body"]["input"][0]["content"][0]["text"])


RENDER_ALL = """
import hashlib
from rewrite_batch.samples import fixture_items
from tests.unit.submit.test_render import line_of
print(hashlib.sha256(b"".join(line_of(item, index) for index, item in enumerate(fixture_items()))).hexdigest())
"""


def test_every_process_renders_the_same_bytes() -> None:
    here = hashlib.sha256(b"".join(line_of(made, index) for index, made in enumerate(fixture_items()))).hexdigest()
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", RENDER_ALL], env=environ, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == here


def test_rendering_keeps_nothing() -> None:
    items = list(generate(500, seed=1))
    for made in items:  # fills the caches
        line_of(made)
    tracemalloc.start()
    try:
        total = sum(len(line_of(items[index % 500], index)) for index in range(20_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total > 100_000_000
    assert peak < 2_000_000
