"""What no answer may be, in any language: marked-up or machine text, an order of the prompt let slip, an echo of the
complaint, something endless. Texts come in, fired rules go out. What breaks the form has the code `schema_valid`.
"""

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.tables import fired
from rewrite_batch.evaluate.text import Text, read

# Flags stand in front only, so that Rust and Python read these alike.
_FENCE = r"```|~~~"
_MARKDOWN = r"(?m)^\s{0,3}#{1,6}\s+\S|\*\*[^*\n]+\*\*|__[^_\n]+__|\[[^\]\n]+\]\(https?://|^\s*\|.*\|\s*$|^\s*>\s\S"
_HTML = r"(?i)</?(?:p|br|div|span|b|i|em|strong|html|body|ul|li|a|h[1-6]|code|pre|script)(?:\s[^<>]*)?/?>"
_JSON = r"""^\s*[\[{]\s*(?:["'{\[]|\}|\])|["']?(?:rewritten_text|output_language|rewritten|output)["']?\s*:"""
_PLACEHOLDER = (
    r"(?i)\[(?:your |recipient'?s? |sender'?s? |insert |the )?(?:name|names|date|time|housemate|roommate|recipient|"
    r"sender|nombre|nome|nom|naam|namn|imię|isim|имя|tên|nama|名前|姓名|名字|이름|नाम|ชื่อ|الاسم)[^\]]{0,20}\]|"
    r"\{\{[^}]*\}\}|<(?:name|user|recipient)>"
)
_LEAK = (
    r"(?i)\b(?:system prompt|as an ai\b|language model|as instructed|output_language|rewritten_text|power_mode|"
    r"higher_sender|higher_recipient|context pack|target_locale|source_locale|json schema|rewrite_strength|light_touch|"
    r"full_reframe|do_not_add|tone_multiplier|extra_gentle|cool_off|policy_version|prompt_version)\b"
)
_ANNOUNCED = (
    r"(?i)^\W*(?:sure|certainly|of course|okay|ok)?\W*here(?:'s|’s| is| are) (?:a|an|the|your|my) (?:\w+[ -]){0,4}?"
    r"(?:rewrite|rewritten|version|message|rephras\w+|translation|revised|text|draft)\b|"
    r"^\W*(?:rewritten|rephrased|revised|translated|softened) (?:message|text|version)?\s*:|"
    r"\b(?:rewritten|rephrased|softer|gentler|kinder|toned[- ]down) version\b"
)
# Bidirectional overrides, control characters, tags.
HIDDEN = r"[\u202A-\u202E\u2066-\u2069\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x84\x86-\x9F\uFFFD\U000E0000-\U000E007F]"
# Without one of these in a text, none of the expressions below can match.
_SIGNS = ["```", "~~~", "#", "**", "__", "](", "|", ">", "<", "{", "}", "[", "]", ":"]
_WORDS = [
    "prompt", "as an ai", "language model", "as instructed", "output_language", "rewritten", "power_mode", "higher_",
    "context pack", "_locale", "json", "rewrite_", "light_touch", "full_reframe", "do_not_add", "tone_multiplier",
    "extra_gentle", "cool_off", "policy_version", "version", "here's", "here’s", "here is", "here are", "rephrased",
    "revised", "translated", "softened",
]  # fmt: skip
BY_SIGN = {"fence": _FENCE, "markdown": _MARKDOWN, "html": _HTML, "json": _JSON, "placeholder": _PLACEHOLDER}
BY_WORD = {"leak": _LEAK, "announced": _ANNOUNCED}


def guard(frame: pl.DataFrame, text: Text, *, soft: Ints) -> pl.DataFrame:
    """`frame` has row, original_text and rewritten_text; `soft` says which rewrites hold anything that softens."""
    words = pl.col("rewritten_text")
    marked = frame.filter(words.str.contains_any(_SIGNS))
    worded = frame.filter(words.str.contains_any(_WORDS, ascii_case_insensitive=True))
    size, given = words.str.len_chars(), pl.col("original_text").str.len_chars()
    return pl.concat(
        [
            *[_tripped(marked.filter(words.str.contains(sign)), name) for name, sign in BY_SIGN.items()],
            *[
                fired(worded.filter(words.str.contains(leak)), "preference_disclosure", f"guard.{name}")
                for name, leak in BY_WORD.items()
            ],
            _tripped(frame.filter(words.str.contains(HIDDEN)), "hidden"),
            _tripped(frame.filter(size > 800 + given * 6), "length"),
            _tripped(frame.filter(pl.Series(_repeats(text))), "repetition"),
            _tripped(_echoes(frame.filter(pl.Series(~soft)), text), "echo"),
        ]
    )


def _tripped(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    return fired(frame, "schema_valid", f"guard.{name}")


def _repeats(text: Text) -> Ints:
    """Rows of many words of which few are different."""
    long = np.flatnonzero(np.bincount(text.row, minlength=text.starts.size) > 120)
    words = text.rows.gather(long).str.strip_chars(" ").str.split(" ")
    count, different = words.list.len().to_numpy(), words.list.n_unique().to_numpy()
    rows = np.zeros(text.starts.size, bool)
    rows[long[(count >= 24) & (different * 4 < count)]] = True
    return rows


def _echoes(frame: pl.DataFrame, text: Text) -> pl.DataFrame:
    """The complaint itself, give or take signs and capitals, with nothing in it that softens."""
    near = (
        pl.col("rewritten_text").str.len_chars().cast(pl.Int64()) - pl.col("original_text").str.len_chars()
    ).abs() <= 8
    likely = frame.filter(near & (pl.col("rewritten_text").str.len_chars() >= 20))
    rows = likely["row"].to_numpy()
    original = read(likely["original_text"], text.language[rows]).rows
    return likely.filter(original == text.rows.gather(rows))
