"""Which line belongs to which item. Whatever the files hold: kept + refused + repeated = lines, and no line crosses."""

import os
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewrite_batch.collect import match as matching
from rewrite_batch.collect.match import Matched, match, told_of
from rewrite_batch.collect.parse import parse
from rewrite_batch.ids import custom_id
from tests.unit.collect_lines import BATCH, answer, line, message, never_ran, raw

ITEMS = 8


@contextmanager
def files(*contents: bytes) -> Generator[dict[str, int]]:
    with ExitStack() as opened:
        made = [opened.enter_context(tempfile.TemporaryFile()) for _ in contents]
        for file, content in zip(made, contents, strict=True):
            file.write(content)
            file.flush()
        yield {kind: file.fileno() for kind, file in zip(("output", "error"), made, strict=False)}


def matched(*contents: bytes, items: int = ITEMS) -> Matched:
    with files(*contents) as descriptors:
        return match(descriptors, BATCH, items)


def good(index: int, text: str = "") -> bytes:
    return raw(line(index, output=[message(answer(text or f"text of {index}"))]))


def test_every_line_finds_its_item_in_any_order_over_both_files() -> None:
    found = matched(good(2) + good(0), raw(never_ran(1, "batch_expired")))
    assert sorted(found.places) == [0, 1, 2]
    assert (found.lines, found.refused, found.repeated) == (3, 0, 0)


def test_a_position_in_the_file_says_nothing() -> None:
    with files(good(3) + good(1)) as descriptors:
        found = match(descriptors, BATCH, ITEMS)
        assert {i: parse(place.read()).rewritten_text for i, place in found.places.items()} == {
            1: "text of 1",
            3: "text of 3",
        }


@pytest.mark.parametrize(
    "name",
    [
        custom_id(UUID("0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5c"), 0),  # another batch of ours
        custom_id(BATCH, ITEMS),  # an index that was never sent
        custom_id(BATCH, 0).upper(),
        custom_id(BATCH, 0) + " ",
        f"{BATCH.hex}-00",
        f"{BATCH}-0",
        "nobody",
        "",
    ],
)
def test_an_unknown_name_is_dropped_and_counted(name: str) -> None:
    document = line(0) | {"custom_id": name}
    found = matched(raw(document) + good(1))
    assert (sorted(found.places), found.unknown) == ([1], 1)
    assert found.refusals == [("output", 1, "unknown_item")]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (good(0)[:-40] + b"\n", "not_json"),
        (b"\xef\xbb\xbf" + good(0), "bom"),
        (good(0).replace(b"text of", b"\xff\xfe"), ""),  # its name can be read: the item fails, not the line
        (good(0)[:-2] + b"\x00" + good(0)[-2:], "nul"),
        (b"[" * 200_000 + b"\n", "too_deep"),
        (b'"a string"\n', "not_an_object"),
        (b"{}\n", "no_name"),
        (b'{"custom_id": 7}\n', "no_name"),
        (b'{"custom_id": null}\n', "no_name"),
        (b'\xff{"custom_id": "x"}\n', "bad_utf8"),
        (good(0).replace(b'"response"', b'"custom_id": "x", "response"', 1), "two_names"),
    ],
)
def test_a_bad_line_is_refused_with_its_number_and_reason_and_the_next_one_is_read(bad: bytes, reason: str) -> None:
    found = matched(good(1) + bad + good(2))
    assert {1, 2} <= set(found.places)
    assert found.refusals == ([("output", 2, reason)] if reason else [])


def test_lines_are_told_by_file_and_by_their_number_in_it_and_each_under_its_own_alert() -> None:
    found = matched(good(0) + b"\n" + b"no\n" + good(1), good(2) + raw(line(0) | {"custom_id": "x"}) + b"{}\n")
    assert [(alert.kind, alert.codes) for alert in told_of(found)] == [
        ("unreadable_lines", ("no_name", "not_json", "output_line_3", "error_line_3")),
        ("unknown_items", ("error_line_2",)),
    ]


def test_a_line_that_is_far_too_long_is_refused_without_being_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_LINE", 10_000)
    long = good(0, "x" * 45_000)
    found = matched(good(1) + long + good(2))
    assert sorted(found.places) == [1, 2]
    assert found.refusals == [("output", 2, "too_long")]


def test_a_line_of_forty_megabytes_is_refused_and_the_next_one_is_read() -> None:
    found = matched(good(1), good(0, "x" * 40_000_000) + good(2))
    assert sorted(found.places) == [1, 2]
    assert (found.lines, found.refusals) == (3, [("error", 1, "too_long")])


def test_the_longest_answer_there_can_be_is_not_too_long() -> None:
    text = "\U0001f600" * 20_000
    escaped = raw(line(0, output=[message(answer(text).encode("ascii", "backslashreplace").decode())]))
    assert len(escaped) < matching.MAX_LINE / 4


def test_blank_lines_and_carriage_returns_are_nothing() -> None:
    found = matched(b"\n" + good(0)[:-1] + b"\r\n" + b"  \n" + good(1) + b"\n")
    assert (sorted(found.places), found.lines, found.refused) == ([0, 1], 2, 0)


def test_a_last_line_without_its_newline_is_a_line() -> None:
    assert sorted(matched(good(0) + good(1)[:-1]).places) == [0, 1]


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\u0085", "\x0b"])
def test_only_a_newline_ends_a_line(odd: str) -> None:
    found = matched(good(0, f"a{odd}b"))
    assert (found.lines, sorted(found.places)) == (1, [0])


def test_the_same_line_twice_counts_once() -> None:
    found = matched(good(0) + good(1) + good(0))
    assert (sorted(found.places), found.repeated, found.torn) == ([0, 1], 1, {})


def test_of_two_lines_that_differ_neither_is_believed() -> None:
    found = matched(good(0, "one") + good(1) + good(0, "two") + good(0, "one"))
    assert sorted(found.places) == [1]
    assert sorted(found.torn) == [0]
    assert found.repeated == 2


def test_an_answer_and_an_error_for_one_item_differ() -> None:
    found = matched(good(0), raw(never_ran(0, "batch_expired")))
    assert (sorted(found.places), sorted(found.torn)) == ([], [0])


def test_a_half_surrogate_pair_in_the_answer_does_not_lose_the_items_name() -> None:
    found = matched(good(0).replace(b"text of", b"\\ud800"))
    assert sorted(found.places) == [0]


pieces = st.one_of(
    st.tuples(st.just("good"), st.integers(0, ITEMS - 1)),
    st.tuples(st.just("other"), st.integers(0, ITEMS - 1)),
    st.tuples(st.just("cut"), st.integers(0, ITEMS - 1)),
    st.tuples(st.just("stranger"), st.integers(0, ITEMS - 1)),
    st.tuples(st.just("flipped"), st.integers(0, 400)),
    st.tuples(st.just("noise"), st.binary(max_size=30)),
)


def written(kind: str, what: Any) -> bytes:
    if kind == "good":
        return good(what)
    if kind == "other":
        return good(what, f"another text of {what}")
    if kind == "cut":
        return good(what)[:-30] + b"\n"
    if kind == "stranger":
        return raw(line(what, batch_id=uuid4()))
    if kind == "flipped":
        content = bytearray(good(0))
        content[what % len(content)] ^= 0x04
        return bytes(content).replace(b"\n", b" ") + b"\n"
    return what.replace(b"\n", b" ") + b"\n"


@settings(max_examples=150, deadline=None)
@given(st.lists(pieces, max_size=25), st.integers(0, 25))
def test_any_mix_of_lines_adds_up_and_no_text_comes_under_another_items_id(
    drawn: list[tuple[str, Any]], split: int
) -> None:
    lines = [written(kind, what) for kind, what in drawn]
    with files(b"".join(lines[:split]), b"".join(lines[split:])) as descriptors:
        found = match(descriptors, BATCH, ITEMS)
        assert len(found.places) + len(found.torn) + found.refused + found.repeated == found.lines
        assert found.lines == sum(1 for each in lines if each.strip())
        assert not set(found.places) & set(found.torn)
        missing = set(range(ITEMS)) - set(found.places) - set(found.torn)
        assert len(found.places) + len(found.torn) + len(missing) == ITEMS
        for index, place in found.places.items():
            row = parse(place.read())
            if row.rewritten_text and row.rewritten_text.startswith(("text of ", "another text of ")):
                # A flipped bit may make another item's number of line 0's, and nobody could tell.
                flipped = ("flipped" in [kind for kind, _ in drawn]) and row.rewritten_text.endswith(" 0")
                assert flipped or row.rewritten_text.endswith(f" {index}")


def test_descriptors_are_left_open_and_at_no_position_that_matters() -> None:
    with files(good(0)) as descriptors:
        os.lseek(descriptors["output"], 5, os.SEEK_SET)
        assert sorted(match(descriptors, BATCH, ITEMS).places) == [0]
        assert sorted(match(descriptors, BATCH, ITEMS).places) == [0]
