"""Where the rules of a language's pack match: normalised texts come in, one row a hit goes out.

Words, beginnings and substrings of a language are found in one walk (Aho-Corasick) over its rows; regular expressions,
of which there are few, run sentence by sentence and count once a sentence.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.literals import needed
from rewrite_batch.evaluate.packs import SLOT, Lexicon, Pack, Rule
from rewrite_batch.evaluate.scripts import TRADITIONAL_TO_SIMPLE
from rewrite_batch.evaluate.text import Sentences, Text, read, sentences_of

HITS = pl.Schema(
    {
        "row": pl.Int64(),
        "rule": pl.Int32(),  # position in Matcher.rules
        "first": pl.Int64(),  # its first and last character in the chunk
        "last": pl.Int64(),
    }
)
_CLASS_OR_ESCAPE = re.compile(r"(\[(?:\\.|[^\]\\])*\]|\\.)")
_PLAINER = {r"\w": "[^ ]", r"\s": " "}
_WORD_PADS = {"word": (1, 1), "words": (1, 1), "prefix": (1, 0), "substring": (0, 0)}


@dataclass(frozen=True, eq=False)
class Language:
    members: range  # its rules in Matcher.rules
    patterns: tuple[str, ...]
    rule_of: pl.DataFrame  # pattern, rule, skip, length in bytes
    regexes: tuple[tuple[int, str], ...]
    literals: tuple[str, ...]  # that some expression needs
    needs: pl.DataFrame  # literal, rule, part of the rule, how many parts it has
    always: frozenset[int]  # expressions of which no literal is known


@dataclass(frozen=True, eq=False)
class Matcher:
    rules: tuple[Rule, ...]
    table: pl.DataFrame  # code, rule, value, by position
    languages: dict[str, Language]
    packs: tuple[Pack, ...]


@lru_cache(maxsize=8)
def matcher(packs: tuple[Pack, ...], codes: frozenset[str] | None = None) -> Matcher:
    """`codes` limits it to some vocabularies; the rules keep their places."""
    rules: list[Rule] = []
    languages: dict[str, Language] = {}
    for pack in packs:
        languages[pack.language] = _compile(pack, len(rules), codes)
        rules += pack.rules
    return Matcher(
        rules=tuple(rules),
        table=pl.DataFrame(
            [(rule.code, rule.rule, rule.value) for rule in rules],
            schema={"code": pl.String(), "rule": pl.String(), "value": pl.String()},
            orient="row",
        ),
        languages=languages,
        packs=packs,
    )


def matcher_of(lexicon: Lexicon) -> Matcher:
    return matcher(tuple(lexicon.packs.values()))


def _compile(pack: Pack, base: int, codes: frozenset[str] | None) -> Language:
    chosen = [(base + i, rule) for i, rule in enumerate(pack.rules) if codes is None or rule.code in codes]
    plain = [(index, rule, term) for index, rule in chosen if rule.mode != "regex" for term in rule.terms]
    rows: list[tuple[str, int, int, int]] = []
    for (index, rule, _), word in zip(plain, _normal([term for *_, term in plain], pack.language), strict=True):
        before, after = _WORD_PADS[rule.mode]
        forms = _forms(word, pack.language if before else "")
        rows += [(" " * before + form + " " * after, index, before, len(form.encode())) for form in forms if form]
    schema = {"pattern": pl.String(), "rule": pl.Int32(), "skip": pl.Int64(), "length": pl.Int64()}
    slots = slots_of(pack)
    regexes = [
        (index, _folded(filled(rule.pattern, slots), pack.language)) for index, rule in chosen if rule.mode == "regex"
    ]
    literals = [
        (literal, index, part, len(parts))
        for index, pattern in regexes
        for parts in [needed(pattern)]
        for part, some in enumerate(parts)
        for literal in sorted(some)
    ]
    needs = {"literal": pl.String(), "rule": pl.Int32(), "part": pl.Int32(), "parts": pl.Int32()}
    return Language(
        members=range(base, base + len(pack.rules)),
        patterns=tuple(dict.fromkeys(pattern for pattern, *_ in rows)),
        rule_of=pl.DataFrame(rows, schema=schema, orient="row"),
        regexes=tuple(regexes),
        literals=tuple(dict.fromkeys(literal for literal, *_ in literals)),
        needs=pl.DataFrame(literals, schema=needs, orient="row"),
        always=frozenset(index for index, _ in regexes) - {index for _, index, *_ in literals},
    )


def _normal(terms: list[str], language: str) -> list[str]:
    rows = read(pl.Series(terms, dtype=pl.String()), np.full(len(terms), language)).rows
    return rows.str.strip_chars(" ").to_list()


def slots_of(pack: Pack) -> dict[str, str]:
    """What stands for a slot in an expression, by its name: longer terms first, as the first that fits is taken."""
    members: dict[str, list[str]] = {}
    for rule in pack.rules:
        if rule.mode in {"word", "words"}:
            name = rule.rule.rpartition(".class.")[2] if rule.code == "@class" else rule.code
            members.setdefault(name, []).extend(rule.terms)
    every = list(dict.fromkeys(term for terms in members.values() for term in terms))
    normal = dict(zip(every, _normal(every, pack.language), strict=True)) if every else {}
    words = {
        name: sorted({normal[term] for term in terms}, key=lambda w: (-len(w), w)) for name, terms in members.items()
    }
    return {name: f"(?:{'|'.join(map(re.escape, some))})" for name, some in words.items()}


def filled(pattern: str, slots: dict[str, str]) -> str:
    """The expression with its slots filled; one that no class fills stays, and matches nothing."""
    return SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), pattern)


def _forms(word: str, language: str) -> list[str]:
    """Arabic writes `the` and `and` as one word with the next."""
    if language != "ar" or len(word) < 3 or word.startswith("ال"):
        return [word]
    return [word, *(lead + word for lead in ("ال", "وال", "و", "بال"))]


def _folded(pattern: str, language: str) -> str:
    """The same expression for normalised text, where only letters, digits and single spaces are left: `\\w` is anything
    but a space, which compiles ten times faster than Unicode's tables. Syntax stays; Chinese characters are folded."""
    simple = "".join(chr(TRADITIONAL_TO_SIMPLE[ord(c)]) for c in pattern) if language == "zh" else pattern
    parts = _CLASS_OR_ESCAPE.split(simple)
    return "".join(_PLAINER.get(part, part) for part in parts)


def find(text: Text, using: Matcher) -> pl.DataFrame:
    """Every hit of a row's own language, in the order of rows, places and rules."""
    found = [HITS.to_frame()]
    sentences = sentences_of(text)
    language_of_sentence = text.language[sentences.row]
    for name, language in using.languages.items():
        rows = np.flatnonzero(text.language == name)
        if rows.size:
            found.append(_plain_hits(text, rows, language))
            found += _regex_hits(text, sentences, np.flatnonzero(language_of_sentence == name), language)
    hits = pl.concat(found)
    # A phrase does not reach from one sentence into the next.
    whole = text.sentence[hits["first"].to_numpy()] == text.sentence[hits["last"].to_numpy()]
    return hits.filter(pl.Series(whole, dtype=pl.Boolean())).sort("row", "first", "rule")


def _plain_hits(text: Text, rows: Ints, language: Language) -> pl.DataFrame:
    patterns = pl.Series(language.patterns, dtype=pl.String())
    if patterns.is_empty():
        return HITS.to_frame()
    frame = pl.DataFrame({"row": rows, "text": text.rows.gather(rows)})
    seen = (
        frame.lazy()
        .select(
            "row",
            pl.col("text").str.extract_many(patterns.implode(), overlapping=True).alias("pattern"),
            pl.col("text").str.find_many(patterns.implode(), overlapping=True).alias("at"),
        )
        .explode("pattern", "at", empty_as_null=True)
        .drop_nulls("pattern")
        .join(language.rule_of.lazy(), on="pattern", how="inner")
        .collect()
    )
    start = text.byte_starts[seen["row"].to_numpy()] + seen["at"].to_numpy() + seen["skip"].to_numpy()
    characters = text.character_of_byte
    return pl.DataFrame(
        {
            "row": seen["row"],
            "rule": seen["rule"],
            "first": characters[start],
            "last": characters[start + seen["length"].to_numpy() - 1],
        },
        schema=HITS,
    )


def _regex_hits(text: Text, sentences: Sentences, which: Ints, language: Language) -> list[pl.DataFrame]:
    if not language.regexes:
        return []
    strings = sentences.strings.gather(which)
    likely = _likely(strings, language)
    found: list[pl.DataFrame] = []
    for index, pattern in language.regexes:
        some = np.arange(which.size) if index in language.always else likely.get(index, which[:0])
        if not some.size:
            continue
        at = strings.gather(some).str.find(pattern)
        hit = some[at.is_not_null().to_numpy()]
        if not hit.size:
            continue
        # The whole of it, not a group around it: compiling an expression takes longer than running it.
        length = strings.gather(hit).str.extract(pattern, 0).str.len_bytes().to_numpy()
        first = text.byte_of(sentences.first[which[hit]]) + at.drop_nulls().to_numpy()
        found.append(
            pl.DataFrame(
                {
                    "row": sentences.row[which[hit]],
                    "rule": np.full(hit.size, index),
                    "first": text.character_of_byte[first],
                    "last": text.character_of_byte[first + np.maximum(length, 1) - 1],
                },
                schema=HITS,
            )
        )
    return found


def _likely(strings: pl.Series, language: Language) -> dict[int, Ints]:
    """By expression, the sentences that hold a literal for each of its parts."""
    if not language.literals:
        return {}
    wanted = pl.Series(language.literals).implode()
    seen = (
        pl.DataFrame({"sentence": np.arange(strings.len()), "text": strings})
        .lazy()
        .select("sentence", pl.col("text").str.extract_many(wanted, overlapping=True).alias("literal"))
        .explode("literal", empty_as_null=True)
        .drop_nulls("literal")
        .join(language.needs.lazy(), on="literal")
        .group_by("rule", "sentence")
        .agg(pl.col("part").n_unique(), pl.col("parts").first())
        .filter(pl.col("part") == pl.col("parts"))
        .sort("rule", "sentence")
        .collect()
    )
    return {int(key[0]): part["sentence"].to_numpy() for key, part in seen.partition_by("rule", as_dict=True).items()}
