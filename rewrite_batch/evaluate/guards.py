"""What no answer may be, in any language: marked-up or machine text, an order of the prompt let slip, an echo of the
complaint, something endless. Texts come in, fired rules go out. What breaks the form has the code `schema_valid`.
"""

from collections import Counter

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
    r"higher_sender|higher_recipient|context pack|target_locale|source_locale|json schema|"
    r"rewrite_strength|light_touch|"
    r"full_reframe|do_not_add|tone_multiplier|extra_gentle|cool_off|policy_version|prompt_version)\b"
)
_ANNOUNCED = (
    r"(?i)^\W*(?:sure|certainly|of course|okay|ok)?\W*here(?:'s|’s| is| are) (?:a|an|the|your|my) (?:\w+[ -]){0,4}?"
    r"(?:rewrite|rewritten|version|message|rephras\w+|translation|revised|text|draft)\b|"
    r"^\W*(?:rewritten|rephrased|revised|translated|softened) (?:message|text|version)?\s*:|"
    r"\b(?:rewritten|rephrased|softer|gentler|kinder|toned[- ]down) version\b"
)
# What a model says about its task, in English, in the midst of whatever language.
_TASK = r"(?:this|that|the|your|such)(?: \w+)? (?:message|request|text|rewrite|content|complaint|note|prompt)s?\b"
_REFUSED = (
    r"(?i)\b(?:can't|can’t|cannot|can not|won't|won’t|couldn't|unable to|not able to|decline to|not going to|"
    r"be able to|not comfortable) (?:\w+ )?(?:rewrit\w+|rephras\w+|reword\w*|paraphras\w+|comply|generate|"
    rf"(?:write|writ|send|assist|help|process|produc|shar|provid|complet|fulfil|creat|translat)\w*(?: "
    rf"with)? {_TASK})|"
    r"\b(?:not able|unable) to (?:write|translate|produce) (?:this|that)\b|"
    r"\bthis (?:request|message) (?:falls|goes|violates|contains|cannot|can't|could not|appears|seems|includes)\b|"
    r"\b(?:could|might|may) (?:come across|be seen|be perceived|be read) as (?:confrontational|aggressive|harsh|"
    r"hostile|rude|offensive|hurtful)\b|"
    r"\bcontact an? (?:qualified )?professional\b|\b(?:my|the|our) (?:content )?(?:guidelines|content "
    r"policy|programming)\b|"
    r"\b(?:spea|tal|chatt?)\w* (?:to|with) your (?:housemate|roommate|flatmate)s?\b"
)
_OFFERED = (
    r"(?i)\bhere(?:'s|’s| is| are) (?:a |an |the |your |my |one |two |three |some )?(?:[\w-]+ "
    r"){0,4}?(?:versions?|take|wording|"
    r"phrasing|rewrite|rephrasing|drafts?|way to (?:say|put|phrase|word))\b|"
    r"\b(?:would you like|do you want|want|if you(?:'d|’d| would)? (?:like|want|prefer)|happy for) me to "
    r"(?:make (?:it|this|the \w+) (?:more|less|a bit|softer|gentler|shorter|longer|firmer|warmer|kinder|friendlier)|"
    r"(?:adjust|change|tweak) the (?:tone|wording|message|text)|rewrite|rephrase|soften|shorten|translate|revise)\b|"
    r"\b(?:another|an alternative|a (?:different|shorter|softer|firmer|longer|kinder|gentler)) version\b|"
    r"\bif you want me to adjust the tone\b|"
    r"\blet me put (?:it|that|this) (?:nicely|kindly|politely|gently|more|another way)\b|"
    r"\bis what i was going to say\b|\bin (?:their|his|her) (?:own )?words\b"
)
_TASK_TALK = (
    r"(?i)\bthe (?:user|sender|recipient|addressee|requester|original (?:message|text|complaint|author|"
    r"wording|sender)) "
    r"(?:wants?|would|is|was|asks?|asked|says?|said|feels?|has|needs?|prefers?|complains?|mentions?|"
    r"requests?|sounded)\b|"
    r"\bi(?:'ve|’ve| have)?(?: also)? (?:softened|toned (?:it |this )?down|rewritten|rewrote|rephrased|"
    r"reworded|paraphrased|"
    r"translated|adjusted the (?:tone|wording)|kept the (?:tone|wording|message)|made (?:it|this|the \w+) "
    r"(?:softer|gentler|"
    r"kinder|warmer|more polite|friendlier)|removed (?:\w+ ){0,2}?(?:swear\w*|insults?|profanity|curs\w+|"
    r"accusations?|"
    r"blame|harsh\w*|language|names?))\b|"
    r"\b(?:as requested|as per your instructions|per (?:the|your) instructions|following your instructions)[:,]|"
    r"^\W*in an? (?:\w+,? ){1,3}tone\b|\b(?:the|your|this) (?:message|text|wording|complaint|note) (?:has been|was) "
    r"(?:softened|rewritten|rephrased|reworded|translated|toned down|adjusted)\b|"
    r"\b(?:do not|don't) add (?:any )?(?:new )?facts?\b"
)
_LABEL = (
    r"(?im)^\W*(?:rewrite|rewritten(?: \w+)?|translation|translated(?: \w+)?|output|answer|response|"
    r"result|message|draft|"
    r"revised(?: \w+)?|tone|version(?: \d)?|option(?: \w)?|english|language|intent|subject|final(?: \w+)?|"
    r"assistant|system|"
    r"user|instructions?)\s*:\s*\S|\boption (?:1|one|a)\s*:|\bnote\s*:\s*(?:i |this |the (?:original|tone|"
    r"wording|message))"
)
_TAG = r"\[[A-Za-z_][^\]\n]{0,60}\]|\{[A-Za-z_][^}\n]{0,40}\}|</?[A-Za-z_|][^<>\n]{0,60}>"
_ADDRESSED = r"\b(?:Hi|Hello|Hey|Dear),? (?:NAME|RECIPIENT|HOUSEMATE|SENDER|USER|XXX?|[Rr]ecipient|[Uu]ser|[Ss]ender)\b"
_LIST = (
    r"(?m)^\s*[-*•]\s+\S[^\n]*\n+\s*[-*•]\s+\S|^\s*1[.)]\s+\S[^\n]*\n+\s*2[.)]\s|"
    r"(?:^|\s)\*[^*\s][^*\n]*\*(?:[\s.,!?:]|$)|(?:^|\s)_[^_\s][^_\n]*_(?:[\s.,!?:]|$)"
)
# Bidirectional overrides, control characters, tags.
HIDDEN = r"[\u202A-\u202E\u2066-\u2069\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x84\x86-\x9F\uFFFD\U000E0000-\U000E007F]"
# Without one of these in a text, none of the expressions below can match.
_SIGNS = ["```", "~~~", "#", "*", "_", "](", "|", ">", "<", "{", "}", "[", "]", ":", "•", "\n"]
_WORDS = [
    "prompt", "as an ai", "language model", "as instructed", "output_language", "rewritten", "power_mode", "higher_",
    "context pack", "_locale", "json", "rewrite_", "light_touch", "full_reframe", "do_not_add", "tone_multiplier",
    "extra_gentle", "cool_off", "policy_version", "version", "here's", "here’s", "here is", "here are", "rephrased",
    "revised", "translated", "softened",
]  # fmt: skip
_ABOUT_TASK = [
    "can't", "can’t", "cannot", "can not", "won't", "won’t", "couldn't", "unable to", "able to", "decline to",
    "not going to", "not comfortable", "this request", "this message", "come across", "be seen as", "be perceived",
    "be read as", "professional", "guidelines", "content policy", "programming", "housemate", "roommate", "flatmate",
    "here's", "here’s", "here is", "here are", "me to", "version", "let me put", "going to say", "words",
    "the user", "the sender", "the recipient", "the addressee", "the requester", "the original", "soften", "toned",
    "rewr", "rephras", "reword", "paraphras", "translat", "adjust", "kept the", "made ", "removed", "requested",
    "instructions", "tone", "facts", "dear", "hello", "hi", "hey",
]  # fmt: skip
BY_SIGN = {
    "fence": _FENCE, "markdown": _MARKDOWN, "html": _HTML, "json": _JSON, "placeholder": _PLACEHOLDER,
    "label": _LABEL, "tag": _TAG, "list": _LIST,
}  # fmt: skip
BY_WORD = {"leak": _LEAK, "announced": _ANNOUNCED}
BY_TASK = {"refused": _REFUSED, "offered": _OFFERED, "task": _TASK_TALK, "addressed": _ADDRESSED}
ECHO_LENGTH, ECHO_LEAST, ECHO_WORDS = 12, 20, 6
QUOTED_WORDS = 4
UNSPACED = ("zh", "ja", "th")
RUN = 4


def guard(frame: pl.DataFrame, text: Text, *, soft: Ints) -> pl.DataFrame:
    """`frame` has row, original_text and rewritten_text; `soft` says which rewrites hold anything that softens."""
    words = pl.col("rewritten_text")
    marked = frame.filter(words.str.contains_any(_SIGNS))
    tasked = frame.filter(words.str.contains_any(_ABOUT_TASK, ascii_case_insensitive=True))
    worded = frame.filter(words.str.contains_any(_WORDS, ascii_case_insensitive=True))
    size, given = words.str.len_chars(), pl.col("original_text").str.len_chars()
    return pl.concat(
        [
            *[_tripped(marked.filter(words.str.contains(sign)), name) for name, sign in BY_SIGN.items()],
            *[_tripped(tasked.filter(words.str.contains(talk)), name) for name, talk in BY_TASK.items()],
            *[
                fired(worded.filter(words.str.contains(leak)), "preference_disclosure", f"guard.{name}")
                for name, leak in BY_WORD.items()
            ],
            _tripped(frame.filter(words.str.contains(HIDDEN)), "hidden"),
            _tripped(frame.filter(size > 800 + given * 6), "length"),
            _tripped(frame.filter(pl.Series(_repeats(text))), "repetition"),
            _tripped(_echoes(frame.filter(pl.Series(~soft)), text), "echo"),
            _tripped(_quotes(frame, text), "quoted"),
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
    for row in long[np.isin(text.language[long], UNSPACED)].tolist():
        rows[row] |= circles(text.rows[row])
    return rows


def circles(normal: str) -> bool:
    """Where words are written together: of all its runs of a few characters few are different."""
    runs = [normal[place : place + RUN] for place in range(len(normal) - RUN + 1)]
    return len(set(runs)) * 4 < len(runs)


def _echoes(frame: pl.DataFrame, text: Text) -> pl.DataFrame:
    """The complaint itself, give or take signs, capitals and a few words, with nothing in it that softens."""
    near = (
        pl.col("rewritten_text").str.len_chars().cast(pl.Int64()) - pl.col("original_text").str.len_chars()
    ).abs() <= ECHO_LENGTH
    likely = frame.filter(near & (pl.col("rewritten_text").str.len_chars() >= ECHO_LEAST))
    rows = likely["row"].to_numpy()
    originals = read(likely["original_text"], text.language[rows]).rows
    pairs = zip(text.rows.gather(rows).to_list(), originals.to_list(), strict=True)
    return likely.filter(pl.Series([echoes(rewritten, original) for rewritten, original in pairs], dtype=pl.Boolean()))


def echoes(rewritten: str, original: str) -> bool:
    """Two normalised texts of much the same length: the same, or all but a few words the same."""
    if rewritten == original:
        return True
    words, given = rewritten.split(), original.split()
    common = sum((Counter(words) & Counter(given)).values())
    return len(words) >= ECHO_WORDS and common >= 0.85 * max(len(words), len(given))


def _quotes(frame: pl.DataFrame, text: Text) -> pl.DataFrame:
    """The complaint itself between quotation marks."""
    likely = frame.filter(pl.Series(_holds(text.quoted, text)))
    rows = likely["row"].to_numpy()
    originals = read(likely["original_text"], text.language[rows]).rows
    pairs = zip(text.rows.gather(rows).to_list(), originals.to_list(), strict=True)
    return likely.filter(pl.Series([quotes(rewritten, original) for rewritten, original in pairs], dtype=pl.Boolean()))


def quotes(rewritten: str, original: str) -> bool:
    """Whether a text of several words stands in another."""
    return original.count(" ") > QUOTED_WORDS and original in rewritten


def _holds(characters: Ints, text: Text) -> Ints:
    rows = np.zeros(text.starts.size, bool)
    rows[text.row[characters]] = True
    return rows
