"""Decide: the items of a chunk and the rows of their lines come in; one decided row an item goes out, for the stage.

Pure. The checks run over the whole chunk at once, as tables; the one table of outcomes says what each reason means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import polars as pl

from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.parse import Row
from rewrite_batch.evaluate.packs import Lexicon
from rewrite_batch.evaluate.run import evaluate
from rewrite_batch.evaluate.tables import CANDIDATES
from rewrite_batch.outcomes import BY_REASON
from rewrite_batch.prices import PriceBook, Usage

EVAL_RESULT = (
    "schema_valid", "lexicon_pass", "tone_safety", "intent_preserved", "violations", "judge_version", "dataset_version",
)  # fmt: skip

AT_ONCE = 2_048  # candidates that are judged in one pass: a few tens of MB; another core is the database's


class Item(NamedTuple):
    """An undecided item of the batch, with what the checks need of its request; the request may be erased by now."""

    place: int  # batch_item_index
    job_id: UUID
    attempt: int
    source_locale: str
    target_locale: str
    original_text: str | None
    intent: str | None
    power_mode: str | None
    topics: list[str] | None


@dataclass(frozen=True)
class Pricing:
    """What a line costs: by the book of the day on which the batch went out. A batch's model stands in for a line that
    names none."""

    book: PriceBook
    day: date
    model: str

    @property
    def version(self) -> str | None:
        book = self.book.book(self.day)
        return book.version if book else None


# The columns of the stage, in order: decide writes them, write copies them.
STAGE_TYPES = {
    "batch_item_index": "int4",
    "outcome": "text",
    "reason": "text",
    "retry_s": "float8",
    "provider_status_code": "int4",
    "provider_request_id": "text",
    "answered_at": "timestamptz",
    "rewritten_text": "text",
    "violations": "text",
    "lexicon_version": "text",
    "eval_result": "text",
    "model": "text",
    "provider_response_id": "text",
    "input_tokens": "int8",
    "cached_tokens": "int8",
    "cache_write_tokens": "int8",
    "output_tokens": "int8",
    "reasoning_tokens": "int8",
    "price_version": "text",
    "cost_usd": "numeric",
}
StageRow = tuple[Any, ...]


def decide(
    items: Sequence[Item], rows: Sequence[Row], *, pricing: Pricing, backoff: Backoff, lexicon: Lexicon | None = None
) -> list[StageRow]:
    """`rows[i]` is of `items[i]`. An item is stored only with all its checks passed."""
    verdicts = judge(items, rows, lexicon)
    price = _pricer(pricing)
    staged: list[StageRow] = []
    for item, row, (reason, violations, lexicon_version, result) in zip(items, rows, verdicts, strict=True):
        outcome = BY_REASON[reason]
        kept = outcome.kind == "kept"
        staged.append(
            (
                item.place,
                outcome.kind,
                reason,
                backoff.seconds(item.job_id, item.attempt) if outcome.kind == "transient" else None,
                row.status_code,
                row.request_id,
                datetime.fromtimestamp(row.answered_at, UTC) if row.answered_at else None,
                row.rewritten_text if kept else None,
                violations,
                lexicon_version,
                result if kept else None,
                *price(row),
            )
        )
    return staged


Verdict = tuple[str, str | None, str | None, str | None]


def judge(items: Sequence[Item], rows: Sequence[Row], lexicon: Lexicon | None) -> list[Verdict]:
    """Reason, codes, lexicon version and eval result of each item. Only an answer that can be checked is."""
    checked = [i for i, row in enumerate(rows) if not row.reason and items[i].original_text is not None]
    candidates = _candidates(items, rows, checked)
    verdicts = evaluate(candidates, lexicon=lexicon, chunk=AT_ONCE, threads=1).select(
        pl.col("row").cast(pl.Int64),
        _reason().alias("found"),
        pl.col("violations").list.join(",").alias("codes"),
        "lexicon_version",
        pl.struct(EVAL_RESULT).struct.json_encode().alias("eval_result"),
    )
    parsed = [
        row.reason or (None if items[i].original_text is not None else "unit_erased") for i, row in enumerate(rows)
    ]
    table = (
        pl.DataFrame({"row": range(len(rows)), "parsed": parsed}, schema={"row": pl.Int64, "parsed": pl.String})
        .join(verdicts, on="row", how="left", maintain_order="left")
        .select(pl.coalesce("parsed", "found").alias("reason"), "codes", "lexicon_version", "eval_result")
    )
    return table.rows()


def _reason() -> pl.Expr:
    """The first check that failed, in the order of the checks. What is not kept never gets the word `kept`."""
    return (
        pl.when(pl.col("kept"))
        .then(pl.lit("kept"))
        .when(~pl.col("schema_valid"))
        .then(pl.lit("schema"))
        .when(pl.col("violations").list.contains("non_target_locale"))
        .then(pl.lit("language"))
        .when(pl.col("lexicon_pass").not_().fill_null(False))
        .then(pl.lit("lexicon"))
        .when(pl.col("intent_preserved") == "fail")
        .then(pl.lit("intent"))
        .otherwise(pl.lit("not_kept"))
    )


def _candidates(items: Sequence[Item], rows: Sequence[Row], checked: list[int]) -> pl.DataFrame:
    columns = {
        "row": checked,
        "target_locale": [items[i].target_locale for i in checked],
        "source_locale": [items[i].source_locale for i in checked],
        "original_text": [items[i].original_text for i in checked],
        "intent": [items[i].intent for i in checked],
        "power_mode": [items[i].power_mode for i in checked],
        "topics": [items[i].topics for i in checked],
        "rewritten_text": [rows[i].rewritten_text for i in checked],
        "output_language": [rows[i].output_language for i in checked],
    }
    return pl.DataFrame(columns, schema=CANDIDATES)


Priced = tuple[
    str | None, str | None, int | None, int | None, int | None, int | None, int | None, str | None, Decimal | None
]
_NO_CALL: Priced = (None, None, None, None, None, None, None, None, None)


def _pricer(pricing: Pricing) -> Callable[[Row], Priced]:
    version = pricing.version

    def price(row: Row) -> Priced:
        tokens = row.tokens
        if tokens is None:
            return _NO_CALL
        model = row.model or pricing.model
        usage = Usage(tokens.input, tokens.cached, tokens.cache_write, tokens.output, tokens.reasoning)
        usd = pricing.book.price(model, usage, pricing.day)
        return (
            model, row.response_id, tokens.input, tokens.cached, tokens.cache_write, tokens.output, tokens.reasoning,
            None if usd is None else version, usd,
        )  # fmt: skip

    return price
