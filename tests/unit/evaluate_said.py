"""Rewrites in one language, judged; for tests of languages other than English."""

from typing import Any

import polars as pl

from rewrite_batch.evaluate.run import evaluate
from rewrite_batch.evaluate.tables import CANDIDATES


def said_all(
    texts: list[str], target: str, original: str, *, intent: str = "request", source: str = "", power: str = "peer"
) -> list[tuple[str, dict[str, Any]]]:
    """Each text with its verdict. All at once: a table of one row costs nearly as much as a table of hundreds."""
    rows = [
        (place, target, source or target, original, intent, power, ["other"], text, target)
        for place, text in enumerate(texts)
    ]
    return list(zip(texts, evaluate(pl.DataFrame(rows, CANDIDATES, orient="row")).to_dicts(), strict=True))


def said(text: str, target: str, original: str, **other: str) -> dict[str, Any]:
    return said_all([text], target, original, **other)[0][1]


def rules_of(verdict: dict[str, Any]) -> set[str]:
    return {f"{rule['code']}:{rule['rule']}" for rule in verdict["rules"]}
