"""What each character means to the checks, as arrays indexed by code point. Built once, in about 50 ms.

Matching ignores case, accents stay (Spanish año), invisible characters are dropped, look-alikes of another width are
folded, digits of any script become ASCII digits. Arabic vowel marks and alef forms, the Hindi nukta and the Russian ё
are folded, since people write them either way.
"""

import unicodedata
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]

SIZE = 0x20000  # beyond are rare ideographs (letters) and tags (invisible)
LETTER, SEPARATOR, DROPPED = 0, 1, 2

SENTENCE_ENDS = ".!?。！？．｡؟।॥…\n\u2028\u2029\u0085‼⁇⁈⁉‽"
ALWAYS_ENDS = "!?。！？｡؟।॥\n\u2028\u2029\u0085‼⁇⁈⁉‽…"  # a full stop ends a sentence only before a space
QUESTION_MARKS = "?？؟⁇⁈⁉‽"
CLAUSE_ENDS = ",;:()[]{}—–，；：、（）،؛"
QUOTE_MARKS = '"“”„‟«»「」『』'

SCRIPTS = ("latin", "cyrillic", "greek", "hebrew", "arabic", "devanagari", "thai", "hangul", "kana", "han", "other")
_RANGES = {
    "latin": [(0x41, 0x24F), (0x1E00, 0x1EFF), (0xFF21, 0xFF5A)],
    "cyrillic": [(0x400, 0x52F)],
    "greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
    "hebrew": [(0x590, 0x5FF)],
    "arabic": [(0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC)],
    "devanagari": [(0x900, 0x97F)],
    "thai": [(0xE00, 0xE7F)],
    "hangul": [(0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)],
    "kana": [(0x3040, 0x30FF), (0xFF66, 0xFF9F)],
    "han": [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)],
}
_FOLDED = {
    **dict.fromkeys("أإآٱ", "ا"), "ى": "ي", "ی": "ي", "ک": "ك",
    "ё": "е", "Ё": "е",
    "İ": "i",
    **{chr(0x958 + i): base for i, base in enumerate("कखगजडढफय")},
}  # fmt: skip
_NEVER_SEEN = {0x640, 0x93C, 0x670, *range(0x64B, 0x653), *range(0xFE00, 0xFE10)}


def _fold(character: str) -> str:
    if character in _FOLDED:
        return _FOLDED[character]
    wide = unicodedata.normalize("NFKC", character)
    if len(wide) == 1 and wide != character and unicodedata.category(wide)[0] in "LN":
        character = wide
    low = character.lower()
    return low if len(low) == 1 else character


def _build() -> tuple[Ints, Ints, Ints, Ints, Ints]:
    fold = np.arange(SIZE, dtype=np.uint32)
    kind = np.full(SIZE, SEPARATOR, dtype=np.uint8)
    digit = np.full(SIZE, -1, dtype=np.int8)
    script = np.full(SIZE, len(SCRIPTS) - 1, dtype=np.uint8)
    mark = np.zeros(SIZE, dtype=bool)
    for name, ranges in _RANGES.items():
        for first, last in ranges:
            script[first : last + 1] = SCRIPTS.index(name)
    for code in [*range(0x3400), *range(0xA000, 0xAC00), *range(0xD7A4, 0xD800), *range(0xF900, 0x10000),
                 *range(0x1D400, 0x1D800), *range(0x1F100, 0x1F1AA)]:  # fmt: skip
        character = chr(code)
        category = unicodedata.category(character)
        value = unicodedata.decimal(character, -1)
        if code in _NEVER_SEEN or category == "Cf":
            kind[code] = DROPPED
        elif category[0] in "LMN":
            kind[code] = LETTER
            fold[code] = ord(_fold(character)) if value < 0 else 0x30 + value
            digit[code] = value
            mark[code] = category[0] == "M"
    for first, last in ((0x3400, 0xA000), (0xAC00, 0xD7A4), (0x10000, 0x1D400)):
        kind[first:last] = LETTER
    kind[[*range(0x1F3FB, 0x1F400)]] = DROPPED  # skin tones
    return fold, kind, digit, script, mark


FOLD, KIND, DIGIT, SCRIPT, MARK = _build()


def _flags(characters: str) -> Ints:
    table = np.zeros(SIZE, dtype=bool)
    table[[ord(character) for character in characters]] = True
    return table


ENDS = _flags(SENTENCE_ENDS)
ENDS_ALWAYS = _flags(ALWAYS_ENDS)
ASKS = _flags(QUESTION_MARKS)
PAUSES = _flags(CLAUSE_ENDS)
QUOTES = _flags(QUOTE_MARKS)
# Decomposed accents and Hangul parts: such rows are composed first.
DECOMPOSED = np.zeros(SIZE, dtype=bool)
DECOMPOSED[0x300:0x370] = True
DECOMPOSED[0x1100:0x1200] = True


def clip(codes: Ints) -> Ints:
    """Code points as indexes of the tables: rare ideographs count as the first ideograph, tags as a format mark."""
    if codes.size == 0 or int(codes.max()) < SIZE:
        return codes
    return np.where(codes < SIZE, codes, np.where(codes < 0xE0000, 0x3400, 0x200B)).astype(codes.dtype)
