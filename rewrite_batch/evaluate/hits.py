"""Where the rules of a language's pack match: normalised texts come in, one row a hit goes out.

Words, beginnings and substrings of a language are found in one walk (Aho-Corasick) over its rows. Regular expressions
count once a sentence; each of their alternatives is tried only in sentences that hold a literal which it needs.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.literals import alternatives, needed
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
_PRIVATE = 0xE000  # characters that are nobody's: one stands for each class while an expression is read
_WORD_PADS = {"word": (1, 1), "words": (1, 1), "prefix": (1, 0), "substring": (0, 0)}


@dataclass(frozen=True, eq=False)
class Language:
    members: range  # its rules in Matcher.rules
    patterns: tuple[str, ...]
    rule_of: pl.DataFrame  # pattern, rule, skip, length in bytes
    pieces: pl.DataFrame  # rule, pattern: the alternatives of its expressions, in their order
    wanted: pl.DataFrame  # literal, piece: where the literal is, the piece may match
    always: Ints  # pieces of which no literal is known


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
    pieces, needs = _expressions([each for each in chosen if each[1].mode == "regex"], pack)
    return Language(
        members=range(base, base + len(pack.rules)),
        patterns=tuple(dict.fromkeys(pattern for pattern, *_ in rows)),
        rule_of=pl.DataFrame(rows, schema=schema, orient="row"),
        pieces=pieces,
        wanted=_rarest(needs, pack),
        always=np.array([piece for piece, parts in enumerate(needs) if not parts], np.int32),
    )


def _expressions(chosen: list[tuple[int, Rule]], pack: Pack) -> tuple[pl.DataFrame, list[list[frozenset[str]]]]:
    """The pieces of a pack's expressions, and what each needs."""
    classes = classes_of(pack) if chosen else {}
    slots = {name: any_of(words) for name, words in classes.items()}
    # Parsed with one character in the place of a class, of which some have hundreds of words.
    signs = {name: chr(_PRIVATE + place) for place, name in enumerate(classes)}
    standing_for = {signs[name]: frozenset(words) for name, words in classes.items()}
    rows: list[tuple[int, str]] = []
    needs: list[list[frozenset[str]]] = []
    for index, rule in chosen:
        for piece in alternatives(_folded(rule.pattern, pack.language)):
            rows.append((index, filled(piece, slots)))
            needs.append(needed(filled(piece, signs), standing_for))
    return pl.DataFrame(rows, schema={"rule": pl.Int32(), "pattern": pl.String()}, orient="row"), needs


def _rarest(needs: list[list[frozenset[str]]], pack: Pack) -> pl.DataFrame:
    """Of what a piece needs, the part that is seen least in the sentences of the pack itself."""
    literals = sorted({literal for parts in needs for part in parts for literal in part})
    sentences = pl.Series([text for rule in pack.rules for text in (rule.hit, rule.miss)] if literals else [])
    seen = _rows(sentences.cast(pl.String()), pack.language).str.extract_many(
        pl.Series(literals, dtype=pl.String()).implode(), overlapping=True
    )
    counts = seen.list.unique().explode(empty_as_null=True).value_counts()
    often = dict(counts.iter_rows())

    def cost(part: frozenset[str]) -> int:
        return sum(often.get(literal, 0) + 1 for literal in part)

    rows = [
        (literal, piece)
        for piece, parts in enumerate(needs)
        if parts
        for literal in sorted(min(parts, key=cost))
    ]  # fmt: skip
    wanted = pl.Enum(list(dict.fromkeys(literal for literal, _ in rows)))
    return pl.DataFrame(rows, schema={"literal": wanted, "piece": pl.Int32()}, orient="row")


def _rows(texts: pl.Series, language: str) -> pl.Series:
    return read(texts, np.full(texts.len(), language)).rows


def _normal(terms: list[str], language: str) -> list[str]:
    return _rows(pl.Series(terms, dtype=pl.String()), language).str.strip_chars(" ").to_list()


def classes_of(pack: Pack) -> dict[str, list[str]]:
    """The words that may stand for a slot in an expression, by its name: longer ones first, as the first that fits is
    taken."""
    members: dict[str, list[str]] = {}
    for rule in pack.rules:
        if rule.mode in {"word", "words"}:
            name = rule.rule.rpartition(".class.")[2] if rule.code == "@class" else rule.code
            members.setdefault(name, []).extend(rule.terms)
    every = list(dict.fromkeys(term for terms in members.values() for term in terms))
    normal = dict(zip(every, _normal(every, pack.language), strict=True)) if every else {}
    return {
        name: sorted({normal[term] for term in terms}, key=lambda w: (-len(w), w)) for name, terms in members.items()
    }


def any_of(words: list[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, words))})"


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
            found.append(_regex_hits(text, sentences, np.flatnonzero(language_of_sentence == name), language))
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


def _regex_hits(text: Text, sentences: Sentences, which: Ints, language: Language) -> pl.DataFrame:
    """One hit a sentence and rule: the leftmost, and of those the first alternative."""
    if language.pieces.is_empty():
        return HITS.to_frame()
    strings = sentences.strings.gather(which)
    likely = _likely(strings, language)
    # Piece by piece, as an expression is compiled anew where another stands before it.
    hits = (
        likely.with_columns(
            language.pieces["rule"].gather(likely["piece"]),
            language.pieces["pattern"].gather(likely["piece"]),
            strings.gather(likely["sentence"]).alias("text"),
        )
        .with_columns(pl.col("text").str.find(pl.col("pattern")).alias("at"))
        .drop_nulls("at")
        .sort("rule", "sentence", "at", "piece")
        .unique(["rule", "sentence"], keep="first", maintain_order=True)
        .with_columns(pl.col("text").str.extract(pl.col("pattern"), 0).str.len_bytes().alias("length"))
    )
    sentence = which[hits["sentence"].to_numpy()]
    first = text.byte_of(sentences.first[sentence]) + hits["at"].to_numpy()
    last = first + np.maximum(hits["length"].to_numpy(), 1) - 1
    return pl.DataFrame(
        {
            "row": sentences.row[sentence],
            "rule": hits["rule"],
            "first": text.character_of_byte[first],
            "last": text.character_of_byte[last],
        },
        schema=HITS,
    )


def _likely(strings: pl.Series, language: Language) -> pl.DataFrame:
    """Pieces and the sentences in which they may match, piece by piece."""
    everywhere = pl.DataFrame({"piece": language.always}, schema={"piece": pl.Int32()})
    numbered = pl.DataFrame({"sentence": np.arange(strings.len(), dtype=np.int32), "text": strings}).lazy()
    literal = language.wanted.schema["literal"]
    assert isinstance(literal, pl.Enum)
    return (
        numbered.select(
            "sentence", pl.col("text").str.extract_many(literal.categories.implode(), overlapping=True).alias("literal")
        )
        .explode("literal", empty_as_null=True)
        .drop_nulls("literal")
        .with_columns(pl.col("literal").cast(literal))
        .unique()
        .join(language.wanted.lazy(), on="literal")
        .select("piece", "sentence")
        .unique()
        .pipe(lambda some: pl.concat([some, everywhere.lazy().join(numbered.select("sentence"), how="cross")]))
        .sort("piece", "sentence")
        .collect()
    )
