"""A message that keeps the tone and drops the matter, in English: only greetings, thanks and praise are left of it, or
it allows what the sender asked to end. Normalised rewrites come in, yes or no a row goes out.

Cautious: a sentence that asks or names any household subject keeps the matter.
"""

import re

import numpy as np

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.subjects import names_subject
from rewrite_batch.evaluate.text import Text, sentences_of

LANGUAGE = "en"
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
SMALL_TALK = 9  # words of a question that only asks how somebody is


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


def _nothing_but_nice(text: Text, asks: Ints) -> Ints:
    """Rows of which every sentence is."""
    sentences = sentences_of(text)
    nice = sentences.strings.str.contains(NICE).to_numpy()
    short = (sentences.strings.str.count_matches(" ") < SMALL_TALK).to_numpy()
    other = ~nice | (asks[sentences.row] & ~short)
    holds = np.zeros(text.starts.size, bool)
    holds[sentences.row] = True
    holds[sentences.row[other]] = False
    return holds


def allows(normal: str) -> bool:
    """Whether a normalised text that asks nothing permits something, and takes nothing back."""
    return not re.search(_BUT, re.sub(ALLOWED, " ", normal))
