"""A subject that the original does not have: `The bathroom has been messy too`, of a complaint about dishes. Fired
rules go out.

What a household complains about is listed twice: as phrases of the rewrite that accuse (words/subjects.tsv), and as
beginnings of words of the original, in each source language, that excuse them (words/fields.tsv). The second list is
the wider one, since people paraphrase: plates, the sink and the kitchen are one subject. A source language without a
list is not judged.

What a request asks for is no complaint: `Could the ashtray be emptied?` names where the matter is, `in the bin` where
to put it. There a subject counts only when it comes on top (`also`, `as well`), or as a reason (`since`, `because`).
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

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.tables import FIRED, fired
from rewrite_batch.evaluate.text import Text, read

_WORDS = Path(__file__).parent / "words"
# Words are written together there, or not apart: a field's word may stand anywhere.
JOINED = frozenset({"de", "nl", "sv", "zh", "ja", "ko", "th", "ar"})
# Often typed without accents.
_BARE = frozenset({"es", "fr", "pt", "it", "pl", "tr"})
# What the sender chose as the topic is no news.
TOPICS = {"noise": ("sound", "sleep"), "cleanliness": ("clean",), "guests": ("guest",), "privacy": ("room",)}
MONEY = r"[$€£¥₹₩₽฿₫]|\d ?(?:zł|kr)\b"
_HARMLESS = "-"
# New even where they are only asked about: what was agreed, who else complains, whom one turns to, and until when.
_ALWAYS = frozenset({"say", "others", "police", "landlord", "money", "hadto", "yesterday", "today", "tomorrow", "move"})
_ASKS = re.compile(
    r" (?:please|would|let s|shall|how about|what if|if we|i d|(?:you|we|it|they|that|who|someone|anyone) could"
    r"|could (?:you|we|i|the|it|they|your|this|that|those|these|there|someone|anyone)|can (?:you|we|i)) "
)
_ON_TOP = re.compile(
    r" (?:also|too|as well|plus|besides|in addition|along with|on top of|the same|since|because|given that|due to"
    r"|as (?:i|it|my|we|our|they|there|he|she)|and (?:the|your|my|our|all|any|some|those|these|clean|stop|keep)"
    r"|now that) "
)
_EITHER = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True, eq=False)
class Subjects:
    """Of one target language."""

    phrases: pl.DataFrame  # pattern, subject
    harmless: tuple[str, ...]
    excuses: pl.DataFrame  # subject, field

    @cached_property
    def mask(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.harmless)))

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
        phrases.setdefault(language, {})[f" {core}{'' if form.endswith('*') else ' '}"] = subject
    for language, subject, _, fields in lines:
        excuses.setdefault(language, []).extend((subject, field) for field in fields.split())
    return {
        language: Subjects(
            _table({p: s for p, s in known.items() if s != _HARMLESS}.items(), "pattern", "subject"),
            tuple(pattern for pattern, subject in known.items() if subject == _HARMLESS),
            _table(excuses[language], "subject", "field"),
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
    return {language: _table(pairs, "pattern", "field") for language, pairs in listed.items()}


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


def names_subject(target: str, normal: str) -> bool:
    """Whether a normalised rewrite has any phrase that is listed as a subject."""
    known = subjects()[target]
    masked = _masked(normal, known)
    return any(pattern in masked for pattern in known.phrases["pattern"])


def _lines(name: str) -> Iterator[list[str]]:
    lines = [line for line in (_WORDS / name).read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    return (line.split("\t") for line in lines[1:])


def _table(pairs: Iterable[tuple[str, str]], *names: str) -> pl.DataFrame:
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


def new_subjects(frame: pl.DataFrame, text: Text, source: Ints) -> pl.DataFrame:
    """`frame` has row, original_text and topics."""
    parts = [_of_target(frame, text, source, language, known) for language, known in subjects().items()]
    return pl.concat([FIRED.to_frame(), *parts])


def _of_target(frame: pl.DataFrame, text: Text, source: Ints, target: str, known: Subjects) -> pl.DataFrame:
    rows = np.flatnonzero((text.language == target) & np.isin(source, list(fields())))
    said = _phrases(text.rows.gather(rows), rows, known)
    if said.is_empty():
        return FIRED.to_frame()
    rows = said["row"].unique(maintain_order=True).to_numpy()
    given = pl.concat([_from_topics(frame[rows]), _from_currency(frame[rows]), _fields(frame, rows, source[rows])])
    left = _unexcused(said, given, known)
    # People mix languages: what the original says in the target language counts as well.
    rows = left["row"].unique(maintain_order=True).to_numpy()
    language = np.full(rows.size, target)
    left = _unexcused(left, _fields(frame, rows, language), known)
    originals = read(frame["original_text"].gather(rows), language).rows
    same = _phrases(originals, rows, known).select("row", "subject").unique()
    left = left.join(same, on=["row", "subject"], how="anti")
    told = [stated(subject, _sentences(text, row), known) for row, subject in left.select("row", "subject").iter_rows()]
    left = left.filter(pl.Series(told, dtype=pl.Boolean()))
    return fired(left, "new_fact", pl.concat_str(pl.lit("subject:"), "subject"))


def _phrases(texts: pl.Series, rows: Ints, known: Subjects) -> pl.DataFrame:
    """row, subject."""
    masked = texts.str.replace_many(list(known.harmless), [" "] * len(known.harmless))
    patterns = known.phrases["pattern"].implode()
    return (
        pl.DataFrame({"row": pl.Series(rows, dtype=pl.Int64()), "text": masked})
        .select("row", pl.col("text").str.extract_many(patterns, overlapping=True).alias("pattern"))
        .explode("pattern", empty_as_null=True)
        .drop_nulls("pattern")
        .join(known.phrases, on="pattern")
        .select("row", "subject")
        .unique(maintain_order=True)
    )


def _sentences(text: Text, row: int) -> list[tuple[str, bool]]:
    """The row's sentences, and whether each has a question mark."""
    normal, first = text.rows[row], int(text.starts[row])
    number = text.sentence[first : first + len(normal)]
    cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(normal)]
    return [(normal[a:b], bool(text.asks[number[a]])) for a, b in itertools.pairwise(cuts) if b > a]


def stated(subject: str, sentences: list[tuple[str, bool]], known: Subjects) -> bool:
    """Whether a subject of these normalised sentences is told, rather than the matter of a request."""
    if subject in _ALWAYS:
        return True
    patterns = known.patterns[subject]
    plain = [(f" {sentence.strip(' ')} ", asks) for sentence, asks in sentences]
    masked = [(text, asks, _masked(text, known)) for text, asks in plain]
    named = [(text, asks) for text, asks, seen in masked if any(pattern in seen for pattern in patterns)]
    if not named:
        return True  # it reaches over the end of a sentence
    return any(not (asks or _ASKS.search(text)) or _ON_TOP.search(text) for text, asks in named)


def _masked(normal: str, known: Subjects) -> str:
    return known.mask.sub(" ", normal)


def _fields(frame: pl.DataFrame, rows: Ints, language: Ints) -> pl.DataFrame:
    """row, field: what the originals speak of, each read in its language."""
    found = [_table([], "field").select(pl.lit(None, pl.Int64()).alias("row"), "field")]
    normal = read(frame["original_text"].gather(rows), language).rows
    for name in np.unique(language).tolist():
        these = np.flatnonzero(language == name)
        listed = fields()[name]
        found.append(
            pl.DataFrame({"row": pl.Series(rows[these], dtype=pl.Int64()), "text": normal.gather(these)})
            .select(
                "row", pl.col("text").str.extract_many(listed["pattern"].unique().implode(), overlapping=True)
                .alias("pattern"),
            )
            .explode("pattern", empty_as_null=True).drop_nulls("pattern").unique()
            .join(listed, on="pattern").select("row", "field")
        )  # fmt: skip
    return pl.concat(found)


def _from_topics(part: pl.DataFrame) -> pl.DataFrame:
    listed = _table([(topic, field) for topic, names in TOPICS.items() for field in names], "topics", "field")
    return part.select("row", "topics").explode("topics", empty_as_null=True).join(listed, on="topics").select(
        "row", "field"
    )  # fmt: skip


def _from_currency(part: pl.DataFrame) -> pl.DataFrame:
    return part.filter(pl.col("original_text").str.contains(MONEY)).select("row", pl.lit("money").alias("field"))


def _unexcused(said: pl.DataFrame, given: pl.DataFrame, known: Subjects) -> pl.DataFrame:
    excused = given.join(known.excuses, on="field").select("row", "subject").unique()
    return said.join(excused, on=["row", "subject"], how="anti")
