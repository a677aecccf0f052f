"""Where the rules of a language's pack match: normalised texts come in, one row a hit goes out.

One walk (Aho-Corasick) over the rows of a language finds the needles: words, beginnings and substrings are hits
themselves; the literals that a regular expression needs name the sentences where it is worth trying. An expression
counts once a sentence.
"""

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
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
    found = [_needles(text, language, name) for name, language in using.languages.items()]
    needle, first, last = (np.concatenate(column) for column in zip(*found, strict=True)) if found else (_NONE,) * 3
    inside = text.sentence[first] == text.sentence[last]
    tried = _likely(needle[inside], first[inside], text, sentences, using)
    hits = pl.concat([_words(needle, first, text, using), _expressions(*tried, text, sentences, using)])
    return hits.sort("row", "first", "rule")


_NONE = np.zeros(0, np.int64)


def _needles(text: Text, language: Language, name: str) -> tuple[Ints, Ints, Ints]:
    """Needle, first and last character of each, in the rows of this language."""
    rows = np.flatnonzero(text.language == name)
    if language.needles is None or not rows.size:
        return _NONE, _NONE, _NONE
    haystack = "".join(text.rows.gather(rows).to_list())
    found = np.array(language.needles.find_matches_as_indexes(haystack, overlapping=True), np.int64).reshape(-1, 3)
    begins = text.starts[rows]
    ends = np.cumsum(text.lengths[rows])
    row = np.searchsorted(ends, found[:, 1], side="right")
    moved = (begins - ends + text.lengths[rows])[row]
    return found[:, 0] + language.base, found[:, 1] + moved, found[:, 2] + moved - 1


def _words(needle: Ints, first: Ints, text: Text, using: Matcher) -> pl.DataFrame:
    words, which = using.words.of(needle)
    begin = first[which] + words[:, 1]
    end = begin + words[:, 2] - 1
    whole = text.sentence[begin] == text.sentence[end]  # a phrase does not reach from one sentence into the next
    begin, end = begin[whole], end[whole]
    return pl.DataFrame({"row": text.row[begin], "rule": words[whole, 0], "first": begin, "last": end}, schema=HITS)


def _expressions(piece: Ints, sentence: Ints, text: Text, sentences: Sentences, using: Matcher) -> pl.DataFrame:
    """One hit a sentence and rule: the leftmost, and of those the first alternative."""
    hits = (
        # Piece by piece, as an expression is compiled anew where another stands before it.
        using.pieces[piece]
        .with_columns(pl.Series("piece", piece), pl.Series("sentence", sentence))
        .with_columns(sentences.strings.gather(sentence).alias("text"))
        .with_columns(pl.col("text").str.find(pl.col("pattern")).alias("at"))
        .drop_nulls("at")
        .sort("rule", "sentence", "at", "piece")
        .unique(["rule", "sentence"], keep="first", maintain_order=True)
        .with_columns(pl.col("text").str.extract(pl.col("pattern"), 0).str.len_bytes().alias("length"))
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


def _likely(needle: Ints, first: Ints, text: Text, sentences: Sentences, using: Matcher) -> tuple[Ints, Ints]:
    """Pieces and the sentences in which they may match, piece by piece."""
    piece, which = using.wanted.of(needle)
    count = max(sentences.row.size, 1)
    position = np.zeros(text.sentence_row.size, np.int64)  # of a sentence among those that hold a word
    position[text.sentence[sentences.first]] = np.arange(sentences.row.size)
    tried = [piece[:, 0] * np.int64(count) + position[text.sentence[first[which]]]]
    spoken = text.language[sentences.row]
    for name, language in using.languages.items():
        if language.always.size:
            these = np.flatnonzero(spoken == name)
            tried.append((language.always.astype(np.int64)[:, None] * count + these).ravel())
    pairs = np.unique(np.concatenate(tried))
    return pairs // count, pairs % count
