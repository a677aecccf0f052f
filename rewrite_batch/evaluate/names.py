"""Names that the original lacks. Cautious: a capital letter inside a sentence, in a script that has capitals, on a word
that is in no pack and in no form in the original. German writes every noun so: there only known given names count.

How a name of the original may look in the rewrite is same_name.py's to say.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.markers import common, folded
from rewrite_batch.evaluate.matcher import Matcher
from rewrite_batch.evaluate.same_name import WITHOUT_CAPITALS, same_name
from rewrite_batch.evaluate.tables import FIRED, fired
from rewrite_batch.evaluate.text import Text, read

# After a small letter, a digit or a comma: not at the start of a sentence or a line, nor after a colon, a quotation
# mark or a smile.
CAPITAL = r"[\p{Ll}\p{N},;][ \t\u00a0]+\p{Lu}\p{Ll}{2,}"
# Under a closing word and its comma.
LAST_LINE = r",[ \t]*\n\s*\p{Lu}\p{Ll}{2,}\s*$"
# What makes a sentence's first word look as if it stood inside: signs of feeling that end in a letter or a digit, and
# the clipped words that open a Dutch sentence ('s Nachts, 't Is).
OPENERS = r"<3+|[:;=][-']?[pd3]\b|\b[xX]d\b|(?:^|[.!?\n]\s*)['’‘`´](?:s|t|k|n|m)\b"
# After a greeting and its comma many begin with a capital; a name there has a sign behind it.
GREETED = (
    r"(?i:^\W*(?:hola|buenas|hallo|hoi|hey|hej|hejsan|tjena|hei|ciao|salve|salut|bonjour|coucou|olá|oi|cześć|hejka|"
    r"привет|здравствуй|здравствуйте|merhaba|selam|selamlar|chào(?: \w+)?|xin chào|halo|hai|permisi)),"
    r"\s+(\p{Lu}\p{Ll}+ \p{Ll})"
)
# Where else a name stands in English: after a title, as a signature, or before a verb of speech at a sentence's start.
TITLED = r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Uncle|Aunt|Auntie)\.?\s+\p{Lu}\p{Ll}{2,}"
SIGNED = r"(?:\n\s*|[-–—~]\s?)\p{Lu}\p{Ll}{2,}\s*$"
SPEAKS = (
    r"(?:^|[.!?]\s+)\p{Lu}\p{Ll}{2,}(?:,? and I\b|,? too\b| (?:also )?(?:thinks?|said|says?|mentioned|"
    r"told|asked|agrees?|"
    r"agreed|feels?|felt|complained|complains?|noticed|pointed|suggested|wants?|wanted|heard|saw)\b"
    r"| (?:has|had) (?:also |already |even )?(?:noticed|said|mentioned|complained|asked|felt|heard|seen|pointed|"
    r"suggested|agreed|smelled|tripped)\b)"
)
_CALENDAR = frozenset({"@weekday", "@month", "@daypart", "@clock"})


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
    inside = pl.Series(text.language != "de") & text_of.str.contains(CAPITAL)
    clear = text_of.str.replace_all(OPENERS, ".").str.replace(GREETED, ". ${1}")
    tokens = pl.concat(
        [
            _named(frame.filter(has_case & inside).with_columns(clear), CAPITAL),
            _named(frame.filter(has_case & text_of.str.contains(LAST_LINE)), LAST_LINE),
            _no_words(_named(frame.filter(has_case & text_of.str.contains(GIVEN_PATTERN)), GIVEN_PATTERN), text),
            _english(frame.filter(pl.Series(text.language == "en"))),
        ]
    )
    if tokens.is_empty():
        return FIRED.to_frame()
    spoken = _in_a_pack(tokens, text.language, using)
    new = [
        not known and not stands_in(name, original, str(source[row]), str(text.language[row]))
        for (row, original, name), known in zip(tokens.iter_rows(), spoken, strict=True)
    ]
    return fired(tokens.filter(pl.Series(new, dtype=pl.Boolean())), "new_fact", "name")


def _named(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """row, original_text, name."""
    found = frame.select("row", "original_text", pl.col("rewritten_text").str.extract_all(where).alias("name"))
    names = found.explode("name", empty_as_null=True).drop_nulls("name")
    return names.with_columns(pl.col("name").str.extract(r"(\p{Lu}\p{Ll}+)\s*$"))


def _no_words(tokens: pl.DataFrame, text: Text) -> pl.DataFrame:
    """Less the given names that are a common word of the language: Anders is `otherwise` in Dutch."""
    rows = zip(tokens["row"], tokens["name"], strict=True)
    kept = [not is_word(name, str(text.language[row])) for row, name in rows]
    return tokens.filter(pl.Series(kept, dtype=pl.Boolean()))


def is_word(name: str, language: str) -> bool:
    return name.lower() in _words_of(language)


@lru_cache(maxsize=64)
def _words_of(language: str) -> frozenset[str]:
    return folded(common()[language].words, language) if language in common() else frozenset()


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
    return (
        frozenset(p for p in single if p.endswith(" ")) | _calendar(using, language),
        tuple(p for p in single if not p.endswith(" ")),
    )


def _calendar(using: Matcher, language: str) -> frozenset[str]:
    """The words of days and months of several words: both of `Chủ nhật`."""
    rules = [using.rules[index] for index in using.members.get(language, ())]
    names = [rule.pattern for rule in rules if rule.code in _CALENDAR and rule.mode != "regex"]
    words = read(pl.Series(names, dtype=pl.String()), np.full(len(names), language)).rows.str.split(" ")
    return frozenset(f" {word} " for row in words for word in row if word)


def stands_in(name: str, original: str, source: str, target: str) -> bool:
    return name.lower() in _COMMON or same_name(name, original, source, target)
