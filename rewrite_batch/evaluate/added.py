"""A complaint that the original does not make: `Also, your shoes are in the way.` Fired rules go out.

Only a statement counts that begins with a word for "also", speaks of the reader, asks for nothing, and shares no word
with an original in the same language: what cannot be compared is not judged. In English one that ends with "too" counts
as well, whoever it speaks of (`The postman was bitten too`), when it has no subject of the original's; if that is in
another language, only one of a few words is surely about one thing, unless the sentence begins with `There's also`.
"""

import re

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.subjects import fields_in
from rewrite_batch.evaluate.tables import fired
from rewrite_batch.evaluate.text import Text, read, sentences_by_row, sentences_of

ALSO = {
    "en": ("also", "and another thing", "on top of that", "on top of this", "plus", "besides", "in addition",
           "moreover", "furthermore", "what s more", "by the way", "another thing", "and also", "oh and"),
    "es": ("además", "también", "por otro lado", "aparte", "por cierto", "encima", "y otra cosa"),
    "de": ("außerdem", "ausserdem", "zudem", "übrigens", "und noch etwas", "dazu kommt"),
    "fr": ("de plus", "en plus", "par ailleurs", "d ailleurs", "et puis", "aussi", "autre chose"),
    "pt": ("além disso", "também", "aliás", "por falar nisso", "e mais uma coisa", "fora isso"),
    "it": ("inoltre", "in più", "per di più", "tra l altro", "e un altra cosa", "a proposito"),
    "nl": ("bovendien", "daarnaast", "trouwens", "ook", "verder", "en nog iets"),
    "pl": ("poza tym", "ponadto", "w dodatku", "oprócz tego", "a poza tym", "do tego"),
    "tr": ("ayrıca", "bir de", "üstelik", "bunun yanında", "bu arada"),
    "ru": ("кроме того", "к тому же", "еще", "а еще", "и еще", "также", "кстати", "вдобавок"),
    "sv": ("dessutom", "förresten", "också", "och en sak till", "sen så"),
    "vi": ("ngoài ra", "hơn nữa", "thêm nữa", "với lại", "à mà"),
    "id": ("selain itu", "lagi pula", "juga", "oh ya", "ngomong ngomong"),
    "zh": ("另外", "还有", "而且", "此外", "再说", "顺便"),
    "ja": ("それに", "また", "それから", "あと", "さらに", "ちなみに"),
    "ko": ("그리고", "게다가", "또", "또한", "참고로", "그 외에"),
    "hi": ("इसके अलावा", "साथ ही", "और हाँ", "ऊपर से"),
    "ar": ("كما ان", "ايضا", "بالاضافه الى ذلك", "علاوه على ذلك", "وبالمناسبه", "بالاضافة الى ذلك", "علاوة على ذلك"),
    "th": ("นอกจากนี้", "อีกอย่าง", "แล้วก็", "อีกเรื่อง"),
}  # fmt: skip
ASKS = ("@softener", "@request", "@greeting", "@question", "@apology", "@self", "@boundary")
UNSPACED = ("zh", "ja", "th")
# What is said on top, up to its `too`.
_ON_TOP = re.compile(
    r"^(?:(?:and|plus|but|honestly|sadly|now|then) )?((?:the|your|our|some|an?|his|her|their|these|those|"
    r"somebody|someone|mr|mrs|ms) [a-z0-9 ]*?[a-z]) (?:too|as well|either)"
    r"(?:$| (?:so|and|but|which|because|since|now|again|by|when|after|last|yesterday|this|that)(?: |$))"
)
# What is there on top, or happens on top.
_THERE_TOO = re.compile(
    r"^(?:(?:and|plus|but|honestly|sadly|now|then) )?(?:there (?:is|s|are|was|were|has been|have been|s been) also"
    r" (?:(?:an?|some|the) )?([a-z0-9 ]*?[a-z])(?:$| (?:which|and|so|but|that|who|it|i|we) )"
    r"|((?:the|your|some|his|her|their) [a-z0-9 ]*?[a-z]) (?:is|are|was|were|has|"
    r"have|keeps?|gets?|isn t|aren t|hasn t) also (?:[a-z]+ )*(?:left|broken|dripping|leaking|blocked|dirty|messy|loud|"
    r"damaged|missing|stained|clogged|overflowing|full|burnt|smelly|cracked|scratched|running|open|unlocked|filthy|"
    r"grimy|sticky|wet|mouldy|moldy|torn|ruined|dying|dead)(?:$| ))"
)
# Kind words, the sender's own share, and what asks.
_NO_COMPLAINT = re.compile(
    r" (?:i|me|mine|myself|we|us|you|would|could|can|might|may|should|please|maybe|perhaps|"
    r"matters?|counts?|important|feelings?|comfort|needs?|loves?|likes?|enjoys?|good|great|lovely|nice|fine|"
    r"welcome|happy|glad|kind|sweet|fun|same|fault|part|perfect|works?|helps?|helped|if|when|hope|idea|option|rest) "
)
_FEW_WORDS, _FEW_LETTERS = 6, 36
_SHORTEST = 3  # letters of a word that two complaints may share


def added_complaints(frame: pl.DataFrame, text: Text, marked: pl.DataFrame, source: Ints) -> pl.DataFrame:
    """`frame` has row and original_text."""
    sentences = sentences_of(text)
    number = text.sentence[sentences.first]
    begins = np.zeros(number.size, bool)
    for language, words in ALSO.items():
        these = np.flatnonzero((text.language[sentences.row] == language) & (source[sentences.row] == language))
        if these.size:
            starts = sentences.strings.gather(these).str.contains(
                rf"^(?:{'|'.join(words)})" + ("" if language in UNSPACED else r"(?: |$)")
            )
            begins[these[starts.to_numpy()]] = True
    reader = marked.filter(pl.col("code") == "@reader")["sentence"].to_numpy()
    asks = marked.filter(pl.col("code").is_in(ASKS))["sentence"].to_numpy()
    which = np.flatnonzero(begins & np.isin(number, reader) & ~np.isin(number, asks) & ~text.asks[number])
    rows = sentences.row[which]
    originals = read(frame["original_text"].gather(rows), text.language[rows]).rows.to_list()
    new = [
        not shares(sentence, original, str(text.language[row]))
        for sentence, original, row in zip(sentences.strings.gather(which).to_list(), originals, rows, strict=True)
    ]
    return pl.concat(
        [
            fired(pl.DataFrame({"row": rows[np.array(new, bool)]}), "new_fact", "added_complaint"),
            _ending(frame, text, source),
        ]
    )


def _ending(frame: pl.DataFrame, text: Text, source: Ints) -> pl.DataFrame:
    likely = text.rows.str.contains(r" (?:too|as well|either|also) ").to_numpy() & (text.language == "en")
    said = sentences_by_row(text, np.flatnonzero(likely))
    rows = np.array([row for row, sentences in said.items() if any(map(_complains, sentences))], np.int64)
    originals = read(frame["original_text"].gather(rows), source[rows]).rows.to_list()
    new = [
        any(on_top(sentence, original, str(source[row])) for sentence in said[row])
        for row, original in zip(rows.tolist(), originals, strict=True)
    ]
    return fired(pl.DataFrame({"row": rows[np.array(new, bool)]}), "new_fact", "on_top")


def on_top(sentence: str, original: str, source: str) -> bool:
    """Whether an English sentence adds a complaint; both are normalised."""
    part = _complains(sentence)
    if not part:
        return False
    subjects = fields_in("en", f" {part} ")
    if subjects & fields_in(source, original):
        return False
    if source != "en":
        return bool(subjects) and (one_matter(original) or bool(_THERE_TOO.search(sentence)))
    given = {word[:5] for word in original.split() if len(word) >= _SHORTEST}
    return not any(word[:5] in given for word in part.split() if len(word) > _SHORTEST)


def _complains(sentence: str) -> str:
    """What an English sentence says up to its `too`, if it is no kind word."""
    found = _ON_TOP.search(sentence) or _THERE_TOO.search(sentence)
    part = next(filter(None, found.groups()), "") if found else ""
    return part if not _NO_COMPLAINT.search(f" {part} ") else ""


def one_matter(original: str) -> bool:
    """Whether a normalised original is too short to name two: what cannot be compared word by word must be."""
    words = original.split()
    return len(words) <= _FEW_WORDS and sum(map(len, words)) <= _FEW_LETTERS


def shares(sentence: str, original: str, language: str) -> bool:
    """Whether a longer word, or two characters of a script without spaces, stands in both."""
    if language in UNSPACED:
        pairs = {sentence[i : i + 2] for i in range(len(sentence) - 1)}
        return sum(pair in original for pair in pairs if " " not in pair) >= 3
    stems = {word[:5] for word in sentence.split() if len(word) >= 5}
    return any(f" {stem}" in original for stem in stems)
