"""Texts come in, one normalised string a row goes out, with the place of every character: sentence, clause, word.

The whole chunk is one array of code points, so each step is one array operation. A normalised row is lower case, has
one space between words, and a space at both ends, so that `" w "` finds a whole word and `" w"` its beginning.
"""

import unicodedata
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from rewrite_batch.evaluate import chars
from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.scripts import TRADITIONAL_TO_SIMPLE

_SPACE = 0x20
_NEWLINE = 0x0A
_DOTLESS = frozenset({"tr", "az"})
# Thai puts a space where others put a comma.
_SPACE_PAUSES = frozenset({"th", "lo", "km", "my"})


@dataclass(frozen=True)
class Text:
    """Arrays by character of the normalised rows; ids of sentences, clauses and words count through the chunk."""

    rows: pl.Series
    code: Ints
    row: Ints
    sentence: Ints
    clause: Ints
    word: Ints
    quoted: Ints
    source: Ints  # where the character stands in `raw`
    raw: Ints  # code points as they came, format characters left out
    raw_row: Ints
    raw_sentence: Ints
    sentence_row: Ints
    asks: Ints  # by sentence: it has a question mark
    starts: Ints  # by row: its first character
    language: Ints  # by row

    @cached_property
    def character_of_byte(self) -> Ints:
        return np.repeat(np.arange(self.code.size, dtype=np.int32), _utf8_length(self.code))

    @cached_property
    def _byte_ends(self) -> Ints:
        return np.cumsum(_utf8_length(self.code), dtype=np.int64)

    def byte_of(self, character: Ints) -> Ints:
        """Where characters begin in the UTF-8 of all rows."""
        return self._byte_ends[character] - _utf8_length(self.code[character])

    @cached_property
    def lengths(self) -> Ints:
        """By row: how many characters it has."""
        return np.diff(self.starts, append=self.code.size)


def read(texts: pl.Series, language: Ints) -> Text:
    """`language` is an array of primary languages, one a row."""
    codes, row = _code_points(texts)
    seen = chars.KIND[chars.clip(codes)] != chars.DROPPED
    codes, row = codes[seen], row[seen]
    at = chars.clip(codes)
    sentence, clause, asks, sentence_row = _divide(at, codes, row, language)
    quoted = _quoted(at, row)
    folded = _fold(codes, at, row, language)
    separates = chars.KIND[at] == chars.SEPARATOR
    folded[separates] = _SPACE
    first = np.r_[True, row[1:] != row[:-1]] if row.size else np.zeros(0, bool)
    doubled = np.zeros(row.size, bool)
    doubled[1:] = separates[1:] & separates[:-1]
    kept = np.flatnonzero(~(doubled & ~first))
    starts = np.searchsorted(row[kept], np.arange(texts.len()))
    return Text(
        rows=_strings(folded[kept], starts),
        code=folded[kept],
        row=row[kept],
        sentence=sentence[kept],
        clause=clause[kept],
        word=np.cumsum(separates[kept], dtype=np.int32),
        quoted=quoted[kept],
        source=kept,
        raw=codes,
        raw_row=row,
        raw_sentence=sentence,
        sentence_row=sentence_row,
        asks=asks,
        starts=starts,
        language=language,
    )


@dataclass(frozen=True)
class Sentences:
    strings: pl.Series  # without the spaces around them
    first: Ints  # its first character
    row: Ints


def sentences_of(text: Text) -> Sentences:
    """Sentences that hold a word."""
    spaces = text.code == _SPACE
    inside = np.flatnonzero(~spaces)
    begins = np.r_[True, text.sentence[inside][1:] != text.sentence[inside][:-1]] if inside.size else inside
    first = inside[begins] if inside.size else inside
    strings = _cut(text.code[first[0] :], first - first[0]) if first.size else pl.Series([], dtype=pl.String())
    return Sentences(strings.str.strip_chars_end(" "), first, text.row[first])


def sentences_by_row(text: Text, rows: Ints) -> dict[int, list[str]]:
    """Of these rows alone."""
    found: dict[int, list[str]] = {row: [] for row in rows.tolist()}
    if found:
        sentences = sentences_of(text)
        for place in np.flatnonzero(np.isin(sentences.row, rows)).tolist():
            found[int(sentences.row[place])].append(sentences.strings[place])
    return found


def normalise(text: str, language: str) -> str:
    """One text, as its row would be normalised."""
    return read(pl.Series([text]), np.array([language])).rows[0]


def _code_points(texts: pl.Series) -> tuple[Ints, Ints]:
    """All characters of all rows, each row between two newlines, and the row of each."""
    composed = _compose(texts)
    joined = pl.select(pl.concat_str(pl.lit("\n"), composed, pl.lit("\n")).str.join("")).item() or ""
    codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    lengths = composed.str.len_chars().to_numpy().astype(np.int64) + 2
    return codes, np.repeat(np.arange(texts.len(), dtype=np.int32), lengths)


def _compose(texts: pl.Series) -> pl.Series:
    """Canonical composition, only where a part of a decomposed letter is seen."""
    parts = texts.str.contains(r"[\u0300-\u036f\u1100-\u11ff]")
    if not parts.any():
        return texts
    rows = np.flatnonzero(parts.to_numpy())
    return texts.scatter(rows, [unicodedata.normalize("NFC", texts[int(row)]) for row in rows])


def _divide(at: Ints, codes: Ints, row: Ints, language: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Sentence and clause of each character; by sentence, whether it asks, and its row."""
    gap = codes <= _SPACE
    gap |= codes == 0x3000
    before_gap = np.r_[gap[1:], True] if codes.size else gap
    end = chars.ENDS_ALWAYS[at] | (chars.ENDS[at] & before_gap)
    new_row = np.r_[True, row[1:] != row[:-1]] if row.size else np.zeros(0, bool)
    begins = np.r_[True, end[:-1]] if row.size else new_row
    sentence = np.cumsum(begins | new_row, dtype=np.int32) - 1
    pause = chars.PAUSES[at]
    pause |= _dash(codes, gap)
    spaced = np.isin(language, list(_SPACE_PAUSES))
    if spaced.any():
        pause |= gap & spaced[row]
    clause = np.cumsum(begins | new_row | (np.r_[True, pause[:-1]] if row.size else pause), dtype=np.int32) - 1
    count = int(sentence[-1]) + 1 if sentence.size else 0
    asks = np.zeros(count, bool)
    asks[sentence[chars.ASKS[at]]] = True
    sentence_row = row[np.searchsorted(sentence, np.arange(count))] if count else row[:0]
    return sentence, clause, asks, sentence_row


def _dash(codes: Ints, gap: Ints) -> Ints:
    """A hyphen between spaces pauses; one inside a word does not."""
    hyphen = codes == 0x2D
    hyphen[1:] &= gap[:-1]
    hyphen[:-1] &= gap[1:]
    return hyphen


def _quoted(at: Ints, row: Ints) -> Ints:
    """Whether a character stands inside quotation marks of its row. Languages open and close with the same marks in
    different ways, so every second mark closes; where one is left over, nothing is quoted."""
    marks = chars.QUOTES[at]
    if not marks.any():
        return marks
    total = np.cumsum(marks, dtype=np.int32)
    count = np.bincount(row[marks], minlength=int(row[-1]) + 1)
    before = (np.cumsum(count) - count)[row]
    return ((total - before) % 2 == 1) & (count[row] % 2 == 0)


def _fold(codes: Ints, at: Ints, row: Ints, language: Ints) -> Ints:
    folded = chars.FOLD[at]
    beyond = codes >= chars.SIZE
    folded[beyond] = codes[beyond]
    dotless = np.isin(language, list(_DOTLESS))
    if dotless.any():
        folded[(codes == 0x49) & dotless[row]] = 0x131
    chinese = language == "zh"
    if chinese.any():
        these = np.flatnonzero(chinese[row])
        folded[these] = TRADITIONAL_TO_SIMPLE[chars.clip(folded[these])]
    return folded


def _strings(codes: Ints, starts: Ints) -> pl.Series:
    """One string a row. A row's first character is a space: it becomes the newline where the whole is cut."""
    marked = codes.astype("<u4")
    marked[starts] = _NEWLINE
    if not starts.size:
        return pl.Series([], dtype=pl.String())
    return (
        " " + pl.Series([marked.tobytes().decode("utf-32-le")[1:]]).str.split("\n").explode(empty_as_null=True)
    ).alias("text")


def _cut(codes: Ints, starts: Ints) -> pl.Series:
    """The characters cut before each start. A newline is nowhere else in normalised text."""
    marked = np.insert(codes.astype("<u4"), starts[1:], _NEWLINE)
    return pl.Series([marked.tobytes().decode("utf-32-le")]).str.split("\n").explode(empty_as_null=True)


def _utf8_length(codes: Ints) -> Ints:
    return 1 + (codes >= 0x80).astype(np.int8) + (codes >= 0x800) + (codes >= 0x10000)
