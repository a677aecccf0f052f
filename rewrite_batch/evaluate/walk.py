"""One walk of an automaton (Aho-Corasick) over many normalised rows: they are put together, since a call costs more
than a row. No needle reaches from one row into the next: two spaces stand between them."""

import numpy as np
import polars as pl
from ahocorasick_rs import AhoCorasick

from rewrite_batch.evaluate.chars import Ints


def walk(needles: AhoCorasick, rows: pl.Series, lengths: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Of each needle that is found: its number, its row, and its first and last character there."""
    haystack = "".join(rows.to_list())
    found = np.array(needles.find_matches_as_indexes(haystack, overlapping=True), np.int64).reshape(-1, 3)
    needle, first, after = found.T
    ends = np.cumsum(lengths)
    row = np.searchsorted(ends, first, side="right")
    start = (ends - lengths)[row]
    return needle, row, first - start, after - 1 - start
