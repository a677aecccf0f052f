"""The two tables of evaluate, as polars schemas."""

import polars as pl

CANDIDATES = pl.Schema(
    {
        "row": pl.Int64(),
        "target_locale": pl.String(),
        "source_locale": pl.String(),
        "original_text": pl.String(),
        "intent": pl.String(),
        "power_mode": pl.String(),
        "topics": pl.List(pl.String()),
        "rewritten_text": pl.String(),
        "output_language": pl.String(),
    }
)

VERDICTS = pl.Schema(
    {
        "row": pl.Int64(),
        "schema_valid": pl.Boolean(),
        "lexicon_pass": pl.Boolean(),
        "tone_safety": pl.String(),
        "intent_preserved": pl.String(),
        "violations": pl.List(pl.String()),
        "judge_version": pl.String(),
        "dataset_version": pl.String(),
        "lexicon_version": pl.String(),
        "rules": pl.List(pl.Struct({"code": pl.String(), "rule": pl.String()})),
        "kept": pl.Boolean(),
    }
)

# A rule that fired: the row in the chunk, the code, the rule's id, and where, if it is in one place. Besides the
# violation codes there are `schema_valid` and `intent_preserved`: rules that make those fail.
FIRED = pl.Schema(
    {"row": pl.Int64(), "code": pl.String(), "rule": pl.String(), "first": pl.Int64(), "last": pl.Int64()}
)


def fired(frame: pl.DataFrame, code: str | pl.Expr, rule: str | pl.Expr) -> pl.DataFrame:
    """Rows of `frame` as fired rules; a plain string is the code or rule itself."""
    none = pl.lit(None, pl.Int64())
    placed = "first" in frame.columns
    return frame.select(
        "row",
        (pl.lit(code) if isinstance(code, str) else code).alias("code"),
        (pl.lit(rule) if isinstance(rule, str) else rule).alias("rule"),
        "first" if placed else none.alias("first"),
        "last" if placed else none.alias("last"),
    ).cast(FIRED)
