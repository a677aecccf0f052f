"""How many tokens a text is: a fixed function of its characters, near enough for bills and limits."""

import re

LATIN_CHARACTERS_A_TOKEN = 4.0
WIDE_CHARACTERS_A_TOKEN = 1.5

# Thai, Hangul Jamo, kana, CJK, Hangul syllables and what lies beyond the basic plane.
_WIDE = re.compile("[\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00010000-\U0010ffff]+")


def count_tokens(text: str) -> int:
    if not text:
        return 0
    wide = 0 if text.isascii() else sum(len(run) for run in _WIDE.findall(text))
    narrow = len(text) - wide
    return max(1, round(narrow / LATIN_CHARACTERS_A_TOKEN + wide / WIDE_CHARACTERS_A_TOKEN))


def cacheable_prefix(instruction_tokens: int) -> int:
    """The provider caches prefixes of at least 1,024 tokens, in steps of 128."""
    return instruction_tokens // 128 * 128 if instruction_tokens >= 1024 else 0
