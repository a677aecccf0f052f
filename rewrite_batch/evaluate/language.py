"""Is the text in the target language? Checked piece by piece, so that a half-translated text is caught.

Scripts decide first: they are cheap and certain. What the script leaves open goes to py3langid's model, walked with
numpy over all pieces at once; the weights are whole numbers, so that no order of adding changes a verdict.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
from py3langid.langid import (  # pyright: ignore[reportMissingTypeStubs]  it has no types
    MODEL_FILE,
    LanguageIdentifier,
)

from rewrite_batch.evaluate import chars
from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.markers import given_away
from rewrite_batch.evaluate.scripts import FOREIGN_LETTERS, SCRIPTS_OF, WEIGHT
from rewrite_batch.evaluate.text import Text

# The languages of the packs, and those that a text could be mistaken for.
KNOWN = (
    "en", "es", "de", "fr", "pt", "it", "nl", "pl", "tr", "ru", "sv", "zh", "ja", "ko", "hi", "ar", "vi", "id", "th",
    "ca", "gl", "no", "da", "ms", "mr", "ne", "uk", "bg", "sr", "hr", "bs", "cs", "sk", "ro", "fi", "hu", "fa", "ur",
    "af", "yue", "tl",
)  # fmt: skip
# Not told apart: a text in one of these passes for the other.
_ALIKE = {
    "es": ("gl",), "pt": ("gl",), "gl": ("pt", "es"), "ca": ("es",), "id": ("ms",), "ms": ("id",),
    "no": ("da", "nn"), "nn": ("no", "da"), "da": ("no", "nn"), "sv": (), "nl": ("af",), "af": ("nl",),
    "zh": ("yue", "wuu"), "yue": ("zh",), "sr": ("hr", "bs"), "hr": ("sr", "bs"), "bs": ("sr", "hr"),
    "cs": ("sk",), "sk": ("cs",), "hi": (), "mr": (), "ar": ("ary", "arz"), "tr": ("az", "crh"), "fil": ("tl",),
}  # fmt: skip
# So many letters of a neighbour give a piece away. Two will do in Chinese: none of them is in a name or a loan.
FEW = {"zh": 2}
_LEAST_LETTERS = 25
_PART_LETTERS = 40
MOST_BYTES = 160
# exp(-distance) is p(target) / max p: below 0.02 fails, below 0.2 is unsure and passes. Short texts need more.
FAILS = -math.log(0.02)
FAILS_SHORT = -math.log(0.0005)
SCALE = 64
_BLOCK = 4096
_SCRIPTS = len(chars.SCRIPTS)


@dataclass(frozen=True)
class Model:
    nextmove: Ints
    rowbase: Ints
    feature: Ints  # by state, the last one is "none"
    weights: Ints  # feature × language, scaled
    prior: Ints
    column: dict[str, int]
    rivals: Ints  # by target and other language: whether the other counts against the target


@lru_cache(maxsize=1)
def _model() -> Model:
    """py3langid's model, for the languages that we know; the rest of it is let go."""
    whole = cast("Any", LanguageIdentifier).from_model_file(MODEL_FILE)
    names: list[str] = list(whole.nb_classes)
    columns = [names.index(language) for language in KNOWN]
    weights = np.asarray(whole.nb_ptc)[:, columns].astype(np.float32)
    output = np.asarray(whole.tk_output, dtype=np.int32)
    return Model(
        nextmove=np.asarray(whole.tk_nextmove),
        rowbase=np.asarray(whole.tk_row, dtype=np.int32) << 8,
        feature=np.where(output < 0, weights.shape[0], output),
        weights=np.vstack([np.rint(weights * SCALE * math.log(2)), np.zeros((1, len(columns)))]).astype(np.int16),
        prior=np.rint(np.asarray(whole.nb_pc)[columns] * SCALE).astype(np.int32),
        column={language: place for place, language in enumerate(KNOWN)},
        rivals=np.ones((0, 0), bool),
    )


@lru_cache(maxsize=16)
def model(script: str) -> Model:
    """Scripts are told apart before: only languages of the same script are rivals."""
    whole = _model()
    languages = [language for language in KNOWN if script in SCRIPTS_OF.get(language, ("latin",))]
    columns = [whole.column[language] for language in languages]
    places = {language: place for place, language in enumerate(languages)}
    return replace(
        whole,
        weights=np.ascontiguousarray(whole.weights[:, columns]),
        prior=whole.prior[columns],
        column=places,
        rivals=_rivals(places),
    )


def _rivals(places: dict[str, int]) -> Ints:
    table = np.ones((len(places), len(places)), bool)
    for language, column in places.items():
        table[column, [places[name] for name in _ALIKE.get(language, ()) if name in places]] = False
    return table


@dataclass(frozen=True)
class Pieces:
    """Runs of sentences, or parts of a long one: 40 to 80 letters each where the text allows."""

    first: Ints  # its first raw character
    row: Ints
    letters: Ints  # weighted
    scripts: Ints  # letters by script
    alone: Ints  # the only piece of its row


def foreign(text: Text, targets: Ints) -> Ints:
    """By row: some piece of the text is certainly not in its target language."""
    rows = np.zeros(text.starts.size, bool)
    if not text.raw.size:
        return rows
    cut = _pieces(text)
    bad = _wrong_script(text, cut, targets[cut.row])
    asked = ~bad & np.isin(targets[cut.row], walked()) & (cut.letters > 0)
    if asked.any():
        bad[asked] = _wrong_words(text, cut, np.flatnonzero(asked), np.where(np.isin(targets, walked()), targets, "en"))
    rows[cut.row[bad]] = True
    return rows | given_away(text, targets)


@lru_cache(maxsize=1)
def walked() -> list[str]:
    by_script_alone = {"zh", "ja", "ko", "th", "yue"}
    return [language for language in KNOWN if language not in by_script_alone]


def _pieces(text: Text) -> Pieces:
    at = chars.clip(text.raw)
    letter = (chars.KIND[at] == chars.LETTER) & (chars.DIGIT[at] < 0)
    script = chars.SCRIPT[at]
    # Words first, since there are far fewer of them than letters. One begins after each character that is no letter.
    begins = np.r_[True, ~letter[:-1]]
    start = np.flatnonzero(begins)
    weight = np.add.reduceat(np.where(letter, WEIGHT[script], 0), start)
    before = np.cumsum(weight) - weight
    row, sentence = text.raw_row[start], text.raw_sentence[start]
    # Short sentences that begin within the same stretch of letters are read together.
    row_base = before[np.searchsorted(row, np.arange(text.starts.size))]
    opens = np.r_[True, sentence[1:] != sentence[:-1]]
    place = np.cumsum(opens) - 1
    stretch = (before[opens][place] - row_base[row]) // _LEAST_LETTERS
    long = (np.add.reduceat(weight, np.flatnonzero(opens)) >= _LEAST_LETTERS)[place]
    new = np.r_[True, (stretch[1:] != stretch[:-1]) | (row[1:] != row[:-1]) | (opens[1:] & (long[1:] | long[:-1]))]
    group = np.cumsum(new) - 1
    # A long one is cut between words into even parts.
    size = np.add.reduceat(weight, np.flatnonzero(new))
    parts = np.maximum(size // _PART_LETTERS, 1)
    inside = before - before[new][group]
    part = np.minimum(inside * parts[group] // np.maximum(size[group], 1), parts[group] - 1)
    cut = np.r_[True, (part[1:] != part[:-1]) | (group[1:] != group[:-1])]
    first = np.flatnonzero(cut)
    piece = np.repeat(np.arange(first.size), np.diff(np.r_[start[first], at.size]))
    scripts = np.bincount((piece * _SCRIPTS + script)[letter], minlength=first.size * _SCRIPTS)
    scripts = scripts.reshape(first.size, _SCRIPTS)
    letters = scripts @ WEIGHT
    some = np.bincount(row[first], letters > 0, minlength=text.starts.size)
    return Pieces(
        first=start[first],
        row=row[first],
        letters=letters,
        scripts=scripts,
        alone=some[row[first]] == 1,
    )


def _wrong_script(text: Text, cut: Pieces, target: Ints) -> Ints:
    own = np.zeros(cut.row.size, np.int64)
    weighted = cut.scripts * WEIGHT
    for language in np.unique(target):
        these = target == language
        columns = [chars.SCRIPTS.index(name) for name in SCRIPTS_OF.get(str(language), ("latin",))]
        own[these] = weighted[np.ix_(these, columns)].sum(axis=1)
    if_unknown = np.isin(target, [*walked(), "zh", "ja", "ko", "th", "el", "he", "yue"])
    other = cut.letters - own
    bad = if_unknown & (other >= 12) & (other * 10 > cut.letters * 4)
    kana, han = chars.SCRIPTS.index("kana"), chars.SCRIPTS.index("han")
    bad |= (target == "ja") & (cut.scripts[:, kana] == 0) & (cut.scripts[:, han] >= 8)
    return bad | _foreign_letters(text, cut, target)


def _foreign_letters(text: Text, cut: Pieces, target: Ints) -> Ints:
    bad = np.zeros(cut.row.size, bool)
    for language, letters in FOREIGN_LETTERS.items():
        if not (target == language).any():
            continue
        seen = np.add.reduceat(np.isin(text.raw, [ord(c) for c in letters]).astype(np.int32), cut.first)
        bad |= (target == language) & (seen >= FEW.get(language, 3)) & (seen * 20 > cut.scripts.sum(axis=1))
    return bad


def _wrong_words(text: Text, cut: Pieces, which: Ints, targets: Ints) -> Ints:
    """By piece asked for: whether a rival language is far ahead of the target, in the piece or in the whole text."""
    wrong = np.zeros(which.size, bool)
    data = _bytes_of(text, cut)
    names, number = np.unique(targets, return_inverse=True)
    scripts = [SCRIPTS_OF.get(str(name), ("latin",))[0] for name in names]
    for script in sorted(set(scripts)):
        using = model(script)
        column = np.array([using.column.get(str(name), 0) for name in names])[number]
        written_so = np.array([each == script for each in scripts])[number]
        these = np.flatnonzero(written_so[cut.row[which]])
        if these.size:
            wrong[these] = _far_behind(data, cut, which[these], targets, column, using)
    return wrong


def _far_behind(data: "Bytes", cut: Pieces, which: Ints, targets: Ints, column: Ints, using: Model) -> Ints:
    scores, size = _walk(data, which, using)
    row = cut.row[which]
    letters = cut.letters[which]
    limit = np.where(letters >= _LEAST_LETTERS, _limits(targets[row]), FAILS_SHORT)
    enough = letters >= np.where(cut.alone[which], 8, _LEAST_LETTERS)
    by_piece = (_behind(scores, size, column[row], using) > limit) & enough
    begins = np.r_[True, row[1:] != row[:-1]]
    first = np.flatnonzero(begins)
    whole, length = np.add.reduceat(scores, first), np.add.reduceat(size, first)
    enough = np.add.reduceat(letters, first) >= 2 * _LEAST_LETTERS
    by_row = (_behind(whole, length, column[row[first]], using) > _limits(targets[row[first]])) & enough
    return by_piece | by_row[np.cumsum(begins) - 1]


def _limits(target: Ints) -> Ints:
    """Letters of three bytes weigh the distance down."""
    return np.where(np.isin(target, ["hi", "mr", "ne"]), FAILS * 0.6, FAILS)


def _behind(scores: Ints, size: Ints, column: Ints, using: Model) -> Ints:
    """How far the target is behind the best rival, beyond what the length excuses."""
    mine = scores[np.arange(column.size), column]
    best = np.where(using.rivals[column], scores, np.iinfo(np.int32).min).max(axis=1)
    return (best - mine) / SCALE / np.sqrt(np.maximum(size, 1))


@dataclass(frozen=True)
class Bytes:
    """The text as UTF-8, and by piece where it begins in it and how many of its bytes are read."""

    data: Ints
    start: Ints
    length: Ints


def _bytes_of(text: Text, cut: Pieces) -> Bytes:
    data = np.frombuffer(text.raw.astype("<u4").tobytes().decode("utf-32-le").encode(), np.uint8)
    width = (1 + (text.raw >= 0x80) + (text.raw >= 0x800) + (text.raw >= 0x10000)).astype(np.int32)
    ends = np.cumsum(width)
    last = np.r_[cut.first[1:], text.raw.size] - 1
    start = ends[cut.first] - width[cut.first]
    return Bytes(data, start, np.minimum(ends[last] - start, MOST_BYTES))


def _walk(read: Bytes, which: Ints, using: Model) -> tuple[Ints, Ints]:
    """Scores by piece and language, and bytes read, over the first bytes of each piece."""
    start, length = read.start[which], read.length[which]
    scores = np.empty((which.size, using.prior.size), np.int32)
    order = np.argsort(-length, kind="stable")
    for begin in range(0, which.size, _BLOCK):
        these = order[begin : begin + _BLOCK]
        scores[these] = _walk_block(read.data, start[these], length[these], using)
    return scores, length


def _walk_block(data: Ints, start: Ints, length: Ints, using: Model) -> Ints:
    """Longest first, so that those still being read are always the first ones."""
    scores = np.tile(using.prior, (start.size, 1))
    state = np.zeros(start.size, np.int64)
    alive = np.searchsorted(-length, -np.arange(int(length[0]) if length.size else 0), side="left")
    for position, count in enumerate(alive):
        state = using.nextmove[using.rowbase[state[:count]] + data[start[:count] + position]]
        scores[:count] += using.weights[using.feature[state]]
    return scores
