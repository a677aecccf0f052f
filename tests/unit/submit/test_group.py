"""Grouping: one key, nothing lost, no limit broken."""

from collections import defaultdict
from dataclasses import fields, replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.submit.group import Grouping, GroupKey, Limits, Packer, Refused, Slot, Unit, batch_group_key
from tests.unit.submit.requests import item

KEY = GroupKey("openai", "gpt-5.2", "v3", "v1", "batch", "same_language", "en", "en")


def key_of(source: str = "en-US", target: str = "en-US", **routing: str) -> GroupKey:
    lane = "same_language" if source[:2] == target[:2] else "cross_language"
    made = item({"prompt_version": "v3", **routing}, source_locale=source, target_locale=target, lane=lane)
    return batch_group_key(made.routing_decision, made.rewrite_request)


def unit(number: int = 0, key: GroupKey = KEY, line_bytes: int = 100, tokens: int = 10, **more: str | None) -> Unit:
    ids = UUID(int=number)
    made = Unit(ids, ids, ids, 1, key, line_bytes, input_chars=40, input_tokens=tokens, output_tokens=5)
    return replace(made, **more)


def test_example_a_jobs_that_agree_in_all_eight_parts_share_a_key() -> None:
    assert key_of() == key_of() == KEY
    assert key_of().text == "openai|gpt-5.2|v3|v1|batch|same_language|en|en"


def test_example_b_another_target_locale_is_another_key() -> None:
    assert key_of(target="es-ES") != key_of()
    assert key_of(target="es-ES").text == "openai|gpt-5.2|v3|v1|batch|cross_language|en|es"


def test_example_c_another_prompt_version_is_another_key() -> None:
    assert key_of(prompt_version="v4") != key_of()


@pytest.mark.parametrize("part", [field.name for field in fields(GroupKey)])
def test_each_of_the_eight_parts_tells_keys_apart(part: str) -> None:
    other = replace(KEY, **{part: "other"})
    assert other != KEY
    assert other.text != KEY.text


def test_spellings_of_one_language_are_one_key() -> None:
    assert key_of("en-US", "en-NZ") == key_of("en", "en-GB")


parts = st.text(st.sampled_from("ab|"), max_size=3)


@given(st.lists(parts, min_size=8, max_size=8), st.lists(parts, min_size=8, max_size=8))
def test_two_keys_never_have_one_text(one: list[str], two: list[str]) -> None:
    try:
        first, second = GroupKey(*one), GroupKey(*two)
    except ValueError:
        assert any("|" in part for part in one + two)
        return
    assert (first.text == second.text) == (one == two)


def test_a_line_that_does_not_fit_closes_its_batch_and_opens_the_next() -> None:
    packer = Packer(Limits(max_bytes=250), "by_group")
    assert packer.place(unit(1, line_bytes=60)) == Slot(0, 0)
    assert packer.place(unit(2, line_bytes=120)) == Slot(0, 1, closed=(0,))
    assert packer.place(unit(3, line_bytes=60)) == Slot(1, 0)
    assert packer.place(unit(4, line_bytes=200)) == Slot(2, 0, closed=(1, 2))
    assert packer.close_all() == []


def test_a_batch_is_full_at_its_last_line() -> None:
    packer = Packer(Limits(max_lines=2), "by_group")
    first, second = packer.place(unit(1)), packer.place(unit(2))
    assert isinstance(first, Slot)
    assert isinstance(second, Slot)
    assert (first.full, second.full) == (False, True)
    assert packer.place(unit(3)) == Slot(1, 0)
    assert packer.close_all() == [1]


def test_limits_are_reached_and_not_passed() -> None:
    packer = Packer(Limits(max_bytes=100, token_limits={"gpt-5.2": 30}), "by_group")
    assert packer.place(unit(1, line_bytes=40)) == Slot(0, 0)
    assert packer.place(unit(2, line_bytes=60)) == Slot(0, 1, closed=(0,))
    assert packer.place(unit(3, line_bytes=40, tokens=11)) == Refused("token_limit")
    assert packer.place(unit(4, line_bytes=40, tokens=10)) == Slot(1, 0)
    roomy = Packer(Limits(max_bytes=100), "by_group")
    roomy.place(unit(1, line_bytes=40))
    assert roomy.place(unit(2, line_bytes=61)) == Slot(1, 0, closed=(0, 1))


def test_a_line_that_no_file_could_hold_is_refused_and_takes_nothing() -> None:
    packer = Packer(Limits(max_bytes=100, token_limits={"gpt-5.2": 10}), "by_group")
    assert packer.place(unit(1, line_bytes=101)) == Refused("line_too_large")
    assert packer.place(unit(2, line_bytes=100, tokens=10)) == Slot(0, 0, closed=(0,))


def test_a_line_over_the_limit_of_a_line_is_refused() -> None:
    assert Packer(Limits(max_line_bytes=99), "packed").place(unit()) == Refused("line_too_large")


def test_what_is_over_a_models_tokens_waits_and_other_models_go_on() -> None:
    packer = Packer(Limits(token_limits={"gpt-5.2": 15, "paused": 0}), "by_group")
    assert packer.place(unit(1)) == Slot(0, 0)
    assert packer.place(unit(2)) == Refused("token_limit")
    assert packer.place(unit(3, replace(KEY, model="gpt-5-mini"))) == Slot(1, 0)
    assert packer.place(unit(4, replace(KEY, model="paused"))) == Refused("token_limit")
    assert packer.close_all() == [0, 1]


@pytest.mark.parametrize(("grouping", "batches"), [("by_group", [0, 1]), ("packed", [0])])
def test_packed_puts_groups_of_one_model_in_one_file(grouping: Grouping, batches: list[int]) -> None:
    packer = Packer(Limits(), grouping)
    packer.place(unit(1))
    packer.place(unit(2, replace(KEY, target_locale="es")))
    assert packer.close_all() == batches


@pytest.mark.parametrize("grouping", ["by_group", "packed"])
def test_a_file_goes_to_one_address(grouping: Grouping) -> None:
    packer = Packer(Limits(), grouping)
    packer.place(unit(1))
    packer.place(unit(2, base_url="https://eu.api.openai.com/v1"))
    assert packer.close_all() == [0, 1]


def closed_by(packer: Packer, placing: Unit) -> tuple[int, ...]:
    slot = packer.place(placing)
    assert isinstance(slot, Slot)
    return slot.closed


def test_once_a_batchs_worth_is_open_each_batch_of_a_thousand_goes_out() -> None:
    """Or all of them would be sent at the end of the run, and nobody would send while it renders."""
    packer = Packer(Limits(max_lines=2_500), "packed")
    models = [replace(KEY, model=f"m{number}") for number in range(3)]
    gone = {n: closed for n in range(3_600) if (closed := closed_by(packer, unit(n, models[n % 3])))}
    assert gone == {2_997: (0,), 3_499: (1,)}
    assert packer.close_all() == [2, 3, 4]


def test_small_groups_wait_for_each_other_however_many_there_are() -> None:
    packer = Packer(Limits(max_lines=2_000), "by_group")
    keys = [replace(KEY, policy_version=f"v{number}") for number in range(5)]
    assert not any(closed_by(packer, unit(n, keys[n % 5])) for n in range(4_995))
    assert packer.close_all() == [0, 1, 2, 3, 4]


KEYS = [
    replace(KEY, model=model, target_locale=target) for model in ("m1", "m2", "m3") for target in ("en", "es", "de")
]
keys = st.sampled_from(KEYS)
sizes = st.lists(st.tuples(keys, st.integers(1, 120), st.integers(1, 50)), max_size=80)
limits = st.builds(
    Limits,
    max_lines=st.integers(1, 6),
    max_bytes=st.integers(50, 400),
    max_line_bytes=st.integers(50, 110),
    token_limits=st.dictionaries(st.sampled_from(["m1", "m2"]), st.integers(0, 300)),
)


@given(sizes, limits, st.sampled_from(["by_group", "packed"]))
def test_packing_loses_nothing_and_breaks_no_limit(
    made: list[tuple[GroupKey, int, int]], limits: Limits, grouping: Grouping
) -> None:
    packer = Packer(limits, grouping)
    batches: dict[int, list[Unit]] = defaultdict(list)
    closed: list[int] = []
    refused: list[tuple[Unit, Refused]] = []
    for number, (key, size, tokens) in enumerate(made):
        placing = unit(number, key, size, tokens)
        place = packer.place(placing)
        if isinstance(place, Refused):
            refused.append((placing, place))
            continue
        assert place.batch not in closed
        assert place.index == len(batches[place.batch])  # from 0, no gap, in the order of placing
        batches[place.batch].append(placing)
        closed += place.closed
    closed += packer.close_all()

    assert sorted(closed) == sorted(batches) == list(range(len(batches)))  # each batch is closed, once
    placed = [one.job_id.int for units in batches.values() for one in units]
    assert sorted(placed + [one.job_id.int for one, _ in refused]) == list(range(len(made)))
    for units in batches.values():
        assert len(units) <= limits.max_lines
        assert sum(one.line_bytes for one in units) <= limits.max_bytes
        assert len({one.key.model for one in units}) == 1
        assert grouping == "packed" or len({one.key for one in units}) == 1
    for model, free in limits.token_limits.items():
        assert sum(u.input_tokens for units in batches.values() for u in units if u.key.model == model) <= free
    for one, why in refused:
        too_large = one.line_bytes > min(limits.max_line_bytes, limits.max_bytes)
        assert (why.reason == "line_too_large") == too_large
        assert too_large or one.key.model in limits.token_limits
