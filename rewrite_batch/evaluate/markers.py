"""Words that give a language away: the small words that every sentence needs, as `words/common.tsv` lists them.

A model of letters cannot tell Galician from Spanish, and does not see one clause of English in a long sentence. Here
every word of a row counts: +1 if only another language has it, -1 if only the target has it, 0 if both or none. A row
is foreign where the sum over some run of words reaches a limit, so that a borrowed word or a title does no harm.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from rewrite_batch.evaluate import chars
from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.scripts import ALPHABETS, SCRIPTS_OF, UNSPACED
from rewrite_batch.evaluate.text import Text, read

_FILE = Path(__file__).parent / "words" / "common.tsv"
RUN = 3  # words of another language, net, in one run
WHOLE = 2  # enough where no word of the row is certainly of the target
CASED = 0x590  # scripts with capitals are before
_SPACE = 0x20
# Letters that some Latin alphabet lacks: all with accents, and three that Turkish does not have.
_LIKELY: Ints = np.equal(chars.SCRIPT, chars.SCRIPTS.index("latin"))
_LIKELY[:0x80] = False
_LIKELY[[ord(c) for c in "qwx"]] = True
# A word is known by the sum of its characters, each times the number of its place: one array operation for all words.
_LONGEST = 40
_PLACES: Ints = np.random.default_rng(7).integers(1, 2**63, _LONGEST, dtype=np.uint64) | np.uint64(1)


@dataclass(frozen=True)
class Common:
    language: str
    against: tuple[str, ...]  # the targets that it could be mistaken for; none: all
    words: frozenset[str]


@lru_cache(maxsize=1)
def common() -> dict[str, Common]:
    lines = [line.split("\t") for line in _FILE.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    return {
        language: Common(language, () if against == "*" else tuple(against.split()), frozenset(words.split()))
        for language, against, words in lines[1:]
    }


@lru_cache(maxsize=64)
def values(target: str) -> dict[str, int]:
    """+1 for words of other languages only, -1 for words of the target only. A target without a line has no words that
    others in its script could be told from: what they share would count as theirs."""
    listed = common()
    words = _folded()
    own = words.get(target, frozenset[str]())
    rivals = [
        each for each in listed.values() if each.language != target and (not each.against or target in each.against)
    ]
    others = set[str]().union(*(words[each.language] for each in rivals))
    # One Latin letter may be an initial, or what is left of a contraction.
    foreign = {word for word in others - own if len(word) > 1 or not word.isascii()}
    if target not in listed:
        foreign = {word for word in foreign if _script(word) not in SCRIPTS_OF.get(target, ("latin",))}
    return {**dict.fromkeys(own - others, -1), **dict.fromkeys(foreign, 1)}


def _script(word: str) -> str:
    return chars.SCRIPTS[int(chars.SCRIPT[ord(word[0])])]


@lru_cache(maxsize=1)
def _folded() -> dict[str, frozenset[str]]:
    """By language, its words as they look in a normalised text. The list is lower case: all targets see the same."""
    return {each.language: folded(each.words, each.language) for each in common().values()}


def folded(words: Collection[str], target: str) -> frozenset[str]:
    row = read(pl.Series([" ".join(words)], dtype=pl.String()), np.array([target])).rows.item()
    return frozenset(row.split())


@lru_cache(maxsize=64)
def _table(target: str) -> tuple[Ints, Ints]:
    """The sums of the words, sorted, and their values."""
    words = values(target)
    code = np.frombuffer("".join(f" {word}" for word in words).encode("utf-32-le"), np.uint32)
    keys = _keys(code, np.flatnonzero(code == _SPACE))
    order = np.argsort(keys)
    return keys[order], np.array(list(words.values()), np.int32)[order]


def _keys(code: Ints, start: Ints) -> Ints:
    """By word, which begins with the space before it."""
    place = np.arange(code.size) - np.repeat(start, np.diff(np.r_[start, code.size]))
    return np.add.reduceat(code * _PLACES[np.minimum(place, _LONGEST - 1)], start)


def given_away(text: Text, targets: Ints) -> Ints:
    """By row: its words are not those of its target language."""
    rows = np.zeros(text.starts.size, bool)
    start = np.flatnonzero(text.code == _SPACE)
    if not start.size:
        return rows
    row = text.row[start]
    value = _values(text, start, targets)
    value[(value > 0) & ~_spoken(text, start)] = 0
    total = np.cumsum(value)
    # Lower by far with each row, so that the least sum so far is one of the same row.
    apart = 2 * (int(np.abs(value).sum()) + 1)
    before = total - value - row.astype(np.int64) * apart
    run = total - row.astype(np.int64) * apart - np.minimum.accumulate(before)
    rows[row[run >= RUN]] = True
    foreign = np.bincount(row[value > 0], minlength=rows.size)
    own = np.bincount(row[value < 0], minlength=rows.size)
    return rows | ((foreign >= WHOLE) & (own == 0))


def _values(text: Text, start: Ints, targets: Ints) -> Ints:
    value = np.zeros(start.size, np.int32)
    languages, number = np.unique(targets, return_inverse=True)
    target = number[text.row[start]]
    keys = _keys(text.code, start)
    for place, language in enumerate(languages.tolist()):
        these = np.flatnonzero(target == place)
        known, worth = _table(language)
        if not known.size:
            continue
        found = np.minimum(np.searchsorted(known, keys[these]), known.size - 1)
        value[these] = np.where(known[found] == keys[these], worth[found], 0)
        if language in UNSPACED:  # words are not told apart, but what stands between two spaces is the target's
            own = [chars.SCRIPTS.index(name) for name in SCRIPTS_OF[language]]
            first = text.code[np.minimum(start[these] + 1, text.code.size - 1)]
            value[these[np.isin(chars.SCRIPT[chars.clip(first)], own)]] = -1
    strange = _strange_letters(text, languages.tolist(), number)
    value[np.searchsorted(start, strange, side="right") - 1] = 1
    return value


def _strange_letters(text: Text, languages: list[str], number: Ints) -> Ints:
    """Where a letter stands that the target's alphabet lacks, though the script is right."""
    likely = np.flatnonzero(_LIKELY[chars.clip(text.code)])
    code, target = text.code[likely], number[text.row[likely]]
    strange = np.zeros(likely.size, bool)
    for place, language in enumerate(languages):
        if language in ALPHABETS:
            these = np.flatnonzero(target == place)
            strange[these] = ~np.isin(code[these], [ord(c) for c in ALPHABETS[language]])
    return likely[strange]


def _spoken(text: Text, start: Ints) -> Ints:
    """Not quoted, and with no capital but at the beginning of a sentence: those are names and titles."""
    first = np.minimum(start + 1, text.code.size - 1)
    capital = (text.raw[text.source[first]] != text.code[first]) & (text.code[first] < CASED)
    opens = text.sentence[first] != text.sentence[np.maximum(start - 1, 0)]
    return ~text.quoted[first] & (~capital | opens)
