"""Evaluate: schema → language → lexicon and structure → new facts → guards → intent → verdicts. Each is one pass over a
chunk of rows; a row's verdict depends on that row alone, so chunks may be cut and run in any way."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import polars as pl

from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.evaluate.added import added_complaints
from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.dataset import dataset_version
from rewrite_batch.evaluate.facts import new_facts
from rewrite_batch.evaluate.guards import guard
from rewrite_batch.evaluate.hits import find
from rewrite_batch.evaluate.intents import intents
from rewrite_batch.evaluate.language import foreign
from rewrite_batch.evaluate.matcher import Matcher, matcher_of
from rewrite_batch.evaluate.new_subjects import new_subjects
from rewrite_batch.evaluate.obfuscation import disguised
from rewrite_batch.evaluate.packs import Lexicon, shipped
from rewrite_batch.evaluate.structure import annotate, fire
from rewrite_batch.evaluate.tables import CANDIDATES, VERDICTS, fired
from rewrite_batch.evaluate.text import Text, read
from rewrite_batch.evaluate.verdicts import conclude

JUDGE_VERSION = "rules-2026.11.10"
NO_LEXICON = "none"
CHUNK = 8_192
WORTH_A_THREAD = 2_500  # rows; fewer cost more as a part of their own than the thread gains
TRIAL = "Ok, Anna, at 7 sh1t."  # a name, a number and a disguise: what is built only for such is built too


def evaluate(
    candidates: pl.DataFrame, *, lexicon: Lexicon | None = None, chunk: int = CHUNK, threads: int = 2
) -> pl.DataFrame:
    """One verdict a candidate, in the order of the input. Memory follows the chunk, not the table.

    Rows are judged language by language, since a chunk pays for every language that it holds."""
    lexicon = lexicon or shipped()
    using = matcher_of(lexicon)
    given = candidates.select(CANDIDATES.names())
    order = given["target_locale"].arg_sort()
    parts = [order[begin:end] for begin, end in pairwise(_cuts(given.height, chunk, threads))]

    def judge(part: pl.Series) -> pl.DataFrame:
        return _judge(given[part], lexicon, using)

    if len(parts) < 2 or threads < 2:
        done = [judge(part) for part in parts]
    else:
        with ThreadPoolExecutor(threads) as pool:
            done = list(pool.map(judge, parts))
    verdicts = pl.concat([VERDICTS.to_frame(), *done])
    return verdicts[order.arg_sort()] if verdicts.height else verdicts


def _cuts(rows: int, chunk: int, threads: int) -> list[int]:
    """As few even parts as the chunk allows, and as many a thread: otherwise one works while the other waits."""
    parts = -(-rows // chunk)
    if rows >= WORTH_A_THREAD * threads:
        parts = -(-parts // threads) * threads
    return [rows * place // max(parts, 1) for place in range(parts + 1)]


def prepare(pairs: Iterable[tuple[str, str]], lexicon: Lexicon | None, stop: Callable[[], bool]) -> None:
    """Reads the packs and the model, and builds once a process what is built from them for these pairs of source and
    target: for all languages it takes seconds."""
    rows = [(0, target, source, TRIAL, "request", "peer", None, TRIAL, target) for source, target in pairs]
    lexicon = lexicon or shipped()
    for name in sorted({row[1] for row in rows} & set(lexicon.packs)):
        if stop():
            return
        matcher_of(lexicon).language(name)
    evaluate(pl.DataFrame(rows, CANDIDATES, orient="row"), lexicon=lexicon)


def _judge(part: pl.DataFrame, lexicon: Lexicon, using: Matcher) -> pl.DataFrame:
    rows = part.select(
        pl.int_range(pl.len(), dtype=pl.Int64()).alias("place"),
        "row",
        (pl.col("rewritten_text").is_not_null() & pl.col("output_language").is_not_null()).alias("schema_valid"),
        pl.col("target_locale").replace_strict(
            {name: pack.version for name, pack in lexicon.packs.items()}, default=NO_LEXICON, return_dtype=pl.String()
        ).alias("lexicon_version"),
    )  # fmt: skip
    found, intent, _ = fire_all(part, using)
    broken = rows.filter(~pl.col("schema_valid")).select(pl.col("place").alias("row"))
    whole = pl.Series(np.where(rows["schema_valid"].to_numpy(), intent, "pass"), dtype=pl.String())
    seen = found.join(rows.filter("schema_valid"), left_on="row", right_on="place", how="semi")
    return conclude(
        rows,
        pl.concat([seen, fired(broken, "schema_valid", "answer")]),
        whole,
        judge_version=JUDGE_VERSION,
        dataset_version=dataset_version(),
    )


def _texts(part: pl.DataFrame) -> pl.DataFrame:
    """Rows numbered within the chunk; a broken answer is read as empty."""
    return part.with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64()).alias("row"),
        pl.col("rewritten_text").fill_null(""),
        pl.col("original_text").fill_null(""),
    )


def fire_all(part: pl.DataFrame, using: Matcher) -> tuple[pl.DataFrame, Ints, Text]:
    """Every rule that fired in this chunk, the intent by row, and the text that the places of the rules refer to."""
    frame = _texts(part)
    target = frame["target_locale"].to_numpy().astype(str)
    source = frame["source_locale"].to_numpy().astype(str)
    text = read(frame["rewritten_text"], target)
    marked = annotate(find(text, using), text, using)
    soft = np.zeros(frame.height, bool)
    soft[marked.filter(pl.col("code").is_in(["@softener", "@request", "@greeting", "@question"]))["row"].to_numpy()] = (
        True
    )
    soft[text.sentence_row[text.asks]] = True
    intent, why = intents(marked, text, frame["intent"], packed=np.isin(target, list(using.members)))
    found = pl.concat(
        [
            _language(frame, foreign(text, target)),
            fire(marked, text, frame["power_mode"]),
            disguised(frame, text, using),
            new_facts(frame, text, marked, source, using),
            added_complaints(frame, text, marked, source),
            new_subjects(frame, text, source),
            guard(frame, text, soft=soft),
            why,
        ]
    )
    return found, intent, text


def _language(frame: pl.DataFrame, wrong: Ints) -> pl.DataFrame:
    tags = frame["output_language"].drop_nulls().unique().to_list()
    declared = pl.col("output_language").replace_strict({tag: _primary(tag) for tag in tags}, return_dtype=pl.String())
    said = frame.filter((declared == pl.col("target_locale")).fill_null(False).not_()).select(
        "row", pl.lit("declared_language").alias("rule")
    )
    read_as = frame.filter(pl.Series(wrong)).select("row", pl.lit("read_language").alias("rule"))
    return fired(pl.concat([said, read_as]), "non_target_locale", pl.col("rule"))


def _primary(tag: str) -> str:
    try:
        return normalise_locale(tag)
    except ValueError:
        return ""
