"""Profanity and slurs in disguise: masked (f*ck, sh.t), leetspeak (sh1t), spaced (s h i t), stretched (fuuuck),
look-alikes of another script. Invisible characters and wide letters are gone before we get here.

One cheap test finds the rows that could hold such a word; only those are read token by token, and a word counts only as
a whole, so that Scunthorpe is a town.
"""

import re
import unicodedata
from functools import lru_cache

import numpy as np
import polars as pl

from rewrite_batch.evaluate import chars
from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.matcher import Matcher
from rewrite_batch.evaluate.tables import fired
from rewrite_batch.evaluate.text import Text

_LEET = str.maketrans({"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "9": "g", "@": "a",
                       "$": "s", "!": "i", "|": "l", "€": "e", "£": "l", "¡": "i", "+": "t"})  # fmt: skip
_LEET_L = str.maketrans({"1": "l", "0": "o", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "l"})
# Letters of other scripts that look Latin.
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһкмтвнзԛԝAΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβεικνορτυχѵьгпАВЕКМНОРСТХІЈЅ",
    "aeopcyxijsdhkmtbhzqwaabezhikmnoptyxabeiknoptuxvbgnabekmhopctxijs",
)
_TO_CYRILLIC = str.maketrans("aeopcyxkmtbh3u6", "аеорсухкмтвнзиб")
_DASHES = [ord(c) for c in "-_–—"]
_TURNED = ord("¡")
_SIGNS = np.zeros(chars.SIZE, bool)
_SIGNS[[ord(c) for c in "*#%$@!|+€•·_"]] = True
# Too common as plain words, or names; in disguise there is no doubt.
_ONLY_DISGUISED = {
    "en": (
        "dick",
        "cock",
        "ass",
        "arse",
        "pussy",
        "damn",
        "hell",
        "piss",
        "bloody",
        "prick",
        "tits",
        "crap",
        "chink",
        "chinks",
    ),
    "id": ("anjing", "babi", "monyet", "setan"),
}
_GREEK = chars.SCRIPTS.index("greek")
_TOKEN = re.compile(r"[^\s,;:()\[\]{}\"“”«»]+")
_APART = re.compile(r"[\s.\-_*,'’!?।…]+")
_SPACED_LETTERS = 3
_SHORTEST_BEGINNING = 4  # a shorter one, with any ending, is too much like other words
_MASKED = re.compile(r"[*#%$@•·_-]")
_STARRED = re.compile(r"[*#%$@•·]")
_ENDINGS = frozenset({"s", "es", "ed", "er", "ers", "ing", "in", "n", "en", "e", "a", "o", "as", "os"})
_RUN = re.compile(r"(.)\1{2,}")
# One letter and then only masks: f***, a** and b****ing say what they say.
_ONE_LETTER = re.compile(r"[a-z](?:\*{2,}|\${2}|[*#@%$]{3,})[a-z]{0,4}")
# The same with dashes: f---ing. I and a are words, after which a dash may stand.
_DASHED = re.compile(r"[b-hj-z](?:(?:-{2,}|_{2,}|[–—]{2,})[a-z]{1,4}|-{3,}|_{3,}|[–—]{3,})")
# A full stop inside a short word: sh.t. Between single letters it is an abbreviation.
_DOTTED = re.compile(r"[A-Za-z]{2,3}\.[A-Za-z]{1,4}|[A-Za-z]\.[A-Za-z]{2,4}")
# Names in triple parentheses are a code for Jews.
_ECHO = re.compile(r"\({3}[^()]+\){3}")


def disguised(frame: pl.DataFrame, text: Text, using: Matcher) -> pl.DataFrame:
    """`frame` has row and rewritten_text."""
    read: list[tuple[int, str, str]] = []
    spaced = _spaced_rows(text)
    likely = np.flatnonzero(_likely(text) | spaced)
    for row, words_of in zip(likely.tolist(), frame["rewritten_text"].gather(likely).to_list(), strict=True):
        language = str(text.language[row])
        words = vocabulary(using, language)
        if words:
            found = readings_of(words_of, words, language, spaced=bool(spaced[row]))
            read += [(row, *each) for each in sorted(set(found))]
    shown = pl.DataFrame(read, schema={"row": pl.Int64(), "code": pl.String(), "rule": pl.String()}, orient="row")
    return fired(shown, pl.col("code"), pl.col("rule"))


def _likely(text: Text) -> Ints:
    """Rows that could hold a disguised word within one token, by what stands side by side in them."""
    at = chars.clip(text.raw)
    script = chars.SCRIPT[at]
    any_letter = (chars.KIND[at] == chars.LETTER) & (chars.DIGIT[at] < 0)
    letter = any_letter & (script <= _GREEK)
    digit, sign = chars.DIGIT[at] >= 0, _SIGNS[at]
    spot = np.zeros(at.size, bool)
    spot[1:] |= sign[1:] & any_letter[:-1] & np.r_[(any_letter | sign)[2:], False]  # f*ck, f**
    spot[:-1] |= sign[:-1] & any_letter[1:]  # $hit
    spot[1:-1] |= (text.raw[1:-1] == _TURNED) & any_letter[:-2] & any_letter[2:]  # sh¡t
    dash = np.isin(text.raw, _DASHES)
    spot[2:] |= dash[2:] & dash[1:-1] & any_letter[:-2]  # f---
    spot |= _short_word(letter, (text.raw == 0x2D) | (text.raw == 0x2E))  # sh-t, sh.t
    opening = text.raw == 0x28
    spot[2:] |= opening[2:] & opening[1:-1] & opening[:-2]  # (((
    spot[1:] |= (digit[1:] & letter[:-1]) | (letter[1:] & digit[:-1])  # sh1t
    spot[1:] |= letter[1:] & letter[:-1] & (script[1:] != script[:-1])  # look-alikes
    fold = text.code
    triple = np.zeros(fold.size, bool)
    triple[2:] = (fold[2:] == fold[1:-1]) & (fold[1:-1] == fold[:-2])  # fuuuck
    rows = np.zeros(text.starts.size, bool)
    rows[text.raw_row[spot]] = True
    rows[text.row[triple]] = True
    return rows


def _short_word(letter: Ints, sign: Ints) -> Ints:
    """A hyphen or a full stop with one to three letters before it and one to four after."""
    padded = np.r_[np.zeros(5, bool), letter, np.zeros(5, bool)]
    at = np.flatnonzero(sign) + 5
    short = padded[at - 1] & padded[at + 1] & ~(padded[at - 2] & padded[at - 3] & padded[at - 4])
    short &= ~(padded[at + 2] & padded[at + 3] & padded[at + 4] & padded[at + 5])
    found = np.zeros(letter.size, bool)
    found[at[short] - 5] = True
    return found


def _spaced_rows(text: Text) -> Ints:
    """Rows with three words in a row of one letter each, vowel signs aside: s h i t."""
    at = chars.clip(text.code)
    base = (text.code != 0x20) & ~chars.MARK[at]
    start = np.flatnonzero(text.code == 0x20)
    letters = np.add.reduceat(base.astype(np.int32), start) if start.size else start
    alone = letters == 1
    run = np.flatnonzero(alone[2:] & alone[1:-1] & alone[:-2])
    rows = np.zeros(text.starts.size, bool)
    rows[text.row[start[run]]] = True
    return rows


class Words:
    """The single words of a language's profanity and slurs, each with its code and rule."""

    def __init__(self, entries: dict[str, tuple[str, str]], beginnings: frozenset[str]) -> None:
        self.entries = entries
        self.beginnings = beginnings  # those that take any ending
        self.by_letter: dict[str, list[str]] = {}
        for word in entries:
            self.by_letter.setdefault(word[0], []).append(word)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def named(self, word: str) -> list[tuple[str, str]]:
        """The entry that the word is, or the longest that it begins with."""
        if word in self.entries:
            return [self.entries[word]]
        begun = (word[:size] for size in range(len(word) - 1, _SHORTEST_BEGINNING - 1, -1))
        return [self.entries[start] for start in begun if start in self.beginnings][:1]


@lru_cache(maxsize=256)
def vocabulary(using: Matcher, language: str) -> Words:
    entries: dict[str, tuple[str, str]] = {}
    beginnings: set[str] = set()
    if language in using.members:
        for needle, index in using.language(language).words:
            rule, word = using.rules[index], needle.strip(" ")
            if rule.code in {"vulgarity", "slur"} and len(word) >= 3 and " " not in word:
                entries.setdefault(word, (rule.code, f"disguised:{rule.rule}"))
                if rule.mode not in {"word", "words"} and len(word) >= _SHORTEST_BEGINNING:
                    beginnings.add(word)
    for word in _ONLY_DISGUISED.get(language, ()):
        entries.setdefault(word, ("vulgarity", "disguised:plain"))
    return Words(entries, frozenset(beginnings))


def readings_of(text: str, words: Words, language: str, *, spaced: bool = True) -> list[tuple[str, str]]:
    """`spaced`: whether single letters in a row may stand in it."""
    found = [entry for word in (_spaced(text, language) if spaced else ()) for entry in words.named(word)]
    if _ECHO.search(text):
        found.append(("slur", "disguised:echo"))
    for token in _TOKEN.findall(text):
        if not (token.isascii() and token.isalpha()) or _RUN.search(token):
            found += _told_by(token, words, language)
    return found


@lru_cache(maxsize=1 << 15)  # most tokens of a text are words that every text has
def _told_by(token: str, words: Words, language: str) -> tuple[tuple[str, str], ...]:
    bare = token.strip(".,!?…'’-–—")
    found = [entry for word in _readings(bare, language) for entry in words.named(word)]
    found += _unmasked(token.strip(".,?…'’"), words, language)
    if any(_ONE_LETTER.fullmatch(part) for part in token.strip(".,?…'’").lower().split("-")):
        found.append(("vulgarity", "disguised:one_letter"))
    if _DASHED.fullmatch(token.strip(".,?!…'’").lower()):
        found.append(("vulgarity", "disguised:dashed"))
    if "-" in bare and (whole := _low(bare.replace("-", ""), language)) in words.entries:
        found.append(words.entries[whole])  # sh-itty
    for part in bare.split("-"):
        if _DOTTED.fullmatch(part):
            found += _unmasked(part.replace(".", "*"), words, language)
        if part != bare and _STARRED.search(part):
            found += _unmasked(part, words, language)  # a part of a compound
    return tuple(found)


def _spaced(text: str, language: str) -> list[str]:
    """Single letters in a row, with or without the first or last one, which may be a word of its own."""
    found: list[str] = []
    run: list[str] = []
    for token in [*_APART.split(text), ""]:
        if token and token[0].isalpha() and all(unicodedata.category(c)[0] == "M" for c in token[1:]):
            run.append(_low(token, language))
            continue
        if len(run) >= _SPACED_LETTERS:
            found += ["".join(run), "".join(run[1:]), "".join(run[:-1]), "".join(run[1:-1])]
        run = []
    return [word for word in found if len(word) >= _SPACED_LETTERS]


def _readings(token: str, language: str) -> list[str]:
    """What a token may stand for, apart from itself: the plain word was looked for already."""
    low = _low(token, language)
    readings: list[str] = []
    if (
        re.search(r"[0-9@$!|€£+¡]", low)
        and sum(c.isalpha() for c in low) >= 2
        and not re.fullmatch(r"\d+[^\W\d]{1,2}", low)
    ):
        readings += [low.translate(_LEET), low.translate(_LEET_L)]
    if re.search(r"[a-zäöüß]", low) and re.search(r"[а-яёіјѕα-ω]", low):
        readings += [low.translate(_LOOKALIKES), low.translate(_TO_CYRILLIC)]
    for word in [low, *readings]:
        if _RUN.search(word):
            readings += [_RUN.sub(r"\1", word), _RUN.sub(r"\1\1", word)]
    return [reading for reading in readings if reading != low]


def _unmasked(token: str, words: Words, language: str) -> list[tuple[str, str]]:
    """A masked word has its first letter, two letters at least, and one mask a letter."""
    low = _low_kept(token.lower(), language)
    shown = sum(c.isalpha() for c in low)
    masks = len(low) - shown
    if masks == 0 or shown < 2 or masks > shown + 1 or not low[0].isalpha() or not _MASKED.search(low):
        return []
    return [words.entries[word] for word in words.by_letter.get(low[0], []) if _fits(low, word, words)]


def _fits(masked: str, word: str, words: Words) -> bool:
    """`f**king` is `fuck` with an ending. A hyphen before an ending joins words: a mother-in-law is nothing else."""
    rest = masked[len(word) :]
    if rest and "-" in masked[len(word) - 1 :]:
        return False
    if len(masked) < len(word) or (rest and rest not in _ENDINGS and word not in words.beginnings):
        return False
    return all(c == w or not c.isalpha() for c, w in zip(masked, word, strict=False)) and masked[: len(word)] != word


class _Folding(dict[int, str | None]):
    """For `str.translate`: what becomes of a character, worked out when it is first seen."""

    def __init__(self, *, signs: bool) -> None:
        super().__init__()
        self.signs = signs  # all of them stay

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        if character.isalpha() if self.signs else _is_kept(character):
            self[code] = chr(int(chars.FOLD[min(code, chars.SIZE - 1)]))
        else:
            self[code] = character if self.signs else None
        return self[code]


_FOLDED, _FOLDED_KEPT = _Folding(signs=False), _Folding(signs=True)


def _is_kept(character: str) -> bool:
    return character.isalnum() or character in "@$!|€£+¡" or unicodedata.category(character)[0] == "M"


def _low_kept(token: str, language: str) -> str:
    if language == "tr":
        return "".join(c.lower() if c.isalpha() else c for c in token)
    return token.translate(_FOLDED_KEPT)


def _low(token: str, language: str) -> str:
    """Folded as normalised text is, signs kept. Turkish has an i of its own."""
    if language == "tr":
        return "".join(c for c in token if _is_kept(c)).lower()
    return token.translate(_FOLDED)
