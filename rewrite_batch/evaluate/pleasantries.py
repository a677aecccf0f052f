"""A message that keeps the tone and drops the matter: only greetings, wishes, thanks and praise are left of it, or it
allows what the sender asked to end. Normalised rewrites come in, yes or no a row goes out.

Cautious. In English a sentence that asks or names any household subject keeps the matter. In the other languages it is
kept by any few words outside of what the pack lists as `@nice` and `@greeting`.
"""

import re

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.subjects import names_subject
from rewrite_batch.evaluate.text import Text, sentences_of

LANGUAGE = "en"
UNSPACED = ("zh", "ja", "th")
_SPACE = 0x20
# How a sentence begins that says nothing but something nice.
NICE = (
    r"^(?:(?:hi|hello|hey|dear|morning|good (?:morning|evening|afternoon|day)|oh|and|so|also|well|there|"
    r"all|everyone|friend|"
    r"neighbou?r|love|mate|housemate|roommate|flatmate) )*"
    r"(?:i (?:really |truly |just |do |so )*(?:hope|wanted to say|want to say|wanted to wish|wish you|"
    r"appreciate you|appreciate "
    r"everything|enjoy (?:living|sharing)|love (?:living|sharing)|wanted to thank|wanted to tell you how|"
    r"like living)|"
    r"(?:we )?hope (?:you|your|all|this|everything)|i m (?:so |very |really |truly )?(?:glad|happy|"
    r"grateful|lucky|thankful) "
    r"(?:to have you|to live|to share|we live|that we live|you re|for you|for everything|for all)|"
    r"thank(?:s| you)|many thanks|it s (?:so |really |always |been )?(?:a )?(?:lovely|great|nice|"
    r"wonderful|good|pleasure|joy)|"
    r"you(?: re| are)? (?:are |really |truly |so )*(?:doing|a (?:great|wonderful|lovely|good|fantastic)|"
    r"the best|great|"
    r"wonderful|amazing|lovely|appreciated|awesome|such a|make (?:this|our|the))|have a|take care|see you|talk soon|"
    r"speak soon|all the best|best|sending|wishing|warm(?:ly)?|kind regards|cheers|bye|how (?:are|is|s) "
    r"(?:you|it|things|"
    r"everything|life|your)|let me know (?:what|if|how)|looking forward|welcome|enjoy|happy|keep up|keep being|"
    r"living with you|just (?:wanted to say|checking in|saying|popping in))\b|"
    r"^(?:hi|hello|hey|good \w+)(?: \w+){0,2}$"
)
# Permission for what the sender wants to end.
ALLOWED = (
    r" (?:as (?:loud|loudly|late|much|often|long|many) as you (?:d )?(?:like|want|wish|please)|"
    r"(?:whenever|wherever|anytime|however|"
    r"whatever) you (?:d )?(?:like|want|wish|please|feel like|need)|feel free to (?:keep|carry on|"
    r"continue|go on|use|take|"
    r"borrow|leave|play|smoke|eat|help)|no need to (?:turn|clean|wash|ask|knock|stop|change|move|take|pay|"
    r"lower|worry|tidy|"
    r"do|put|keep|empty|call|tell|check)|don t worry about (?:the|it|any|turning|cleaning|washing|asking|keeping)|"
    r"(?:please )?(?:carry on|keep going|keep it up|go ahead)|you re (?:always |more than )?welcome to "
    r"(?:keep|use|take|borrow|"
    r"play|smoke|eat|come in|leave|stay)|i (?:really )?don t mind (?:the|if|it|your|when|at all)|doesn t "
    r"(?:really )?bother me) "
)
# What takes a permission back, or makes it one of several.
_BUT = (
    r" (?:but|only|just|if|could|would|can|please|though|however|unless|except|instead|rather|after|"
    r"before|until|outside|"
    r"appreciate|grateful|ask|asking|other than|apart from|long as|with|when|during) "
)
IN_ADVANCE = " in advance for "  # thanks that ask
SAYS_MORE = 7  # spaces in a sentence that greets and is no pleasantry
SMALL_TALK = 9  # words of a question that only asks how somebody is
KIND_WORDS = ("@nice", "@greeting")
# What keeps the matter wherever it stands outside of them.
MATTER = ("@request", "@boundary", "@concern", "@question", "@demand")
LEFT_OVER = 1  # words of a sentence that may stand beside its kind ones, as a name does; none where it asks
CHARACTERS_A_WORD = 2  # where words are written together


def matter_lost(text: Text) -> Ints:
    rows = np.zeros(text.starts.size, bool)
    english = np.flatnonzero(text.language == LANGUAGE)
    if not english.size:
        return rows
    asks = np.zeros(text.starts.size, bool)
    asks[text.sentence_row[text.asks]] = True
    may = text.rows.gather(english).str.contains(ALLOWED).to_numpy()
    allowed = english[may & ~asks[english]]
    rows[allowed[[allows(text.rows[row]) for row in allowed.tolist()]]] = True
    nice = _nothing_but_nice(text, asks) & (text.language == LANGUAGE)
    for row in np.flatnonzero(nice).tolist():
        rows[row] |= not names_subject(LANGUAGE, text.rows[row])
    return rows


def says_more(sentences: list[str]) -> bool:
    """Whether a household subject or a sentence of some length stands beside the greetings of an English text."""
    return names_subject(LANGUAGE, " ".join(["", *sentences, ""])) or any(
        IN_ADVANCE in sentence or (sentence.count(" ") >= SAYS_MORE and not is_nice(sentence)) for sentence in sentences
    )


def is_nice(sentence: str) -> bool:
    return bool(re.search(NICE, sentence)) and IN_ADVANCE not in sentence


def only_kind_words(marked: pl.DataFrame, text: Text) -> Ints:
    """Rows of which every sentence is nice words, in languages whose pack has such a vocabulary."""
    rows = np.zeros(text.starts.size, bool)
    kind = marked.filter(pl.col("code").is_in(KIND_WORDS))
    listed = np.zeros(rows.size, bool)
    listed[marked.filter(pl.col("code") == "@nice")["row"].to_numpy()] = True
    if not listed.any():
        return rows
    covered = _covered(kind, text.code.size)
    outside = marked.filter(pl.col("code").is_in(MATTER))["first"].to_numpy()
    matter = np.zeros(text.sentence_row.size, bool)
    matter[text.sentence[outside[~covered[outside]]]] = True
    left = _left_over(covered, text)
    allowed = np.where(text.asks, 0, LEFT_OVER)
    nice = np.zeros(text.sentence_row.size, bool)
    nice[text.sentence[kind["first"].to_numpy()]] = True
    words = np.bincount(text.sentence[text.code != _SPACE], minlength=nice.size) > 0
    other = words & (matter | ~nice | (left > allowed))
    rows[:] = listed
    rows[text.sentence_row[other]] = False
    return rows


def _covered(kind: pl.DataFrame, size: int) -> Ints:
    steps = np.zeros(size + 1, np.int64)
    np.add.at(steps, kind["first"].to_numpy(), 1)
    np.add.at(steps, kind["last"].to_numpy() + 1, -1)
    return np.cumsum(steps)[:-1] > 0


def _left_over(covered: Ints, text: Text) -> Ints:
    """Words by sentence that no kind words cover; where words are written together, so many characters are one."""
    letters = text.code != _SPACE
    begins = letters & ~np.r_[False, letters[:-1]] if letters.size else letters
    sentences = text.sentence_row.size
    words = np.bincount(text.sentence[begins & ~covered], minlength=sentences)
    characters = np.bincount(text.sentence[letters & ~covered], minlength=sentences)
    unspaced = np.isin(text.language, UNSPACED)[text.sentence_row]
    return np.where(unspaced, -(-characters // CHARACTERS_A_WORD), words)


def _nothing_but_nice(text: Text, asks: Ints) -> Ints:
    """Rows of which every sentence is."""
    sentences = sentences_of(text)
    nice = sentences.strings.str.contains(NICE).to_numpy()
    nice &= ~sentences.strings.str.contains(IN_ADVANCE, literal=True).to_numpy()
    short = (sentences.strings.str.count_matches(" ") < SMALL_TALK).to_numpy()
    other = ~nice | (asks[sentences.row] & ~short)
    holds = np.zeros(text.starts.size, bool)
    holds[sentences.row] = True
    holds[sentences.row[other]] = False
    return holds


def allows(normal: str) -> bool:
    """Whether a normalised text that asks nothing permits something, and takes nothing back."""
    return not re.search(_BUT, re.sub(ALLOWED, " ", normal))
