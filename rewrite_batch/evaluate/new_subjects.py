"""A subject that the original does not have: `The bathroom has been messy too`, of a complaint about dishes. Fired
rules go out.

What a request asks for is no complaint: `Could the ashtray be emptied?` names where the matter is, `in the bin` where
to put it. There a subject counts only when it comes on top (`also`, `as well`), or as a reason (`since`, `because`).
Neither is what is said of the original's own matter: `The towels have makeup stains` tells of the towels. A part of a
sentence that shares a word or a subject with the original may name a thing more, but no time, person or illness.

English lists whole subjects; the other languages list what hardly ever stands in a kind rewrite unless the original
has it: what others complain of, what was agreed, what broke, who is ill.
"""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from rewrite_batch.evaluate.chars import Ints
from rewrite_batch.evaluate.markers import common
from rewrite_batch.evaluate.subjects import (
    NEVER,
    UNSPACED,
    WORDS,
    Subjects,
    excuses,
    fields,
    fields_of,
    masked,
    named_in,
    subjects,
    table,
)
from rewrite_batch.evaluate.tables import FIRED, fired
from rewrite_batch.evaluate.text import Text, read

# What the sender chose as the topic is no news.
TOPICS = {"noise": ("sound", "sleep"), "cleanliness": ("clean",), "guests": ("guest",), "privacy": ("room",)}
MONEY = r"[$€£¥₹₩₽฿₫]|\d ?(?:zł|kr)\b"
# New even where they are only asked about: what was agreed, who else complains, whom one turns to, and until when.
_ALWAYS = frozenset({"say", "others", "police", "landlord", "money", "yesterday", "today", "tomorrow", "move"})
# A part of an original's matter is told with the day or the bill that it was about: elsewhere only what never is.
_ALWAYS_ELSEWHERE = frozenset({"say", "others", "mates", "police", "landlord", "move"})
_ASKS = re.compile(
    r" (?:please|would|let s|shall|how about|what if|if we|i d|(?:you|we|it|they|that|who|someone|anyone) could"
    r"|could (?:you|we|i|the|it|they|your|this|that|those|these|there|someone|anyone)|can (?:you|we|i)) "
)
# Where a part of a sentence begins that may tell of something else, and what makes it another complaint for certain.
_PART = re.compile(
    r" (?=(?:plus|besides|along with|on top of|since|because|given that|due to|now that"
    r"|as (?:i|it|my|we|our|they|there|he|she)|and (?:also|now|then|even|clean|stop|keep|\w+ed)"
    r"|and (?:the|your|my|our|all|any|some|those|these|it|they|he|she|one|someone|somebody|there|this|that)) )"
)
# The same in the other languages, by how they begin a reason or a further complaint, and how they ask for something.
_PARTS = {
    "es": "porque|ya que|pues|puesto que|dado que|debido|además|aparte|encima|y además|y también",
    "de": "weil|da|denn|zumal|nachdem|außerdem|zudem|und außerdem|und auch",
    "fr": "parce|car|puisque|vu que|comme|en plus|et en plus|d autant|et aussi",
    "pt": "porque|pois|já que|uma vez que|visto que|além disso|e também|e ainda",
    "it": "perché|poiché|dato che|visto che|siccome|inoltre|in più|e anche|e poi",
    "nl": "omdat|want|aangezien|doordat|bovendien|en ook|trouwens",
    "pl": "bo|ponieważ|gdyż|bowiem|poza tym|w dodatku|a także|a do tego",
    "tr": "çünkü|zira|ayrıca|üstelik",
    "ru": "потому|так как|поскольку|ведь|кроме того|к тому же|а еще|и еще|тем более",
    "sv": "eftersom|för att|därför|då|dessutom|och dessutom|och även",
    "vi": "vì|bởi|do|ngoài ra|hơn nữa|với lại|thêm nữa",
    "id": "karena|soalnya|sebab|selain|lagipula|lagi pula|apalagi",
    "ar": "لان|فان|كما|ايضا|علاوة|بالاضافة",
    "hi": "क्योंकि|साथ ही|ऊपर से",
}
_ASKING = {
    "es": "por favor|podrías|podrias|podría|podríamos|podemos|puedes|puede|te pido|agradecería|gustaría|ojalá|prefiero",
    "de": "bitte|könntest|könnten|könntet|kannst|würdest|würden|können wir|würde mich|wäre|lass uns|ich möchte",
    "fr": "pourrais|pourriez|pourrait|peux tu|pouvez|s il|stp|svp|merci de|j aimerais|serait|serais|voudrais",
    "pt": "por favor|poderia|pode|podemos|podia|poderíamos|consegue|gostaria|queria|seria|agradeço|prefiro",
    "it": "per favore|potresti|potrebbe|puoi|potete|possiamo|potremmo|vorrei|sarebbe|preferirei|ti va|ti chiedo",
    "nl": "alsjeblieft|alstublieft|zou|zouden|kun|kunt|kan je|kunnen we|wil je|graag|liever",
    "pl": "proszę|prosze|czy|mógłbyś|mogłabyś|możesz|możemy|moglibyśmy|chciał\\w+|wolał\\w+|poproszę",
    "tr": "lütfen|rica|misin|mısın|musun|müsün|misiniz|mısınız|miyiz|isterim|tercih|sevinirim|\\w+rsan|\\w+rseniz",
    "ru": "пожалуйста|можешь|можете|можно|мог|могла|могли|не мог|давай|давайте|хотел|хотела|хочу|прошу|попросить|буду",
    "sv": "snälla|kan du|kan ni|kan vi|skulle|kunde|vill du|gärna|hellre|vore|är du snäll|tack om",
    "vi": "vui lòng|làm ơn|giúp|nhờ|được không|nhé|có thể|muốn|mong|xin",
    "id": "tolong|mohon|bisakah|bisa|boleh|bolehkah|mau|maukah|minta|yuk|ingin|mungkin",
    "ko": "\\w+주세요|\\w+줄래\\w*|\\w+주시\\w*|주실\\w*|줄 수|\\w+까요|부탁\\w*|\\w+좋겠\\w*|\\w+감사\\w*|싶\\w+",
    "ar": "من فضلك|ارجو|هل|لو سمحت|ممكن|يمكن\\w*|رجاء|اود|اتمني|ياليت|افضل|لو",
    "hi": "कृपया|क्या|सकते|सकती|सकें|प्लीज|चाहता|चाहती|अच्छा होगा|लीजिए|दीजिए|दोगे|दोगी",
}
_PART_UNSPACED = re.compile(r" (?=[^ ]*(?:因为|而且|另外|还|也|また|それに|ので|อีกทั้ง|แล้วก็|เพราะ|พอดี))")
_ASKING_UNSPACED = re.compile(
    "请|可以|能不能|能否|麻烦|希望|想|帮|好吗|吗|吧|拜托|ください|もらえ|いただけ|いただき|ほしい|お願い|たい|くれ|かな"
    "|ไหม|ช่วย|รบกวน|ขอ|อยาก|หน่อย|มั้ย|ได้"
)
_ON_TOP = re.compile(r" (?:also|as well|in addition|the same|plus|besides|along with|on top of) | (?:too|either) $")
# Persons, illnesses and times are news even of a thing that the original speaks of; so is what is owed.
_NEWS = frozenset({
    "study", "sick", "child", "pet", "neighbor", "family", "partner", "drink", "event", "guest", "week", "month",
    "year", "weekend", "daily", "days", "hours", "minutes", "times",
})  # fmt: skip
# News but where a rewrite opens: there it tells what the matter led to.
_LATE_NEWS = _NEWS | {"work", "morning", "nights", "half", "accident", "hadto"}
# A sentence that opens nothing: three words, or a greeting of a few more.
_GREETS = re.compile(r"^ (?:[^ ]+ ){0,3}$|^ (?:hi|hello|hey|dear|good|i hope|hope|thank|thanks) (?:[^ ]+ ){0,6}$")
# What is asked for beforehand, and is not the matter yet: a word, a favour.
_PREFACE = re.compile(
    r" (?:talk|chat|speak|word|moment|minute|second|ask|asking|favou?r|help|something|idea|thing|check in|mention) "
)
_FEW_CHARACTERS = 12  # characters of a sentence that opens nothing, where words are written together
# How a thing is, of which a part of a sentence may tell that names it `it`.
_STATES = frozenset({"smell", "clean", "mold", "spoiled", "fur", "sleep", "leak"})
_IT = re.compile(r" (?:it|they|them|that|this|those|these) ")
_ROOT = 4
_NAMED = pl.Schema({"row": pl.Int64(), "field": pl.String()})
_SAID = pl.Schema({"row": pl.Int64(), "subject": pl.String()})
_SHORT = 5  # spaces of a padded sentence of four words
_PLAIN = frozenset((WORDS / "plain.txt").read_text(encoding="utf-8").split("\n", 1)[1].split())


def new_subjects(frame: pl.DataFrame, text: Text, source: Ints) -> pl.DataFrame:
    """`frame` has row, original_text and topics."""
    rows = np.flatnonzero(np.isin(text.language, list(subjects())) & np.isin(source, list(fields())))
    said = _phrases(text.rows.gather(rows), rows, text.language[rows])
    if said.is_empty():
        return FIRED.to_frame()
    said = said.with_columns(pl.Series("target", text.language[said["row"].to_numpy()], dtype=pl.String()))
    rows = said["row"].unique(maintain_order=True).to_numpy()
    given = pl.concat([_from_topics(frame[rows]), _from_currency(frame[rows]), _fields(frame, rows, source[rows])])
    left = _unexcused(said, given)
    # People mix languages: what the original says in the target language counts as well.
    rows = left["row"].unique(maintain_order=True).to_numpy()
    mixed = _fields(frame, rows, text.language[rows])
    left = _unexcused(left, mixed)
    originals = read(frame["original_text"].gather(rows), text.language[rows]).rows
    left = left.join(_phrases(originals, rows, text.language[rows]), on=["row", "subject"], how="anti")
    matter = _matters(left, pl.concat([given, mixed]), pl.Series(rows), originals, source)
    told = [
        stated(subject, _sentences(text, row), subjects()[target], matter[row])
        for row, subject, target in left.select("row", "subject", "target").iter_rows()
    ]
    left = left.filter(pl.Series(told, dtype=pl.Boolean()))
    return fired(left, "new_fact", pl.concat_str(pl.lit("subject:"), "subject"))


@dataclass(frozen=True)
class Matter:
    """What an original is about: its subjects, and the roots of its words if it is in the rewrite's language."""

    subjects: frozenset[str]
    roots: frozenset[str]


def _matters(
    left: pl.DataFrame, given: pl.DataFrame, rows: pl.Series, originals: pl.Series, source: Ints
) -> dict[int, Matter]:
    target: dict[int, str] = dict(left.select("row", "target").iter_rows())
    named: dict[int, set[str]] = {row: set() for row in target}
    for row, field in given.filter(pl.col("row").is_in(left["row"].unique())).iter_rows():
        named[row].add(field)
    normal = dict(zip(rows.to_list(), originals.to_list(), strict=True))
    return {
        row: Matter(frozenset(some), roots(normal[row], target[row]) if source[row] == target[row] else frozenset())
        for row, some in named.items()
    }


def roots(normal: str, language: str) -> frozenset[str]:
    """How the telling words of a normalised text begin."""
    plain = _plain(language)
    return frozenset(_root(word) for word in normal.split() if len(word) >= _ROOT and word not in plain)


@lru_cache(maxsize=64)
def _plain(language: str) -> frozenset[str]:
    return _PLAIN if language == "en" or language not in common() else common()[language].words


def _root(word: str) -> str:
    return word[: max(_ROOT, len(word) - 3)][:5]


def _phrases(texts: pl.Series, rows: Ints, language: Ints) -> pl.DataFrame:
    """row, subject: what normalised texts name, each in its language."""
    return _by_language(named_in, texts, rows, language, _SAID)


def _by_language(
    look: Callable[[pl.Series, str], pl.DataFrame], texts: pl.Series, rows: Ints, language: Ints, wanted: pl.Schema
) -> pl.DataFrame:
    """What `look` finds in the texts of each language, with their rows for their places."""
    found = [wanted.to_frame()]
    for name in np.unique(language).tolist():
        these = np.flatnonzero(language == name)
        named = look(texts.gather(these), name)
        row = pl.Series("row", rows[these][named["place"].to_numpy()], dtype=pl.Int64())
        found.append(named.with_columns(row).select(wanted.names()))
    return pl.concat(found)


def _sentences(text: Text, row: int) -> list[tuple[str, bool]]:
    """The row's sentences, and whether each has a question mark."""
    normal, first = text.rows[row], int(text.starts[row])
    number = text.sentence[first : first + len(normal)]
    cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(normal)]
    return [(normal[a:b], bool(text.asks[number[a]])) for a, b in itertools.pairwise(cuts) if b > a]


def stated(subject: str, sentences: list[tuple[str, bool]], known: Subjects, matter: Matter) -> bool:
    """Whether a subject of these normalised sentences is news, not the matter of a request or of the original."""
    if subject in (_ALWAYS if known.language == "en" else _ALWAYS_ELSEWHERE):
        return True
    patterns = known.patterns[subject]
    plain = [(f" {sentence.strip(' ')} ", asks) for sentence, asks in sentences if sentence.strip(" ")]
    opening = next((text for text, _ in plain if opens(text, known.language)), "")
    named = [(text, asks) for text, asks in plain if _names(patterns, masked(text, known))]
    if not named:
        return True  # it reaches over the end of a sentence
    return any(_told(subject, text, asks, text == opening, known, matter) for text, asks in named)


def opens(sentence: str, language: str) -> bool:
    """Whether a rewrite may open with it: a greeting opens nothing, unless it goes on to ask for something."""
    if language in UNSPACED:
        return len(sentence) > _FEW_CHARACTERS
    if not _GREETS.search(sentence):
        return True
    asks = language == "en" and bool(_ASKS.search(sentence))
    return asks and sentence.count(" ") > _SHORT and not _PREFACE.search(sentence)


def _told(subject: str, sentence: str, asks: bool, opens: bool, known: Subjects, matter: Matter) -> bool:
    """Part by part: what a part does not say of the original's matter is told. The sentence with which a rewrite opens
    says that matter over again, up to where it goes on to something else."""
    asked = asks or bool(_asks(known.language).search(sentence))
    patterns = known.patterns[subject]
    split = _part(known.language).split(sentence)
    parts = [(f" {part.strip(' ')} ", place > 0) for place, part in enumerate(split)]
    named = [(part, added) for part, added in parts if _names(patterns, masked(part, known))]
    for part, added in named or [(sentence, False)]:
        if _ON_TOP.search(part):
            return True
        if opens and not added and subject not in _NEWS:
            continue
        if (added or not asked) and (subject in _LATE_NEWS or not _of_matter(subject, part, known, matter)):
            return True
    return False


@lru_cache(maxsize=64)
def _part(language: str) -> re.Pattern[str]:
    if language in UNSPACED:
        return _PART_UNSPACED
    listed = _PARTS.get(language)
    return _PART if language == "en" else re.compile(rf" (?=(?:{listed}) )" if listed else NEVER)


@lru_cache(maxsize=64)
def _asks(language: str) -> re.Pattern[str]:
    listed = _ASKING.get(language)
    return _ASKS if language == "en" else re.compile(rf" (?:{listed}) ") if listed else _ASKING_UNSPACED


def _of_matter(subject: str, part: str, known: Subjects, matter: Matter) -> bool:
    if subject in _STATES and _IT.search(part):
        return True
    if matter.roots & roots(part, known.language):
        return True
    seen = masked(part, known)
    return any(_names(known.patterns[each], seen) for each in matter.subjects if each in known.patterns)


def _names(patterns: tuple[str, ...], seen: str) -> bool:
    return any(pattern in seen for pattern in patterns)


def _fields(frame: pl.DataFrame, rows: Ints, language: Ints) -> pl.DataFrame:
    """row, field: what the originals speak of, each read in its language."""
    normal = read(frame["original_text"].gather(rows), language).rows
    return _by_language(fields_of, normal, rows, language, _NAMED)


def _from_topics(part: pl.DataFrame) -> pl.DataFrame:
    listed = table([(topic, field) for topic, names in TOPICS.items() for field in names], "topics", "field")
    return part.select("row", "topics").explode("topics", empty_as_null=True).join(listed, on="topics").select(
        "row", "field"
    )  # fmt: skip


def _from_currency(part: pl.DataFrame) -> pl.DataFrame:
    return part.filter(pl.col("original_text").str.contains(MONEY)).select("row", pl.lit("money").alias("field"))


def _unexcused(said: pl.DataFrame, given: pl.DataFrame) -> pl.DataFrame:
    likely = said.join(excuses(), on=["target", "subject"])
    excused = likely.join(given, on=["row", "field"], how="semi").select("row", "subject").unique()
    return said.join(excused, on=["row", "subject"], how="anti")
