"""Expressions of packs, looked for in many lines at once."""

import numpy as np
import pytest

from rewrite_batch.evaluate.expressions import NotAnExpression, compiled, first_in_lines, in_lines


def first_of(pattern: str, *lines: str) -> list[tuple[int, str]]:
    """Line and words of each first match."""
    text = "\n".join(lines).encode()
    sizes = [len(line.encode()) + 1 for line in lines]
    found = first_in_lines(in_lines(pattern), text, np.cumsum([0, *sizes[:-1]]))
    return [(line, text[begin:end].decode()) for line, begin, end in zip(*map(list, found), strict=True)]


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"\bcaf", [(0, "caf"), (1, "caf"), (2, "caf")]),
        (r"caf\b", [(2, "caf")]),  # in `café` no word ends before the é
        (r"\b(?:née|caf)\b", [(1, "née"), (2, "caf")]),
        (r"(?:^|\ba )caf", [(0, "caf"), (1, "caf"), (2, "a caf")]),
        (r"ne?(?: au\b)?", [(0, "n"), (1, "n")]),
        (r"\w+$", [(0, "noir"), (1, "née"), (2, "caf")]),
        (r"[^a]+", [(0, "c"), (1, "c"), (2, " c")]),
    ],
)
def test_the_first_match_of_each_line_is_found_without_the_spaces_that_end_a_word(
    pattern: str, wanted: list[tuple[int, str]]
) -> None:
    found = first_of(pattern, "café noir", "café née", "a caf")
    assert [(line, words.strip()) for line, words in found] == [(line, words.strip()) for line, words in wanted]


def test_no_match_reaches_into_the_next_line() -> None:
    assert first_of(r"red[^x]*dog|dog\W+a|\S\s\S", "red", "dog", "a b") == [(2, "a b")]


@pytest.mark.parametrize("pattern", [r"a\b b", r"a\b.*b", r"(?:a\b)+b", r"a(?:b\b|c)d", r"\ba(?: \bb)c"])
def test_a_word_boundary_in_the_middle_is_refused(pattern: str) -> None:
    with pytest.raises(NotAnExpression, match="stands where no alternative begins or ends"):
        in_lines(pattern)


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?i)a", "(?P<n>a)", "(?<!a)b"])
def test_what_lines_or_the_engine_cannot_have_is_refused(pattern: str) -> None:
    with pytest.raises(NotAnExpression, match="a group is"):
        in_lines(pattern)


@pytest.mark.parametrize("pattern", ["(a", "a{2,1}", "*a"])
def test_what_is_no_expression_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(NotAnExpression, match=r"RE2's syntax.*: [a-z]"):
        compiled(in_lines(pattern))


def test_what_would_keep_a_backtracking_engine_busy_for_years_is_answered() -> None:
    assert first_of("(?:a+)+$", "a" * 5_000 + "b") == []
