"""Hits and what they mean together, hit by hit: what evaluate/hits.py and structure.py do with tables."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from rewrite_batch.evaluate.matcher import Language, Matcher
from rewrite_batch.evaluate.structure import CHARACTERS_A_PLACE, SOFTENED_LATE, VERB_LAST
from tests.bench.loop_text import Read, sentences


@dataclass(frozen=True)
class Hit:
    code: str
    rule: str
    value: str
    sentence: int
    clause: int
    quoted: bool
    start: int
    end: int
    first: int
    last: int


class Terms:
    """A language's patterns by their first two letters, substrings, and expressions."""

    def __init__(self, language: Language) -> None:
        self.padded: dict[str, list[tuple[str, int, int, int]]] = {}
        self.inner: list[tuple[str, int, int]] = []
        for needle, rule in language.words:
            letters = len(needle.strip(" "))
            if needle.startswith(" "):
                self.padded.setdefault(needle[1:3], []).append((needle, rule, 1, letters))
            else:
                self.inner.append((needle, rule, letters))
        self.regexes: dict[int, list[re.Pattern[str]]] = {}
        for piece in language.pieces:
            self.regexes.setdefault(piece.rule, []).append(re.compile(piece.pattern))


def find(text: Read, terms: Terms, using: Matcher, language: str) -> list[Hit]:
    norm = text.norm
    found: set[tuple[int, int, int]] = set()
    for place in range(1, len(norm)):
        if norm[place - 1] == " " and norm[place] != " ":
            near = (*terms.padded.get(norm[place : place + 2], ()), *terms.padded.get(norm[place], ()))
            for pattern, rule, _, letters in near:
                if norm.startswith(pattern, place - 1):
                    found.add((place, place + letters - 1, rule))
    for pattern, rule, letters in terms.inner:
        place = norm.find(pattern)
        while place >= 0:
            found.add((place, place + letters - 1, rule))
            place = norm.find(pattern, place + 1)
    for start, sentence in sentences(text):
        for rule, pieces in terms.regexes.items():
            spans = [_words(match) for piece in pieces if (match := piece.search(sentence))]
            if spans:
                begin, end = min(spans, key=lambda each: each[0])
                found.add((start + begin, start + max(end - 1, begin), rule))
    size = CHARACTERS_A_PLACE.get(language, 1)
    hits: list[Hit] = []
    for first, last, index in sorted(found):
        if text.sentence[first] != text.sentence[last]:
            continue
        rule = using.rules[index]
        start, end = (first // size, last // size) if size > 1 else (text.word[first], text.word[last])
        hits.append(Hit(rule.code, rule.rule, rule.value, text.sentence[first], text.clause[first],
                        text.quoted[first], start, end, first, last))  # fmt: skip
    return hits


def _words(match: re.Match[str]) -> tuple[int, int]:
    """Where it begins and ends, without a space at either end."""
    begin, end = match.span()
    begin += match[0].startswith(" ") and end > begin
    return begin, end - (match[0].endswith(" ") and end > begin)


class Scene:
    def __init__(self, hits: list[Hit], text: Read, power: str, language: str) -> None:
        self.text, self.power, self.language = text, power, language
        self.by_code: dict[str, list[Hit]] = {}
        for hit in hits:
            self.by_code.setdefault(hit.code, []).append(hit)
        self.soft = self.of("@softener") + self.of("@request")

    def of(self, code: str) -> list[Hit]:
        return self.by_code.get(code, [])

    def spoken(self, code: str) -> list[Hit]:
        return [hit for hit in self.of(code) if not hit.quoted]

    def beside(self, hit: Hit, code: str, before: int, after: int) -> list[Hit]:
        return [
            other for other in self.of(code)
            if other.sentence == hit.sentence and other.clause == hit.clause
            and hit.start - other.end <= before and other.start - hit.end <= after
        ]  # fmt: skip

    def has(self, hit: Hit, code: str, near: Callable[[Hit], bool]) -> bool:
        return any(x.sentence == hit.sentence and x.clause == hit.clause and near(x) for x in self.of(code))

    def negated(self, hit: Hit, reach: int, late: tuple[str, ...] = VERB_LAST) -> bool:
        limit = 1 if hit.end - hit.start >= 3 else reach

        def near(x: Hit) -> bool:
            if not (x.last < hit.first or x.first > hit.last):
                return False
            return 0 <= hit.start - x.end <= limit or (self.language in late and 0 <= x.start - hit.end <= reach)

        return self.has(hit, "@negation", near)

    def excused(self, hit: Hit) -> bool:
        return any(
            x.sentence == hit.sentence and -1 <= hit.start - x.end <= 4 and x.first < hit.first
            for x in self.of("@excuse")
        )

    def own(self, hit: Hit, reader: Hit) -> bool:
        def near(x: Hit) -> bool:
            between = x.first > reader.last and x.last < hit.first
            return between or (reader.first > hit.last and 0 <= hit.start - x.end <= 3)

        return self.has(hit, "@self", near)

    def said_by_sender(self, hit: Hit, reader: Hit) -> bool:
        mine = [x for x in self.of("@negation") if self.beside(x, "@self", 2, 0)]
        return any(
            x.sentence == hit.sentence
            and x.clause == hit.clause
            and 1 <= reader.start - x.end <= 4
            and x.last < reader.first
            for x in mine
        )

    def softened(self, hit: Hit) -> bool:
        late = self.language in SOFTENED_LATE
        return any(
            x.sentence == hit.sentence and x.clause == hit.clause and (x.end <= hit.start or late) for x in self.soft
        )

    def free(self, hit: Hit) -> bool:
        """Neither softened nor asked anywhere in its sentence."""
        return hit.sentence not in self.text.asks and all(x.sentence != hit.sentence for x in self.soft)

    def follows_lead(self, hit: Hit) -> bool:
        return any(x.last + 2 == hit.first and self.opens(x) for x in self.of("@lead"))

    def opens(self, hit: Hit) -> bool:
        before = hit.first - 1
        earlier = before - (self.text.norm[before] == " ")
        return earlier < 0 or self.text.clause[earlier] != hit.clause


def fire(scene: Scene) -> set[str]:  # noqa: PLR0912  one rule after the other, as they are read
    codes = {code for code in ("vulgarity", "slur", "preference_disclosure", "sarcasm_warn", "hedge_warn")
             if scene.of(code)}  # fmt: skip
    if any(not scene.has(hit, "@relief", lambda x, hit=hit: 0 <= hit.start - x.end <= 4 and x.last < hit.first)
           for hit in scene.of("authority")):  # fmt: skip
        codes.add("authority")
    codes |= {"blame" for hit in scene.spoken("blame") if not (scene.negated(hit, 2) or scene.excused(hit))}
    for code in ("medical", "personal_attack"):
        for hit in scene.spoken(code):
            mine = scene.has(hit, "@self", lambda x, hit=hit: 0 <= hit.start - x.end <= 3 and x.last < hit.first)
            if scene.negated(hit, 2) or scene.excused(hit):
                continue
            if not mine or scene.beside(hit, "@reader", 4, 0):
                codes.add(code)
    good = {x.sentence for code in ("@praise", "@greeting", "@apology") for x in scene.of(code)}
    neutral = {x.sentence for x in scene.of("@neutral")}
    told = scene.spoken("@statement") + [hit for hit in scene.spoken("@mention") if hit.sentence not in neutral]
    if any(scene.free(hit) and hit.sentence not in good and not scene.excused(hit) for hit in told):
        codes.add("blame")
    for hit in scene.spoken("@trait"):
        for reader in scene.beside(hit, "@reader", 6, 1):
            taken_back = scene.said_by_sender(hit, reader) or scene.excused(hit)
            if not (scene.negated(hit, 3) or scene.own(hit, reader) or taken_back):
                codes.add("personal_attack")
    if scene.spoken("@comparison"):
        codes.add("personal_attack")
    for hit in scene.spoken("@absolute"):
        if any(x.first <= hit.first and x.last >= hit.last for x in scene.of("@virtue")):
            continue
        for reader in scene.beside(hit, "@reader", 4, 2):
            if not (scene.own(hit, reader) or scene.negated(hit, 1) or scene.softened(hit)):
                codes.add("blame")
    for hit in scene.spoken("@fault"):
        for reader in scene.beside(hit, "@reader", 5, 5):
            if not (scene.negated(hit, 2) or scene.own(hit, reader)):
                codes.add("blame")
    for hit in scene.spoken("@diagnosis"):
        for reader in scene.beside(hit, "@reader", 6, 3):
            if not (scene.negated(hit, 3) or scene.own(hit, reader)):
                codes.add("medical")
    for hit in scene.spoken("@illness"):
        own = any(x.sentence == hit.sentence and 0 <= hit.start - x.end <= 6 and x.last < hit.first
                  for x in scene.of("@own"))  # fmt: skip
        if not (own or scene.negated(hit, 3) or scene.excused(hit)):
            codes.add("medical")
    if any(
        (scene.opens(hit) or scene.follows_lead(hit) or scene.language in VERB_LAST) and scene.free(hit)
        for hit in scene.spoken("@imperative")
    ):
        codes.add("authority")
    codes |= {"authority"} if _orders(scene) else set()
    if len(scene.of("@hedge")) + len(scene.of("@apology")) >= 5:
        codes.add("hedge_warn")
    return codes | ({"sarcasm_warn"} if scene.of("@sarcasm") else set())


def _orders(scene: Scene) -> bool:
    at_somebody = {x.sentence for code in ("@reader", "@demand", "@owner", "@imperative") for x in scene.of(code)}
    for hit in scene.spoken("@rule") + scene.spoken("@owner"):
        if scene.power == "higher_sender":
            return True
        if hit.sentence in at_somebody and not scene.negated(hit, 1) and scene.free(hit):
            return True
    if scene.power == "higher_sender" and scene.spoken("@above"):
        return True
    if scene.power == "higher_recipient" and any(not scene.excused(hit) for hit in scene.spoken("@upward")):
        return True
    for hit in scene.spoken("@demand"):
        if scene.has(hit, "@if", lambda x, hit=hit: hit.start - x.end == 1):
            continue
        mine = scene.has(hit, "@self", lambda x, hit=hit: 0 <= hit.start - x.end <= 2 and x.last < hit.first)
        if scene.negated(hit, 2, ("de", *VERB_LAST)) or (mine and not scene.beside(hit, "@reader", 0, 0)):
            continue
        if scene.power == "higher_recipient" or (scene.beside(hit, "@reader", 3, 1) and scene.free(hit)):
            return True
    return False
