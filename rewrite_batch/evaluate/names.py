"""Names that the original lacks. Cautious: a capital letter inside a sentence, in a script that has capitals, on a word
that is in no pack and in no form in the original. German writes every noun so: there only known given names count.
"""

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.matcher import Matcher
from rewrite_batch.evaluate.tables import FIRED, fired
from rewrite_batch.evaluate.text import Text, read

# After a small letter, a digit or a comma: not at the start of a sentence, nor after a colon or a quotation mark.
_CAPITAL = r"[\p{Ll}\p{N},;)]\s+\p{Lu}\p{Ll}{2,}"
# Where else a name stands in English: after a title, as a signature, or before a verb of speech at a sentence's start.
TITLED = r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Uncle|Aunt|Auntie)\.?\s+\p{Lu}\p{Ll}{2,}"
SIGNED = r"(?:\n\s*|[-–—~]\s?)\p{Lu}\p{Ll}{2,}\s*$"
SPEAKS = (
    r"(?:^|[.!?]\s+)\p{Lu}\p{Ll}{2,}(?:,? and I\b|,? too\b| (?:also )?(?:thinks?|said|says?|mentioned|"
    r"told|asked|agrees?|"
    r"agreed|feels?|felt|complained|complains?|noticed|pointed|suggested|wants?|wanted|heard|saw)\b)"
)
WITHOUT_CAPITALS = ("zh", "ja", "ko", "th", "hi", "ar", "fa", "ur", "he", "mr", "ne", "yue")
_CYRILLIC = dict(
    zip(
        "абвгдезийклмнопрстуфхыэюяцжчшщёьъ",
        [*"abvgdezijklmnoprstufhyeuac", "zh", "ch", "sh", "sh", "e", "", ""],
        strict=True,
    )
)


def _words(name: str) -> list[str]:
    text = (Path(__file__).parent / "words" / name).read_text(encoding="utf-8")
    return [word for line in text.splitlines() if not line.startswith("#") for word in line.split()]


# Brands, feasts, languages, polite forms and forms of address: a capital, and no name of a person.
_COMMON = frozenset(_words("capitals.txt"))
# Given names that are no word of another language: known anywhere in a sentence.
GIVEN_PATTERN = r"\b(?:" + "|".join(_words("given_names.txt")) + r")\b"


def new_names(frame: pl.DataFrame, text: Text, source: Ints, using: Matcher) -> pl.DataFrame:
    text_of = pl.col("rewritten_text")
    has_case = pl.Series(~np.isin(text.language, WITHOUT_CAPITALS))
    inside = pl.Series(text.language != "de") & text_of.str.contains(_CAPITAL)
    tokens = pl.concat(
        [
            frame.filter(has_case & inside).select(
                "row", "original_text", text_of.str.extract_all(_CAPITAL).alias("name")
            ),
            frame.filter(has_case & text_of.str.contains(GIVEN_PATTERN)).select(
                "row", "original_text", text_of.str.extract_all(GIVEN_PATTERN).alias("name")
            ),
        ]
    ).explode("name", empty_as_null=True)
    tokens = tokens.with_columns(pl.col("name").str.extract(r"(\p{Lu}\p{Ll}+)$"))
    tokens = pl.concat([tokens, _english(frame.filter(pl.Series(text.language == "en")))])
    if tokens.is_empty():
        return FIRED.to_frame()
    spoken = _in_a_pack(tokens, text.language, using)
    new = [
        not known and not stands_in(name, original, str(source[row]), str(text.language[row]))
        for (row, original, name), known in zip(tokens.iter_rows(), spoken, strict=True)
    ]
    return fired(tokens.filter(pl.Series(new, dtype=pl.Boolean())), "new_fact", "name")


def _english(frame: pl.DataFrame) -> pl.DataFrame:
    """row, original_text, name."""
    text = pl.col("rewritten_text")
    ends, begins = r"(\p{Lu}\p{Ll}+)\s*$", r"(\p{Lu}\p{Ll}+)"
    return pl.concat(
        [
            frame.filter(text.str.contains(where))
            .select("row", "original_text", text.str.extract_all(where).alias("name"))
            .explode("name", empty_as_null=True)
            .with_columns(pl.col("name").str.extract(part))
            for where, part in ((TITLED, ends), (SIGNED, ends), (SPEAKS, begins))
        ]
    )


def _in_a_pack(tokens: pl.DataFrame, language: Ints, using: Matcher) -> list[bool]:
    """Days, months, polite forms of you: what a pack lists is no name."""
    languages = language[tokens["row"].to_numpy()]
    words = read(tokens["name"], languages).rows.to_list()
    return [listed(word, *vocabulary(using, str(name))) for word, name in zip(words, languages, strict=True)]


def listed(word: str, whole: frozenset[str], beginnings: tuple[str, ...]) -> bool:
    return word in whole or word.startswith(beginnings)


@lru_cache(maxsize=256)
def vocabulary(using: Matcher, language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Single words of the pack, padded as in normalised text; and how words of it begin."""
    needles = [needle for needle, _ in using.language(language).words] if language in using.members else []
    single = [needle for needle in needles if needle.startswith(" ") and " " not in needle.strip(" ")]
    return frozenset(p for p in single if p.endswith(" ")), tuple(p for p in single if not p.endswith(" "))


def stands_in(name: str, original: str, source: str, target: str) -> bool:
    low = name.lower()
    if low in _COMMON:
        return True
    plain, words = low, original.lower()
    if source != target and (source in WITHOUT_CAPITALS or target in WITHOUT_CAPITALS):
        return True  # another script spells a name in ways that we cannot follow
    if target in {"ru", "uk", "bg", "sr"}:
        plain = _latin(low)
        words = _latin(words)
    elif source in {"ru", "uk", "bg", "sr"}:
        words = _latin(words)
    # Names are declined: their beginning is enough.
    stem = plain[: max(3, min(len(plain) - 2, 5))] if target == source else plain[:2]
    return any(word.startswith(stem) for word in re.findall(r"\w+", words))


def _latin(text: str) -> str:
    return "".join(_CYRILLIC.get(character, character) for character in text)
