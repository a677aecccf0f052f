"""Where the rules of a language's pack match: normalised texts come in, one row a hit goes out.

One walk (Aho-Corasick) over the rows of a language finds the needles: words, beginnings and substrings are hits
themselves; the literals that a regular expression needs name the sentences where it is worth trying. An expression
counts once a sentence.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.expressions import first_in_lines
from rewrite_batch.evaluate.matcher import Language, Matcher
from rewrite_batch.evaluate.text import Sentences, Text, sentences_of

HITS = pl.Schema(
    {
        "row": pl.Int64(),
        "rule": pl.Int32(),  # position in Matcher.rules
        "first": pl.Int64(),  # its first and last character in the chunk
        "last": pl.Int64(),
    }
)


def find(text: Text, using: Matcher) -> pl.DataFrame:
    """Every hit of a row's own language, in the order of rows, places and rules."""
    sentences = sentences_of(text)
    position = np.zeros(text.sentence_row.size, np.int64)  # of a sentence among those that hold a word
    position[text.sentence[sentences.first]] = np.arange(sentences.row.size)
    spoken = text.language[sentences.row]
    found = [HITS.to_frame()]
    tried = [_TRIED.to_frame()]
    for name in np.unique(text.language).tolist():
        if name in using.members:
            language = using.language(name)
            needle, first, last = _needles(text, language, name)
            found.append(_words(needle, first, text, language))
            inside = text.sentence[first] == text.sentence[last]
            at = position[text.sentence[first[inside]]]
            tried.append(_likely(needle[inside], at, np.flatnonzero(spoken == name), language))
    return pl.concat([*found, _expressions(pl.concat(tried), text, sentences)]).sort("row", "first", "rule")


_NONE = np.zeros(0, np.int64)
_TRIED = pl.Schema({"rule": pl.Int32(), "lines": pl.String(), "piece": pl.Int64(), "sentence": pl.Int64()})
_FOUND = pl.Schema(dict.fromkeys(["piece", "sentence", "at", "length"], pl.Int64()) | {"rule": pl.Int32()})


def _needles(text: Text, language: Language, name: str) -> tuple[Ints, Ints, Ints]:
    """Needle, first and last character of each, in the rows of this language."""
    if language.needles is None:
        return _NONE, _NONE, _NONE
    rows = np.flatnonzero(text.language == name)
    haystack = "".join(text.rows.gather(rows).to_list())
    found = np.array(language.needles.find_matches_as_indexes(haystack, overlapping=True), np.int64).reshape(-1, 3)
    ends = np.cumsum(text.lengths[rows])
    moved = text.starts[rows] - (ends - text.lengths[rows])
    row = np.searchsorted(ends, found[:, 1], side="right")
    return found[:, 0], found[:, 1] + moved[row], found[:, 2] + moved[row] - 1


def _words(needle: Ints, first: Ints, text: Text, language: Language) -> pl.DataFrame:
    words, which = language.word_of.of(needle)
    begin = first[which] + words[:, 1]
    end = begin + words[:, 2] - 1
    whole = text.sentence[begin] == text.sentence[end]  # a phrase does not reach from one sentence into the next
    begin, end = begin[whole], end[whole]
    return pl.DataFrame({"row": text.row[begin], "rule": words[whole, 0], "first": begin, "last": end}, schema=HITS)


def _likely(needle: Ints, sentence: Ints, spoken: Ints, language: Language) -> pl.DataFrame:
    """Pieces and the sentences in which they may match, piece by piece. `spoken` are all sentences of the language."""
    piece, which = language.wanted.of(needle)
    count = int(spoken[-1]) + 1 if spoken.size else 1
    seen = piece[:, 0] * np.int64(count) + sentence[which]
    pairs = np.unique(np.concatenate([seen, (language.always[:, None] * count + spoken).ravel()]))
    return (
        language.pieces[pairs // count]
        .select("rule", "lines", pl.Series("piece", pairs // count), pl.Series("sentence", pairs % count))
        .cast(_TRIED)
    )


def _expressions(tried: pl.DataFrame, text: Text, sentences: Sentences) -> pl.DataFrame:
    """One hit a sentence and rule: the leftmost, and of those the first alternative."""
    hits = (
        pl.concat([_FOUND.to_frame(), *_first_of_each(tried, sentences)])
        .sort("rule", "sentence", "at", "piece")
        .unique(["rule", "sentence"], keep="first", maintain_order=True)
    )
    sentence = hits["sentence"].to_numpy()
    begin = text.byte_of(sentences.first[sentence]) + hits["at"].to_numpy()
    end = begin + np.maximum(hits["length"].to_numpy(), 1) - 1
    return pl.DataFrame(
        {
            "row": sentences.row[sentence],
            "rule": hits["rule"],
            "first": text.character_of_byte[begin],
            "last": text.character_of_byte[end],
        },
        schema=HITS,
    )


def _first_of_each(tried: pl.DataFrame, sentences: Sentences) -> Iterator[pl.DataFrame]:
    """Where each piece matches first in each of its sentences."""
    if tried.is_empty():
        return
    strings = sentences.strings.gather(tried["sentence"])
    joined = strings.str.join("\n").item().encode()  # a line each: there is no such sign in normalised text
    ends = np.cumsum(strings.str.len_bytes().to_numpy(), dtype=np.int64) + np.arange(1, tried.height + 1)
    begins = np.r_[0, ends[:-1]]
    rule, piece, sentence = (tried[name].to_numpy() for name in ("rule", "piece", "sentence"))
    cuts = np.flatnonzero(np.r_[True, (rule[1:] != rule[:-1]) | (piece[1:] != piece[:-1]), True])
    for first, after in pairwise(cuts.tolist()):
        start = begins[first]
        line, begin, end = first_in_lines(
            tried["lines"][first], joined[start : ends[after - 1] - 1], begins[first:after] - start
        )
        if line.size:
            at = begin - (begins[first + line] - start)
            yield pl.DataFrame(
                {
                    "rule": rule[first + line],
                    "piece": piece[first + line],
                    "sentence": sentence[first + line],
                    "at": at,
                    "length": end - begin,
                },
                schema=_FOUND,
            )
