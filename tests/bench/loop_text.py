"""One text, read character by character: what evaluate/text.py does with arrays, done the plain way."""

import re
import unicodedata
from dataclasses import dataclass, field

from rewrite_batch.evaluate import chars
from rewrite_batch.evaluate.scripts import TRADITIONAL_TO_SIMPLE

_PARTS = re.compile("[\u0300-\u036f\u1100-\u11ff]")


def clip(code: int) -> int:
    return code if code < chars.SIZE else 0x3400 if code < 0xE0000 else 0x200B


KIND: list[int] = chars.KIND.tolist()
FOLD: list[int] = chars.FOLD.tolist()
DIGIT: list[int] = chars.DIGIT.tolist()
SCRIPT: list[int] = chars.SCRIPT.tolist()
SIMPLE: list[int] = TRADITIONAL_TO_SIMPLE.tolist()
ALWAYS, ENDS, ASKS, PAUSES, QUOTES = (
    frozenset(i for i, value in enumerate(table.tolist()) if value)
    for table in (chars.ENDS_ALWAYS, chars.ENDS, chars.ASKS, chars.PAUSES, chars.QUOTES)
)


@dataclass
class Read:
    """Lists by character of the normalised text."""

    norm: str = ""
    sentence: list[int] = field(default_factory=list[int])
    clause: list[int] = field(default_factory=list[int])
    word: list[int] = field(default_factory=list[int])
    quoted: list[bool] = field(default_factory=list[bool])
    asks: set[int] = field(default_factory=set[int])
    raw: list[int] = field(default_factory=list[int])
    raw_sentence: list[int] = field(default_factory=list[int])
    source: list[int] = field(default_factory=list[int])


def read(text: str, language: str) -> Read:
    if _PARTS.search(text):
        text = unicodedata.normalize("NFC", text)
    raw = [code for code in map(ord, f"\n{text}\n") if KIND[clip(code)] != chars.DROPPED]
    out = Read(raw=raw)
    quotes = sum(code in QUOTES for code in raw)
    norm: list[str] = []
    sentence = clause = -1
    word = marks = 0
    ended = paused = True
    blank = False
    for place, code in enumerate(raw):
        at = clip(code)
        following = raw[place + 1] if place + 1 < len(raw) else 0x0A
        gap = code <= 0x20 or code == 0x3000
        if ended:
            sentence += 1
        if ended or paused:
            clause += 1
        ended = at in ALWAYS or (at in ENDS and (following <= 0x20 or following == 0x3000))
        paused = at in PAUSES or (language in {"th", "lo", "km", "my"} and gap)
        if (
            code == 0x2D
            and (raw[place - 1] <= 0x20 or raw[place - 1] == 0x3000)
            and (following <= 0x20 or following == 0x3000)
        ):
            paused = True
        if at in ASKS:
            out.asks.add(sentence)
        marks += at in QUOTES
        out.raw_sentence.append(sentence)
        separates = KIND[at] == chars.SEPARATOR
        if separates and blank:
            continue
        blank = separates
        word += separates
        norm.append(" " if separates else _fold(code, at, language))
        out.sentence.append(sentence)
        out.source.append(place)
        out.clause.append(clause)
        out.word.append(word)
        out.quoted.append(marks % 2 == 1 and quotes % 2 == 0)
    out.norm = "".join(norm)
    return out


def _fold(code: int, at: int, language: str) -> str:
    if code == 0x49 and language in {"tr", "az"}:
        return "ı"
    folded = FOLD[at] if code < chars.SIZE else code
    return chr(SIMPLE[clip(folded)] if language == "zh" else folded)


def sentences(text: Read) -> list[tuple[int, str]]:
    """Where each sentence that holds a word begins, and the sentence."""
    starts: list[int] = []
    last = -1
    for place, character in enumerate(text.norm):
        if character != " " and text.sentence[place] != last:
            last = text.sentence[place]
            starts.append(place)
    ends = [*starts[1:], len(text.norm)]
    return [(start, text.norm[start:end].rstrip(" ")) for start, end in zip(starts, ends, strict=True)]
