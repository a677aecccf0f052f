"""What a household complains about, in two lists: phrases of a rewrite that accuse (words/subjects.tsv), and beginnings
of words of an original, in each source language, that excuse them (words/fields.tsv).

The second list is the wider one, since people paraphrase: plates, the sink and the kitchen are one subject. A source
language without a list is not judged.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from ahocorasick_rs import AhoCorasick, MatchKind

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.text import read
from rewrite_batch.evaluate.walk import walk

WORDS = Path(__file__).parent / "words"
# Words are written together there, or not apart: a field's word may stand anywhere.
JOINED = frozenset({"de", "nl", "sv", "zh", "ja", "ko", "th", "ar"})
# Often typed without accents.
_BARE = frozenset({"es", "fr", "pt", "it", "pl", "tr"})
# No spaces between words: there a phrase may stand anywhere.
UNSPACED = frozenset({"zh", "ja", "th"})
_HARMLESS = "-"
NEVER = r"[^\s\S]"  # where nothing is harmless
_EITHER = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True, eq=False)
class Subjects:
    """Of one target language."""

    language: str
    phrases: pl.DataFrame  # pattern, subject
    harmless: tuple[str, ...]
    excuses: pl.DataFrame  # subject, field

    @cached_property
    def mask(self) -> AhoCorasick:
        return AhoCorasick(self.harmless, matchkind=MatchKind.LeftmostFirst)

    @cached_property
    def finder(self) -> AhoCorasick:
        """Of the phrases, by their places in the table."""
        return AhoCorasick(self.phrases["pattern"].to_list())

    @cached_property
    def patterns(self) -> dict[str, tuple[str, ...]]:
        """By subject."""
        listed: dict[str, list[str]] = {}
        for pattern, subject in self.phrases.iter_rows():
            listed.setdefault(subject, []).append(pattern)
        return {subject: tuple(some) for subject, some in listed.items()}


@lru_cache(maxsize=1)
def subjects() -> dict[str, Subjects]:
    phrases: dict[str, dict[str, str]] = {}
    excuses: dict[str, list[tuple[str, str]]] = {}
    lines = list(_lines("subjects.tsv"))
    forms = [(language, subject, form) for language, subject, written, _ in lines for form in _forms(written)]
    normal = _normal([form for *_, form in forms], [language for language, *_ in forms])
    for (language, subject, form), core in zip(forms, normal, strict=True):
        # Padded as in normalised text, with a space behind but where `*` stands.
        lead, end = ("", "") if language in UNSPACED else (" ", "" if form.endswith("*") else " ")
        phrases.setdefault(language, {})[f"{lead}{core}{end}"] = subject
    for language, subject, _, fields in lines:
        excuses.setdefault(language, []).extend((subject, field) for field in fields.split())
    return {
        language: Subjects(
            language,
            table({p: s for p, s in known.items() if s != _HARMLESS}.items(), "pattern", "subject"),
            tuple(pattern for pattern, subject in known.items() if subject == _HARMLESS),
            table(excuses[language], "subject", "field"),
        )
        for language, known in phrases.items()
    }


@lru_cache(maxsize=1)
def fields() -> dict[str, pl.DataFrame]:
    """By source language, patterns and their fields."""
    listed: dict[str, dict[tuple[str, str], None]] = {}
    words = [(language, field, word) for language, field, stems in _lines("fields.tsv") for word in stems.split("/")]
    normal = _normal([word for *_, word in words], [language for language, *_ in words])
    for (language, field, word), core in zip(words, normal, strict=True):
        if not core:
            continue
        lead = "" if language in JOINED else " "
        forms = {core, _bare(core)} if language in _BARE else {core}
        patterns = {lead + form + (" " if word.endswith(".") else "") for form in sorted(forms)}
        listed.setdefault(language, {}).update({(pattern, field): None for pattern in sorted(patterns)})
    return {language: table(pairs, "pattern", "field") for language, pairs in listed.items()}


@lru_cache(maxsize=1)
def excuses() -> pl.DataFrame:
    """target, subject, field."""
    return pl.concat(
        [
            known.excuses.select(pl.lit(language).alias("target"), "subject", "field")
            for language, known in subjects().items()
        ]
    ).unique(maintain_order=True)


def named_in(texts: pl.Series, target: str) -> pl.DataFrame:
    """place, subject: what normalised rewrites name, by their places in the series."""
    known = subjects()[target]
    seen = pl.Series([masked(text, known) for text in texts.to_list()], dtype=pl.String())
    needle, place, *_ = walk(known.finder, seen, _lengths(seen))
    found = pl.DataFrame({"place": place, "needle": needle}, schema={"place": pl.Int64(), "needle": pl.Int64()})
    named = known.phrases["subject"].gather(found["needle"])
    return found.select("place", named.alias("subject")).unique(maintain_order=True)


def _lengths(texts: pl.Series) -> Ints:
    return texts.str.len_chars().to_numpy().astype(np.int64)


def fields_of(texts: pl.Series, language: str) -> pl.DataFrame:
    """place, field: what normalised texts speak of, by their places in the series."""
    finder, named = _finder(language)
    needle, place, *_ = walk(finder, texts, _lengths(texts))
    seen = pl.DataFrame({"place": place, "needle": needle}, schema={"place": pl.Int64(), "needle": pl.Int64()})
    return seen.unique().join(named, on="needle").select("place", "field")


@lru_cache(maxsize=64)
def _finder(language: str) -> tuple[AhoCorasick, pl.DataFrame]:
    listed = fields()[language]
    patterns = listed["pattern"].unique(maintain_order=True)
    numbered = patterns.to_frame().with_row_index("needle").cast({"needle": pl.Int64()})
    return AhoCorasick(patterns.to_list()), listed.join(numbered, on="pattern").select("needle", "field")


@lru_cache(maxsize=1)
def _patterns_of() -> dict[tuple[str, str], tuple[str, ...]]:
    listed: dict[tuple[str, str], list[str]] = {}
    for language, table in fields().items():
        for pattern, field in table.iter_rows():
            listed.setdefault((language, field), []).append(pattern)
    return {key: tuple(patterns) for key, patterns in listed.items()}


def speaks_of(field: str, language: str, normal: str) -> bool:
    """Whether a normalised text has a word of this field."""
    return any(pattern in normal for pattern in _patterns_of().get((language, field), ()))


def fields_in(language: str, normal: str) -> frozenset[str]:
    """What a normalised text speaks of."""
    return frozenset(
        field
        for (known, field), patterns in _patterns_of().items()
        if known == language and any(pattern in normal for pattern in patterns)
    )


def names_subject(target: str, normal: str) -> bool:
    """Whether a normalised rewrite has any phrase that is listed as a subject."""
    known = subjects()[target]
    seen = masked(normal, known)
    return any(pattern in seen for pattern in known.phrases["pattern"])


def _lines(name: str) -> Iterator[list[str]]:
    lines = [line for line in (WORDS / name).read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    return (line.split("\t") for line in lines[1:])


def table(pairs: Iterable[tuple[str, str]], *names: str) -> pl.DataFrame:
    return pl.DataFrame(list(pairs), schema=dict.fromkeys(names, pl.String()), orient="row")


def _forms(written: str) -> list[str]:
    """`(a|b) c*` is ` a c*` and ` b c*`."""
    forms: list[str] = []
    for phrase in written.split("/"):
        parts = _EITHER.split(phrase)
        choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
        forms += ["".join(choice) for choice in itertools.product(*choices)]
    return forms


def _normal(words: list[str], languages: list[str]) -> list[str]:
    """All at once: one by one, the words of these lists take ten seconds."""
    return read(pl.Series(words, dtype=pl.String()), np.array(languages)).rows.str.strip_chars(" ").to_list()


def _bare(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def masked(normal: str, known: Subjects) -> str:
    """Without the phrases that are harmless, each a space."""
    left: list[str] = []
    place = 0
    for _, first, after in known.mask.find_matches_as_indexes(normal):
        left.append(normal[place:first])
        place = after
    return " ".join([*left, normal[place:]])
