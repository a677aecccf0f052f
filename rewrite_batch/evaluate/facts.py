"""Facts that the rewrite has and the original lacks: numbers, times, days, months, names, addresses.

Most rewrites have no fact, or only such as stand in the original with the same value: those are settled by one join.
The few that are left are looked at one by one, since people say one thing in many ways: 22:00 is 10 pm, and 25 is
twenty-five.
"""

import re
from functools import lru_cache

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.hits import find
from rewrite_batch.evaluate.matcher import Matcher, matcher
from rewrite_batch.evaluate.names import new_names
from rewrite_batch.evaluate.spelled import spelled
from rewrite_batch.evaluate.stems import excuses
from rewrite_batch.evaluate.structure import annotate
from rewrite_batch.evaluate.tables import FIRED, fired
from rewrite_batch.evaluate.text import Text, read
from rewrite_batch.evaluate.told import HALF_PAST, among_us, hour_late, told

KINDS = {"@number": "number", "@weekday": "weekday", "@month": "month", "@clock": "clock", "@daypart": "daypart"}
_FACTS = pl.Schema({"row": pl.Int64(), "kind": pl.String(), "value": pl.String(), "rule": pl.String(),
                    "first": pl.Int64(), "last": pl.Int64()})  # fmt: skip
ADDRESS_SIGNS = ["@", "://", "www.", ".com", ".org", ".net", ".io", ".app", ".info", ".co"]
LAST_WORD = 12  # larger numbers are written in digits
ADDRESS = (
    r"(?i)[\w.+-]+@[\w-]+\.[\w.]+|https?://\S+|www\.\S+|\b[\w-]+\.(?:com|org|net|io|de|fr|es|it|nl|pl|ru|se|co|uk|br|info|app)\b"
    r"(?:/\S*)?|(?:^|\s)@\w{2,}"
)


def new_facts(frame: pl.DataFrame, text: Text, marked: pl.DataFrame, source: Ints, using: Matcher) -> pl.DataFrame:
    """`frame` has row, original_text, rewritten_text; `source` is the language of each original."""
    # A part of the day is no fact by itself; it excuses a named time.
    stated = facts_of(text, marked).filter(pl.col("kind") != "daypart")
    return pl.concat(
        [
            _new_values(frame, stated, source, text, using),
            _late_hours(frame, text, source),
            _new_addresses(frame),
            new_names(frame, text, source, using),
        ]
    )


def facts_of(text: Text, marked: pl.DataFrame) -> pl.DataFrame:
    """Numbers in digits or words, days, months and named times, each with a value that languages share."""
    words = (
        marked.lazy()
        .filter(pl.col("code").is_in(list(KINDS)))
        .select("row", pl.col("code").replace_strict(KINDS).alias("kind"), "value", "rule", "first", "last")
        .collect()
    )
    facts = _longest(pl.concat([words.cast(_FACTS), _digits(text)]))
    # One is no number: one of us, uno, ein; an hour is 1 hour.
    return facts.filter((pl.col("kind") != "number") | (pl.col("value") != "1"))


def _longest(words: pl.DataFrame) -> pl.DataFrame:
    """The longest word wins: twenty-five is not also five, and the 5 of `do you have 5 minutes` is no number."""
    if words.is_empty():
        return words
    spans = words.select("row", "kind", "value", "first", "last")
    inside = (
        words.with_row_index("_n")
        .join(spans, on=["row", "kind"], suffix="_o")
        .filter(
            (pl.col("first_o") <= pl.col("first")) & (pl.col("last_o") >= pl.col("last"))
            # An idiom as long as the number that it holds wins as well.
            & ((pl.col("last_o") - pl.col("first_o") > pl.col("last") - pl.col("first")) | (pl.col("value_o") == ""))
        )
        .select("_n").unique()
    )  # fmt: skip
    kept = words.with_row_index("_n").join(inside, on="_n", how="anti").drop("_n")
    # A phrase without a value takes its word out of the count.
    return kept.filter(pl.col("value") != "")


def _digits(text: Text) -> pl.DataFrame:
    digit = (text.code >= 0x30) & (text.code <= 0x39)
    if not digit.any():
        return _FACTS.to_frame()
    begins = np.flatnonzero(digit & ~np.r_[False, digit[:-1]])
    ends = np.flatnonzero(digit & ~np.r_[digit[1:], False])
    plain = text.raw[text.source[begins] - 1] != ord("<")  # <3 is a heart
    begins, ends = begins[plain], ends[plain]
    # Nine digits are a telephone number: more than that is not told apart.
    value = np.zeros(begins.size, np.int64)
    for place in range(9):
        at = begins + place
        inside = at <= ends
        value[inside] = value[inside] * 10 + (text.code[at[inside]].astype(np.int64) - 0x30)
    return pl.DataFrame(
        {
            "row": text.row[begins],
            "kind": "number",
            "value": value,
            "rule": "digits",
            "first": begins,
            "last": ends,
        }
    ).cast(_FACTS)


def _new_values(frame: pl.DataFrame, stated: pl.DataFrame, source: Ints, text: Text, using: Matcher) -> pl.DataFrame:
    """A source language without a pack has number words that we do not know: nothing is new then."""
    known = np.isin(source, list(using.members))
    rows = stated["row"].unique(maintain_order=True).to_numpy()
    rows = rows[known[rows]]
    if not rows.size:
        return FIRED.to_frame()
    originals = frame["original_text"].gather(rows)
    given = _given(originals, source[rows], rows, using)
    left = stated.filter(pl.col("row").is_in(rows)).join(given, on=["row", "kind", "value"], how="anti")
    left = left.filter(_expressible(left, source, using))
    if left.is_empty():
        return FIRED.to_frame()
    doubtful = left["row"].unique(maintain_order=True).to_numpy()
    # People mix languages: what the original says in the target language counts as well.
    again = _given(frame["original_text"].gather(doubtful), text.language[doubtful], doubtful, using)
    allowed = pl.concat([given.filter(pl.col("row").is_in(doubtful)), again])
    said: dict[int, set[tuple[str, str]]] = {}
    for row, kind, value in allowed.iter_rows():
        said.setdefault(row, set()).add((kind, value))
    originals = frame["original_text"].gather(doubtful)
    raw = dict(zip(doubtful.tolist(), originals.to_list(), strict=True))
    normal = dict(zip(doubtful.tolist(), read(originals, source[doubtful]).rows.to_list(), strict=True))
    rewritten = dict(zip(doubtful.tolist(), text.rows.gather(doubtful).to_list(), strict=True))
    kept = [
        not given_as(
            kind, value, said.get(row, set()), original=raw[row], normal=normal[row], rewritten=rewritten[row],
            languages=(str(source[row]), str(text.language[row])),
        )
        for row, kind, value in left.select("row", "kind", "value").iter_rows()
    ]  # fmt: skip
    new = left.filter(pl.Series(kept, dtype=pl.Boolean()))
    return fired(new, "new_fact", pl.concat_str("kind", pl.lit(":"), "rule"))


def _late_hours(frame: pl.DataFrame, text: Text, source: Ints) -> pl.DataFrame:
    likely = text.rows.str.contains(HALF_PAST).to_numpy() & (text.language == "en")
    rows = np.flatnonzero(likely)
    originals = read(frame["original_text"].gather(rows), source[rows]).rows.to_list()
    late = [
        hour_late(text.rows[row], original, str(source[row]))
        for row, original in zip(rows.tolist(), originals, strict=True)
    ]
    return fired(pl.DataFrame({"row": rows[np.array(late, bool)]}), "new_fact", "hour_late")


def _expressible(left: pl.DataFrame, source: Ints, using: Matcher) -> pl.Series:
    """What the source language's pack has no word for may stand in the original unseen: it is not judged."""
    known = values_of(using)
    return pl.Series(
        [
            (str(source[row]), kind, value) in known or (value.isdigit() and int(value) > LAST_WORD)
            for row, kind, value in left.select("row", "kind", "value").iter_rows()
        ],
        dtype=pl.Boolean(),
    )


@lru_cache(maxsize=8)
def values_of(using: Matcher) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (name, KINDS[rule.code], rule.value)
        for name, members in using.members.items()
        for rule in (using.rules[index] for index in members)
        if rule.code in KINDS
    )


def _given(originals: pl.Series, language: Ints, rows: Ints, using: Matcher) -> pl.DataFrame:
    text = read(originals, language)
    only_facts = matcher(using.packs, frozenset(KINDS))
    facts = facts_of(text, annotate(find(text, only_facts), text, only_facts))
    return facts.select(pl.Series("row", rows).gather(facts["row"]), "kind", "value").unique()


def given_as(
    kind: str, value: str, said: set[tuple[str, str]], *, original: str, normal: str, rewritten: str,
    languages: tuple[str, str],
) -> bool:  # fmt: skip
    """Whether the original has this fact in any form. `normal` and `rewritten` are normalised texts."""
    source, target = languages
    if covered(kind, value, said, original):
        return True
    # Within a language the pack has the form; across languages any form will do.
    if source != target and excuses(source, kind, value, normal):
        return True
    if source != target and kind == "clock" and value[:1].isdigit():
        return excuses(source, "number", str(int(value.split(":", maxsplit=1)[0]) % 12 or 12), normal)
    if kind != "number" or not value.isdigit():
        return False
    if told(value, said, normal, source) or among_us(value, rewritten):
        return True
    # English says its numbers in words that its pack lists; others are put together.
    within = source == target == "en"
    return not within and spelled(value, said, normal=normal, rewritten=rewritten, languages=languages)


def covered(kind: str, value: str, said: set[tuple[str, str]], original: str) -> bool:
    """Whether the original says it in another way."""
    if (kind, value) in said:
        return True
    numbers = {int(v) for k, v in said if k == "number" and v.isdigit()}
    clocks = {v for k, v in said if k == "clock"}
    hours = {int(v.split(":")[0]) for v in clocks if v.split(":")[0].isdigit()}
    if kind == "number" and value.isdigit():
        return _number_covered(int(value), numbers, hours, original) or _dated(int(value), said)
    if kind == "clock":
        if any(k in {"daypart", "clock"} for k, _ in said):
            return True
        hour = value.split(":", maxsplit=1)[0]
        return hour.isdigit() and bool({int(hour), (int(hour) + 12) % 24, int(hour) or 24, int(hour) or 12} & numbers)
    if kind == "month":
        return value.isdigit() and int(value) in numbers
    return False


def _number_covered(number: int, numbers: set[int], hours: set[int], original: str) -> bool:
    times = numbers | hours
    if number <= 24 and {number + 12, number - 12, number % 24} & times:
        return True
    if number in hours or (number == 0 and times) or (number in {15, 30, 45} and times):
        return True  # half past ten, ten o'clock sharp
    if any(a + b == number for a in numbers for b in numbers if a >= 20 and b < a and a % 10 == 0):
        return True
    # 1,000 and 1000: the same digits, grouped.
    return str(number) in re.sub(r"(?<=\d)[.,\s'’](?=\d)", "", original)


def _dated(number: int, said: set[tuple[str, str]]) -> bool:
    return ("month", str(number)) in said


def _new_addresses(frame: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("rewritten_text")
    likely = frame.filter(text.str.contains_any(ADDRESS_SIGNS))
    if likely.is_empty():
        return FIRED.to_frame()
    found = likely.select("row", "original_text", text.str.extract_all(ADDRESS).alias("address")).explode(
        "address", empty_as_null=True
    )
    new = found.drop_nulls("address").filter(
        ~pl.col("original_text").str.to_lowercase().str.contains(
            pl.col("address").str.strip_chars(" .,!?)\n").str.to_lowercase(), literal=True
        )
    )  # fmt: skip
    return fired(new, "new_fact", "address")
