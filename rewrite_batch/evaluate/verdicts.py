"""Fired rules come in, one verdict a row goes out: the fields of RewriteEvalResultV1 follow from them."""

from typing import get_args

import polars as pl

from rewrite_batch.contracts.values import WARNINGS, ViolationCode
from rewrite_batch.evaluate.tables import VERDICTS

_ORDER = {code: position for position, code in enumerate(get_args(ViolationCode))}
_HARD = [code for code in _ORDER if code not in WARNINGS]


def conclude(
    rows: pl.DataFrame, fired: pl.DataFrame, intent: pl.Series, *, judge_version: str, dataset_version: str
) -> pl.DataFrame:
    """`rows` has place, row, schema_valid and lexicon_version. Codes come out in the order of the contract, rules in
    the order of codes and names, so that no order of work shows."""
    ordered = (
        fired.lazy()
        .select(pl.col("row").alias("place"), "code", "rule")
        .unique()
        .with_columns(
            pl.col("code").replace_strict(_ORDER, default=len(_ORDER), return_dtype=pl.Int32()).alias("order")
        )
        .sort("place", "order", "code", "rule")
        .group_by("place", maintain_order=True)
        .agg(
            pl.col("code").filter(pl.col("order") < len(_ORDER)).unique(maintain_order=True).alias("violations"),
            pl.struct("code", "rule").alias("rules"),
            pl.col("code").is_in(_HARD).any().alias("hard"),
            (pl.col("code") == "schema_valid").any().alias("broken"),
        )
    )
    none, no_rules = pl.lit([], dtype=pl.List(pl.String())), pl.lit([], dtype=VERDICTS["rules"])
    hard = pl.col("hard").fill_null(False)
    some = pl.col("violations").list.len() > 0
    packed = pl.col("lexicon_version") != "none"
    valid = pl.col("schema_valid") & ~pl.col("broken").fill_null(False)
    return (
        rows.lazy()
        .with_columns(intent.alias("intent_preserved"))
        .join(ordered, on="place", how="left", maintain_order="left")
        .with_columns(pl.col("violations").fill_null(none), pl.col("rules").fill_null(no_rules))
        .with_columns(
            valid.alias("schema_valid"),
            pl.when(hard).then(False).when(packed).then(True).otherwise(None).alias("lexicon_pass"),
            pl.when(hard).then(pl.lit("fail")).when(some).then(pl.lit("warn")).otherwise(pl.lit("pass"))
            .alias("tone_safety"),
            pl.lit(judge_version).alias("judge_version"),
            pl.lit(dataset_version).alias("dataset_version"),
            (valid & ~hard & (pl.col("intent_preserved") != "fail")).alias("kept"),
        )
        .select(VERDICTS.names())
        .collect()
    )  # fmt: skip
