"""Why a verdict is as it is: one candidate comes in, each rule that fired, with the words it fired at, goes out."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rewrite_batch.evaluate.matcher import matcher_of
from rewrite_batch.evaluate.packs import Lexicon, shipped
from rewrite_batch.evaluate.run import fire_all
from rewrite_batch.evaluate.text import Text


@dataclass(frozen=True)
class Reason:
    code: str
    rule: str
    start: int | None  # characters into the text as it is read: composed, without invisible characters
    words: str


def explain(candidate: pl.DataFrame, lexicon: Lexicon | None = None) -> list[Reason]:
    """`candidate` has one row."""
    found, _, text = fire_all(candidate, matcher_of(lexicon or shipped()))
    return [
        Reason(code, rule, None if first is None else int(text.source[first]) - 1, _words(text, first, last))
        for code, rule, first, last in found.select("code", "rule", "first", "last")
        .unique()
        .sort("first", "rule")
        .rows()
    ]


def _words(text: Text, first: int | None, last: int | None) -> str:
    if first is None or last is None:
        return ""
    codes = text.raw[int(text.source[first]) : int(text.source[last]) + 1]
    return np.asarray(codes, "<u4").tobytes().decode("utf-32-le")
