"""The language check, piece by piece and byte by byte: what evaluate/language.py does with arrays."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from rewrite_batch.evaluate import chars, language
from rewrite_batch.evaluate.markers import CASED, RUN, WHOLE, values
from rewrite_batch.evaluate.scripts import ALPHABETS, FOREIGN_LETTERS, SCRIPTS_OF, UNSPACED, WEIGHT
from tests.bench.loop_text import DIGIT, KIND, SCRIPT, Read, clip

_WEIGHT: list[int] = WEIGHT.tolist()
_LEAST, _PART = 25, 40


@dataclass(frozen=True)
class Tables:
    nextmove: Sequence[int]
    rowbase: list[int]
    feature: list[int]
    weights: list[list[int]]
    prior: list[int]
    column: dict[str, int]
    rivals: list[list[bool]]


@lru_cache(maxsize=8)
def _tables(script: str) -> Tables:
    using = language.model(script)
    return Tables(
        nextmove=memoryview(cast("Any", using.nextmove)),  # as a list it would be 300 MB
        rowbase=using.rowbase.tolist(),
        feature=using.feature.tolist(),
        weights=using.weights.tolist(),
        prior=using.prior.tolist(),
        column=using.column,
        rivals=using.rivals.tolist(),
    )


def foreign(text: Read, target: str) -> bool:
    pieces = _pieces(text)
    walked = target in language.walked()
    left: list[tuple[list[int], list[int]]] = []
    wrong = False
    for codes, scripts in pieces:
        if _wrong_script(codes, scripts, target):
            wrong = True
        elif walked and sum(scripts):
            left.append((codes, scripts))
    alone = sum(1 for _, scripts in pieces if sum(scripts)) == 1
    return wrong or bool(left and _wrong_words(left, target, alone=alone)) or _given_away(text, target)


def _given_away(text: Read, target: str) -> bool:
    """Word by word: what evaluate/markers.py does with arrays."""
    run = foreign = own = 0
    start = 0
    for place in range(1, len(text.norm) + 1):
        if place < len(text.norm) and text.norm[place] != " ":
            continue
        word = text.norm[start + 1 : place]
        value = _value(word, target) if word else 0
        if value > 0 and not _spoken(text, start):
            value = 0
        run = max(run, 0) + value
        foreign += value > 0
        own += value < 0
        if run >= RUN:
            return True
        start = place
    return foreign >= WHOLE and own == 0


def _value(word: str, target: str) -> int:
    scripts = [chars.SCRIPTS[SCRIPT[clip(ord(c))]] for c in word]
    alphabet = ALPHABETS.get(target)
    if alphabet and any(s == "latin" and c not in alphabet and not c.isdigit()
                        for c, s in zip(word, scripts, strict=True)):  # fmt: skip
        return 1
    if target in UNSPACED and scripts[0] in SCRIPTS_OF[target]:
        return -1
    return values(target).get(word, 0)


def _spoken(text: Read, start: int) -> bool:
    first = start + 1
    capital = chr(text.raw[text.source[first]]) != text.norm[first] and ord(text.norm[first]) < CASED
    opens = text.sentence[first] != text.sentence[max(start - 1, 0)]
    return not text.quoted[first] and (not capital or opens)


def _pieces(text: Read) -> list[tuple[list[int], list[int]]]:
    """Each piece as its code points and its letters by script."""
    words: list[tuple[int, int, int]] = []  # first character, weight, sentence
    start, weight = 0, 0
    for place, code in enumerate(text.raw):
        if place and not _is_letter(text.raw[place - 1]):
            words.append((start, weight, text.raw_sentence[start]))
            start, weight = place, 0
        if _is_letter(code):
            weight += _WEIGHT[SCRIPT[clip(code)]]
    words.append((start, weight, text.raw_sentence[start]))
    size: dict[int, int] = {}
    for _, weight, sentence in words:
        size[sentence] = size.get(sentence, 0) + weight
    cuts = _cuts(words, size)
    ends = [*cuts[1:], len(text.raw)]
    return [(text.raw[a:b], _scripts(text.raw[a:b])) for a, b in zip(cuts, ends, strict=True)]


def _cuts(words: list[tuple[int, int, int]], size: dict[int, int]) -> list[int]:
    groups: list[list[tuple[int, int]]] = []
    before = stretch = 0
    last = -1
    for start, weight, sentence in words:
        if sentence != last:
            here = before // _LEAST
            long = size[sentence] >= _LEAST or size.get(last, 0) >= _LEAST
            if not groups or here != stretch or long:
                groups.append([])
            stretch, last = here, sentence
        groups[-1].append((start, weight))
        before += weight
    cuts: list[int] = []
    for group in groups:
        total = sum(weight for _, weight in group)
        parts = max(total // _PART, 1)
        inside, part = 0, -1
        for start, weight in group:
            now = min(inside * parts // max(total, 1), parts - 1)
            if now != part:
                cuts.append(start)
                part = now
            inside += weight
    return cuts


def _is_letter(code: int) -> bool:
    return KIND[clip(code)] == chars.LETTER and DIGIT[clip(code)] < 0


def _scripts(codes: list[int]) -> list[int]:
    counts = [0] * len(chars.SCRIPTS)
    for code in codes:
        if _is_letter(code):
            counts[SCRIPT[clip(code)]] += 1
    return counts


def _weighed(scripts: list[int]) -> int:
    return sum(count * weight for count, weight in zip(scripts, _WEIGHT, strict=True))


def _wrong_script(codes: list[int], scripts: list[int], target: str) -> bool:
    own = [chars.SCRIPTS.index(name) for name in SCRIPTS_OF.get(target, ("latin",))]
    other = _weighed(scripts) - sum(scripts[i] * _WEIGHT[i] for i in own)
    known = target in {*language.walked(), "zh", "ja", "ko", "th", "el", "he", "yue"}
    if known and other >= 12 and other * 10 > _weighed(scripts) * 4:
        return True
    kana, han = chars.SCRIPTS.index("kana"), chars.SCRIPTS.index("han")
    if target == "ja" and scripts[kana] == 0 and scripts[han] >= 8:
        return True
    strange = sum(chr(code) in FOREIGN_LETTERS.get(target, "") for code in codes)
    return strange >= language.FEW.get(target, 3) and strange * 20 > sum(scripts)


def _wrong_words(pieces: list[tuple[list[int], list[int]]], target: str, *, alone: bool) -> bool:
    using = _tables(SCRIPTS_OF.get(target, ("latin",))[0])
    limit = language.FAILS * 0.6 if target in {"hi", "mr", "ne"} else language.FAILS
    whole = [0] * len(using.prior)
    length = letters = 0
    for codes, scripts in pieces:
        data = "".join(map(chr, codes)).encode()[: language.MOST_BYTES]
        scores = _walk(data, using)
        weight = _weighed(scripts)
        least, most = (_LEAST, limit) if weight >= _LEAST else (8 if alone else _LEAST, language.FAILS_SHORT)
        if weight >= least and _behind(scores, len(data), target, using) > most:
            return True
        whole = [a + b for a, b in zip(whole, scores, strict=True)]
        length += len(data)
        letters += weight
    return letters >= 2 * _LEAST and _behind(whole, length, target, using) > limit


def _walk(data: bytes, using: Tables) -> list[int]:
    scores: list[int] = list(using.prior)
    nextmove, rowbase, feature, weights = using.nextmove, using.rowbase, using.feature, using.weights
    state = 0
    for byte in data:
        state = nextmove[rowbase[state] + byte]
        scores = [a + b for a, b in zip(scores, weights[feature[state]], strict=True)]
    return scores


def _behind(scores: list[int], size: int, target: str, using: Tables) -> float:
    column = using.column.get(target, 0)
    rivals = using.rivals[column]
    best = max(score for score, rival in zip(scores, rivals, strict=True) if rival)
    return (best - scores[column]) / language.SCALE / math.sqrt(max(size, 1))
