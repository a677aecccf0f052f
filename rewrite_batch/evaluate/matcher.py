"""The packs come in; a `Matcher` goes out, in which hits.py looks things up. One a process, and of it only the
languages that are asked for: those of a small run are built in a tenth of the time of all.

Whatever is looked for as plain text, the words of a pack and the literals that its expressions need, is one set of
needles a language, each with a number; what a needle stands for is a table by that number.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np
import polars as pl
from ahocorasick_rs import AhoCorasick, Implementation

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.expressions import in_lines
from rewrite_batch.evaluate.literals import alternatives, needed
from rewrite_batch.evaluate.packs import SLOT, Lexicon, Pack, Rule
from rewrite_batch.evaluate.scripts import TRADITIONAL_TO_SIMPLE
from rewrite_batch.evaluate.text import read

_CLASS_OR_ESCAPE = re.compile(r"(\[(?:\\.|[^\]\\])*\]|\\.)")
_PLAINER = {r"\w": "[^ ]", r"\s": " "}
_PRIVATE = 0xE000  # characters that are nobody's: one stands for each class while an expression is read
_WORD_PADS = {"word": (1, 1), "words": (1, 1), "prefix": (1, 0), "substring": (0, 0)}


class Table:
    """Rows by number: those of number n are `rows[bounds[n]:bounds[n + 1]]`."""

    def __init__(self, numbered: Iterable[tuple[int, tuple[int, ...]]], count: int, width: int) -> None:
        ordered = sorted(numbered)
        self.rows: Ints = np.array([row for _, row in ordered], np.int32).reshape(-1, width)
        self.bounds: Ints = np.searchsorted([number for number, _ in ordered], np.arange(count + 1))

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """The rows of these numbers, and for each which of the numbers it belongs to."""
        begin = self.bounds[numbers]
        many = self.bounds[numbers + 1] - begin
        which = np.repeat(np.arange(numbers.size), many)
        inside = np.arange(which.size) - (np.cumsum(many) - many)[which]
        return self.rows[begin[which] + inside], which


class Piece(NamedTuple):
    rule: int
    pattern: str
    lines: str  # the same, as it is looked for in many lines


@dataclass(frozen=True, eq=False)
class Language:
    words: tuple[tuple[str, int], ...]  # the needle of a word, with the spaces that belong to it, and its rule
    needles: AhoCorasick | None  # none: it looks for nothing
    word_of: Table  # by needle: rule, spaces before the word, its length
    pieces: tuple[Piece, ...]  # the alternatives of the expressions, in their order
    rule_of: Ints  # by piece
    wanted: Table  # by needle: the pieces that may match where it is
    always: Ints  # pieces of which no literal is known


class Matcher:
    def __init__(self, packs: tuple[Pack, ...], codes: frozenset[str] | None) -> None:
        self.packs = packs
        self.rules, self.table = _rules_of(packs)
        ends = list(accumulate((len(pack.rules) for pack in packs), initial=0))
        self.members = {pack.language: range(*span) for pack, span in zip(packs, pairwise(ends), strict=True)}
        self._codes = codes
        self._packs = {pack.language: pack for pack in packs}
        self._built: dict[str, Language] = {}
        self._building = Lock()

    def language(self, name: str) -> Language:
        """`name` must have a pack."""
        with self._building:
            if name not in self._built:
                self._built[name] = _build(self._packs[name], self.members[name].start, self._codes)
            return self._built[name]


@lru_cache(maxsize=8)
def _rules_of(packs: tuple[Pack, ...]) -> tuple[tuple[Rule, ...], pl.DataFrame]:
    """All rules, and code, rule and value by position: the same for every vocabulary."""
    rules = tuple(rule for pack in packs for rule in pack.rules)
    columns = {name: [getattr(rule, name) for rule in rules] for name in ("code", "rule", "value")}
    return rules, pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String()))


def matcher_of(lexicon: Lexicon) -> Matcher:
    return matcher(tuple(lexicon.packs.values()))


@lru_cache(maxsize=8)
def matcher(packs: tuple[Pack, ...], codes: frozenset[str] | None = None) -> Matcher:
    """`codes` limits it to some vocabularies; the rules keep their places."""
    return Matcher(packs, codes)


def _build(pack: Pack, first: int, codes: frozenset[str] | None) -> Language:
    chosen = [(first + i, rule) for i, rule in enumerate(pack.rules) if codes is None or rule.code in codes]
    numbers: dict[str, int] = {}  # of needles

    def number_of(needle: str) -> int:
        return numbers.setdefault(needle, len(numbers))

    words: list[tuple[str, int]] = []
    word_of: list[tuple[int, tuple[int, ...]]] = []
    for word, index, before, after in _words([each for each in chosen if each[1].mode != "regex"], pack.language):
        words.append((" " * before + word + " " * after, index))
        word_of.append((number_of(words[-1][0]), (index, before, len(word))))
    pieces, needs = _pieces([each for each in chosen if each[1].mode == "regex"], pack)
    literals = _rarest(needs, pack)
    wanted = [(number_of(each), (piece,)) for piece, some in enumerate(literals) for each in sorted(some)]
    return Language(
        words=tuple(words),
        needles=AhoCorasick(list(numbers), implementation=Implementation.ContiguousNFA) if numbers else None,
        word_of=Table(word_of, len(numbers), 3),
        pieces=tuple(pieces),
        rule_of=np.array([piece.rule for piece in pieces], np.int64),
        wanted=Table(wanted, len(numbers), 1),
        always=np.array([piece for piece, some in enumerate(literals) if not some], np.int64),
    )


def _words(chosen: list[tuple[int, Rule]], language: str) -> list[tuple[str, int, int, int]]:
    """Word, rule, and how many spaces stand before and after it."""
    terms = [(index, rule, term) for index, rule in chosen for term in rule.terms]
    found: list[tuple[str, int, int, int]] = []
    for (index, rule, _), word in zip(terms, _normal([term for *_, term in terms], language), strict=True):
        before, after = _WORD_PADS[rule.mode]
        found += [(form, index, before, after) for form in _forms(word, language if before else "") if form]
    return found


def _forms(word: str, language: str) -> list[str]:
    """Arabic writes `the` and `and` as one word with the next."""
    if language != "ar" or len(word) < 3 or word.startswith("ال"):
        return [word]
    return [word, *(lead + word for lead in ("ال", "وال", "و", "بال"))]


def _pieces(chosen: list[tuple[int, Rule]], pack: Pack) -> tuple[list[Piece], list[list[frozenset[str]]]]:
    """The alternatives of a pack's expressions, and what each needs."""
    classes = classes_of(pack) if chosen else {}
    slots = {name: any_of(words) for name, words in classes.items()}
    # Read with one character in the place of a class, of which some have hundreds of words.
    signs = {name: chr(_PRIVATE + place) for place, name in enumerate(classes)}
    standing_for = {signs[name]: frozenset(words) for name, words in classes.items()}
    pieces: list[Piece] = []
    needs: list[list[frozenset[str]]] = []
    for index, rule in chosen:
        for piece in alternatives(_folded(rule.pattern, pack.language)):
            pieces.append(Piece(index, filled(piece, slots), filled(in_lines(piece), slots)))
            needs.append(needed(filled(piece, signs), standing_for))
    return pieces, needs


def _folded(pattern: str, language: str) -> str:
    """The same expression for normalised text, where only letters, digits and single spaces are left: `\\w` is anything
    but a space, which compiles ten times faster than Unicode's tables. Syntax stays; Chinese characters are folded."""
    simple = "".join(chr(TRADITIONAL_TO_SIMPLE[ord(c)]) for c in pattern) if language == "zh" else pattern
    parts = _CLASS_OR_ESCAPE.split(simple)
    return "".join(_PLAINER.get(part, part) for part in parts)


def _rarest(needs: list[list[frozenset[str]]], pack: Pack) -> list[frozenset[str]]:
    """Of what each piece needs, the part that is seen least in the sentences of the pack itself."""
    literals = sorted({literal for parts in needs for part in parts for literal in part})
    if not literals:
        return [frozenset() for _ in needs]
    sentences = _rows([text for rule in pack.rules for text in (rule.hit, rule.miss)], pack.language)
    seen = sentences.str.extract_many(pl.Series(literals).implode(), overlapping=True)
    often = dict(seen.list.unique().explode(empty_as_null=True).value_counts().iter_rows())

    def cost(part: frozenset[str]) -> int:
        return sum(often.get(literal, 0) + 1 for literal in part)

    return [min(parts, key=cost) if parts else frozenset() for parts in needs]


def classes_of(pack: Pack) -> dict[str, list[str]]:
    """The words that may stand for a slot in an expression, by its name: longer ones first, as the first that fits is
    taken."""
    members: dict[str, list[str]] = {}
    for rule in pack.rules:
        if rule.mode in {"word", "words"}:
            name = rule.rule.rpartition(".class.")[2] if rule.code == "@class" else rule.code
            members.setdefault(name, []).extend(rule.terms)
    every = list(dict.fromkeys(term for terms in members.values() for term in terms))
    normal = dict(zip(every, _normal(every, pack.language), strict=True)) if every else {}
    return {
        name: sorted({normal[term] for term in terms}, key=lambda w: (-len(w), w)) for name, terms in members.items()
    }


def any_of(words: list[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, words))})"


def filled(pattern: str, slots: dict[str, str]) -> str:
    """The expression with its slots filled; one that no class fills stays, and matches nothing."""
    return SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), pattern)


def _rows(texts: list[str], language: str) -> pl.Series:
    return read(pl.Series(texts, dtype=pl.String()), np.full(len(texts), language)).rows


def _normal(terms: list[str], language: str) -> list[str]:
    return _rows(terms, language).str.strip_chars(" ").to_list()
