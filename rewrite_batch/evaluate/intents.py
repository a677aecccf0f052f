"""Is what the sender wants still there? Hits come in, pass, warn or fail by row goes out.

A greeting alone, or a refusal of the model, has lost it. Without a marker of the pack we do not know: a warning.
"""

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.pleasantries import LANGUAGE, matter_lost, only_kind_words, says_more
from rewrite_batch.evaluate.tables import fired
from rewrite_batch.evaluate.text import Text, sentences_by_row

# What may stand for what: to ask is to request, to say what one needs is a boundary or a concern.
_MARKERS = ("@request", "@boundary", "@concern", "@question", "@softener", "@demand")
ENOUGH = {
    "request": ("@request", "@boundary", "@concern", "@question", "@demand"),
    "boundary": ("@request", "@boundary", "@concern", "@question", "@demand"),
    "concern": ("@request", "@boundary", "@concern", "@question", "@demand"),
    "clarification": ("@question", "@concern", "@request"),
}
_HELP = ("help with", "help you with", "assist with")
_TASK_WORDS = ("", "that", "this", "it", "rewriting", "writing", "messages", "requests", "such", "creating")
_YOUR_TASK = ("message", "request", "text", "complaint", "note", "prompt", "question", "rewrite")
LOST_WORDS = 3  # what is left of a text after its greetings, when nothing is left


def intents(marked: pl.DataFrame, text: Text, intent: pl.Series, *, packed: Ints) -> tuple[Ints, pl.DataFrame]:
    """By row `pass`, `warn` or `fail`; and which rule said fail. Rows without a pack pass: nothing can be said."""
    rows = intent.len()
    wanted = intent.to_numpy()
    asks = np.zeros(rows, bool)
    asks[text.sentence_row[text.asks]] = True
    seen = {code: np.zeros(rows, bool) for code in _MARKERS}
    for code in _MARKERS:
        seen[code][marked.filter(pl.col("code") == code)["row"].to_numpy()] = True
    full = np.zeros(rows, bool)
    for name, codes in ENOUGH.items():
        any_of = asks | np.logical_or.reduce([seen[code] for code in codes])
        full |= any_of & (wanted == name)
    empty = _only_greets(marked, text)
    refused = _refusals(marked, text)
    lost = empty & ~full & packed
    # `Hey, the gate was open again` is one sentence, which greets and says something.
    english = np.flatnonzero(lost & (text.language == LANGUAGE))
    by_row = sentences_by_row(text, english)
    lost[english[[says_more(by_row[row]) for row in english.tolist()]]] = False
    result = np.where(full | ~packed, "pass", "warn").astype(object)
    result[lost] = "fail"
    dropped = matter_lost(text) | only_kind_words(marked, text)
    result[dropped] = "fail"
    result[refused["row"].to_numpy()] = "fail"
    why = pl.concat(
        [
            fired(refused, "intent_preserved", pl.concat_str(pl.lit("refusal:"), "rule")),
            fired(pl.DataFrame({"row": np.flatnonzero(lost)}), "intent_preserved", "only_greets"),
            fired(pl.DataFrame({"row": np.flatnonzero(dropped)}), "intent_preserved", "matter_lost"),
        ]
    )
    return result, why


def _refusals(marked: pl.DataFrame, text: Text) -> pl.DataFrame:
    """`I can't help with` refuses a task where it goes on with `that`; with `the bins` it is a housemate's."""
    hits = marked.filter(pl.col("code") == "@refusal").select("row", "rule", "first", "last")
    kept = [
        refuses(text.rows[row][first - text.starts[row] : last - text.starts[row] + 1],
                text.rows[row][last - text.starts[row] + 1 :])
        for row, first, last in hits.select("row", "first", "last").iter_rows()
    ]  # fmt: skip
    return hits.filter(pl.Series(kept, dtype=pl.Boolean()))


def refuses(phrase: str, rest: str) -> bool:
    """`phrase` is what the pack's rule found, `rest` what follows it in the normalised text."""
    if not phrase.endswith(_HELP):
        return True
    first, _, after = rest.strip(" ").partition(" ")
    return first in _TASK_WORDS or (first == "your" and after.split(" ")[0] in _YOUR_TASK)


def _only_greets(marked: pl.DataFrame, text: Text) -> Ints:
    """Rows in which hardly a word stands outside of sentences that greet or thank."""
    greets = np.zeros(text.sentence_row.size, bool)
    greets[marked.filter(pl.col("code") == "@greeting")["sentence"].to_numpy()] = True
    letters = text.code != 0x20
    words = np.zeros(text.starts.size, np.int64)
    begins = np.r_[False, letters[1:] & ~letters[:-1]] if letters.size else letters
    outside = begins & ~greets[text.sentence]
    np.add.at(words, text.row[outside], 1)
    # In scripts without spaces a word is a few characters.
    characters = np.bincount(text.row[letters & ~greets[text.sentence]], minlength=text.starts.size)
    unspaced = np.isin(text.language, ["zh", "ja", "th", "yue", "lo", "km", "my"])
    return np.where(unspaced, characters <= LOST_WORDS * 3, words <= LOST_WORDS)
