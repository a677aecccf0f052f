"""Where rules match: words, expressions piece by piece, and what of them is tried where."""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.evaluate.hits import find
from rewrite_batch.evaluate.literals import alternatives, needed
from rewrite_batch.evaluate.matcher import Language, matcher
from rewrite_batch.evaluate.packs import Pack, parse_pack
from rewrite_batch.evaluate.text import read

HEAD = "# version: en-1\nrule\tcode\tmode\tpattern\thit\tmiss\n"


def pack(*patterns: str, mode: str = "regex") -> Pack:
    rows = [f"r{n}\tvulgarity\t{mode}\t{pattern}\tthe big red dog\ta cat" for n, pattern in enumerate(patterns)]
    made, mistakes = parse_pack("en", HEAD + "\n".join(rows))
    assert mistakes == []
    return made


def found(rules: Pack, *texts: str) -> list[tuple[int, str, str]]:
    """Row, rule and the words of each hit."""
    text = read(pl.Series(texts, dtype=pl.String()), np.full(len(texts), "en"))
    hits = find(text, matcher((rules,)))
    places: list[tuple[int, int, int, int]] = hits.rows()
    return [
        (row, rules.rules[rule].rule, "".join(map(chr, text.code[first : last + 1])))
        for row, rule, first, last in places
    ]


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"\byou (?:are|r) (lazy|messy)\b", [{"you "}, {"are", "r"}, {" "}, {"lazy", "messy"}]),
        (r"\bnever (\w+ ){0,3}clean", [{"never "}, {"clean"}]),
        (r"(?: |bcd)", []),  # a space is everywhere
        (r"\w+", []),
        (r"(?:maybe)? \w+", []),
        (r"(?<=x)y(", []),  # cannot be read
        ("so \ue000 it", [{"so "}, {"very", "really"}, {" it"}]),
    ],
)
def test_the_literals_that_an_expression_needs_are_found_or_none(pattern: str, literals: list[set[str]]) -> None:
    words = {"\ue000": frozenset({"very", "really"})}
    assert needed(pattern, words) == [part for part in literals if part != {" "}]


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("a|b", ["a", "b"]),
        ("a(?:b|c)|d", ["a(?:b|c)", "d"]),
        (r"[|(]x|\|y|\(", ["[|(]x", r"\|y", r"\("]),
        (r"[\]|]x|y", [r"[\]|]x", "y"]),
        ("(?i)a|b", ["(?i)a|b"]),  # the flag is both alternatives'
        ("a", ["a"]),
    ],
)
def test_an_expression_is_cut_at_its_own_bars_only(pattern: str, pieces: list[str]) -> None:
    assert alternatives(pattern) == pieces


def test_the_leftmost_alternative_counts_once_a_sentence_and_of_two_the_first() -> None:
    rules = pack("dog|big red|big", "zebra|red dog")
    assert found(rules, "The big red dog. A big dog!", "A cat.") == [
        (0, "r0", "big red"),
        (0, "r1", "red dog"),
        (0, "r0", "big"),
    ]


def test_an_expression_without_a_known_literal_is_tried_everywhere() -> None:
    assert found(pack(r"^\w \w+$"), "A cat.", "The cat.") == [(0, "r0", "a cat")]


def test_a_phrase_does_not_reach_into_the_next_sentence() -> None:
    assert found(pack("red dog", mode="word"), "It is red. Dog!", "A red dog.") == [(1, "r0", "red dog")]
    assert found(pack("red (?:dog|cat)"), "It is red. Dog!", "A red cat.") == [(1, "r0", "red cat")]


def test_rows_of_other_languages_between_ours_move_no_hit() -> None:
    text = read(pl.Series(["a red dog", "ein roter Hund", "red"]), np.array(["en", "de", "en"]))
    hits = find(text, matcher((pack("red", mode="word"),)))
    words = ["".join(map(chr, text.code[a : b + 1])) for a, b in hits.select("first", "last").iter_rows()]
    assert (hits["row"].to_list(), words) == ([0, 2], ["red", "red"])


def test_a_language_is_built_when_it_is_first_met() -> None:
    using = matcher((pack("red"),))
    assert using.language("en") is using.language("en")
    assert isinstance(using.language("en"), Language)
    with pytest.raises(KeyError):
        using.language("de")


WORDS = st.sampled_from(["big", "red", "dog", "cat", "very", "a", "ab", "b", "né", "née", "дог"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)
PIECES = st.sampled_from(
    [
        "big",
        "red dog",
        r"\ba\b",
        "a",
        "(?:very )+big",
        "(?:very |big )*dog$",
        "^red|^cat",
        r"\w+ cat",
        "b (?:a|b)",
        "[ab]+",
        "[^a]+b",
        r"\bn",
        r"n\b",
        r"(?:\bné|red)\b",
        r"(?:cat|\bd)[^ ]* \w",
        r"big(?: (?:red\b|née?))?",
        r"до?\b|ог\b",
        r"\S+\s\S+\W[a\s]",
    ]
)


def leftmost(pattern: str, sentence: str) -> str | None:
    """The words that begin first, and of those the first alternative's."""
    found = [re.search(piece.replace(r"\w", "[^ ]"), sentence) for piece in alternatives(pattern)]
    words = [(match.start() + (match[0][:1] == " " != match[0]), match[0].strip()) for match in found if match]
    return min(words, key=lambda each: each[0])[1] if words else None


@given(st.lists(st.lists(PIECES, min_size=1, max_size=4).map("|".join), min_size=1, max_size=4), st.lists(SENTENCES))
def test_pieces_find_what_whole_expressions_find(patterns: list[str], sentences: list[str]) -> None:
    rules = pack(*patterns)
    wanted = [
        (row, f"r{n}", words)
        for row, sentence in enumerate(sentences)
        for n, pattern in enumerate(patterns)
        if (words := leftmost(pattern, sentence)) is not None
    ]
    hits = found(rules, *sentences)
    assert sorted((row, rule, words.strip()) for row, rule, words in hits) == sorted(wanted)
