"""Where the rules of a language's pack match: normalised texts come in, one row a hit goes out.

One walk (Aho-Corasick) over the rows of a language finds the needles: words, beginnings and substrings are hits
themselves; the literals that a regular expression needs name the sentences where it is worth trying. An expression
counts once a sentence.
"""

from itertools import pairwise
from typing import TypeAlias

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.expressions import first_in_lines
from rewrite_batch.evaluate.matcher import Language, Matcher
from rewrite_batch.evaluate.text import Sentences, Text, sentences_of
from rewrite_batch.evaluate.walk import walk

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
    found: list[_Hits] = [(_NONE, _NONE, _NONE)]
    for name in np.unique(text.language).tolist():
        if name in using.members:
            language = using.language(name)
            needle, first, last = _needles(text, language, name)
            inside = text.sentence[first] == text.sentence[last]
            at = position[text.sentence[first[inside]]]
            piece, sentence = _likely(needle[inside], at, np.flatnonzero(spoken == name), language)
            found.append(_words(needle, first, text, language))
            found.append(_expressions(piece, sentence, text, sentences, language))
    rule, first, last = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((rule, first))  # places count through the rows
    columns = {"row": text.row[first[order]], "rule": rule[order], "first": first[order], "last": last[order]}
    return pl.DataFrame(columns, schema=HITS)


_Hits: TypeAlias = tuple[Ints, Ints, Ints]  # rule, first and last character
_NONE: Ints = np.zeros(0, np.int64)


def _needles(text: Text, language: Language, name: str) -> tuple[Ints, Ints, Ints]:
    """Needle, first and last character of each, in the rows of this language."""
    if language.needles is None:
        return _NONE, _NONE, _NONE
    rows = np.flatnonzero(text.language == name)
    needle, row, first, last = walk(language.needles, text.rows.gather(rows), text.lengths[rows])
    start = text.starts[rows][row]
    return needle, start + first, start + last


def _words(needle: Ints, first: Ints, text: Text, language: Language) -> _Hits:
    words, which = language.word_of.of(needle)
    begin = first[which] + words[:, 1]
    end = begin + words[:, 2] - 1
    whole = text.sentence[begin] == text.sentence[end]  # a phrase does not reach from one sentence into the next
    return words[whole, 0], begin[whole], end[whole]


def _likely(needle: Ints, sentence: Ints, spoken: Ints, language: Language) -> tuple[Ints, Ints]:
    """Pieces and the sentences in which they may match, piece by piece. `spoken` are all sentences of the language."""
    piece, which = language.wanted.of(needle)
    count = int(spoken[-1]) + 1 if spoken.size else 1
    seen = piece[:, 0] * np.int64(count) + sentence[which]
    pairs = np.unique(np.concatenate([seen, (language.always[:, None] * count + spoken).ravel()]))
    return pairs // count, pairs % count


def _expressions(piece: Ints, sentence: Ints, text: Text, sentences: Sentences, language: Language) -> _Hits:
    """One hit a sentence and rule: the leftmost, and of those the first alternative."""
    place, begin, end = _first_of_each(piece, sentences.strings.gather(sentence), language)
    rule = language.rule_of[piece[place]]
    order = np.lexsort((piece[place], begin, sentence[place], rule))
    place, begin, end, rule = place[order], begin[order], end[order], rule[order]
    if not place.size:
        return _NONE, _NONE, _NONE
    found = sentence[place]
    first = np.r_[True, (rule[1:] != rule[:-1]) | (found[1:] != found[:-1])]
    start = text.byte_of(sentences.first[found[first]])
    byte = text.character_of_byte
    return rule[first], byte[start + begin[first]], byte[start + np.maximum(end, begin + 1)[first] - 1]


def _first_of_each(piece: Ints, strings: pl.Series, language: Language) -> tuple[Ints, Ints, Ints]:
    """Each piece comes with its sentences. Which of them match, and where in the sentence the first match begins and
    ends, in bytes."""
    if not piece.size:
        return _NONE, _NONE, _NONE
    joined = strings.str.join("\n").item().encode()  # a line each: there is no such sign in normalised text
    sizes = strings.str.len_bytes().to_numpy().astype(np.int64) + 1
    begins = np.cumsum(sizes) - sizes
    found: list[tuple[Ints, Ints, Ints]] = [(_NONE, _NONE, _NONE)]
    for first, after in pairwise(np.flatnonzero(np.r_[True, piece[1:] != piece[:-1], True]).tolist()):
        start = begins[first]
        text = joined[start : begins[after - 1] + sizes[after - 1] - 1]
        line, begin, end = first_in_lines(language.pieces[int(piece[first])].lines, text, begins[first:after] - start)
        if line.size:
            apart = begins[first + line] - start
            found.append((first + line, begin - apart, end - apart))
    place, begin, end = map(np.concatenate, zip(*found, strict=True))
    return place, begin, end
