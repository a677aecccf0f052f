"""The straightforward way: one candidate after the other, in plain Python, to the same verdicts as evaluate.

It is the benchmark's other side, and an oracle: a test compares the two. What evaluate itself does row by row (reading
a disguised word, comparing a fact with the original) is shared.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Any

from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.contracts.values import WARNINGS
from rewrite_batch.evaluate import added, facts, guards, names, new_subjects, obfuscation, pleasantries, subjects
from rewrite_batch.evaluate.intents import ENOUGH, LOST_WORDS, refuses
from rewrite_batch.evaluate.matcher import Matcher, matcher
from rewrite_batch.evaluate.told import hour_late
from tests.bench.loop_language import foreign
from tests.bench.loop_rules import Hit, Scene, Terms, find, fire
from tests.bench.loop_text import Read, read, sentences

_OF = {kind: "".join(c for c in map(chr, range(0x3000)) if unicodedata.category(c).startswith(kind))
       for kind in ("Lu", "Ll", "N")}  # fmt: skip


def _spelled_out(pattern: str) -> re.Pattern[str]:
    """Python's expressions know no classes of capitals, small letters and digits."""
    for kind, characters in _OF.items():
        pattern = pattern.replace(rf"\p{{{kind}}}", re.escape(characters) if kind == "N" else f"{{{kind}}}")
    pattern = pattern.replace(r"[{Ll}", f"[{re.escape(_OF['Ll'])}")
    return re.compile(pattern.replace("{Lu}", f"[{_OF['Lu']}]").replace("{Ll}", f"[{_OF['Ll']}]"))


_CAPITAL, _LAST_LINE, _GREETED = map(_spelled_out, (names.CAPITAL, names.LAST_LINE, names.GREETED))
_OPENERS = re.compile(names.OPENERS)
_LAST_NAME = re.compile(rf"([{_OF['Lu']}][{_OF['Ll']}]+)\s*$")
_GIVEN = re.compile(names.GIVEN_PATTERN)
_ENGLISH_NAMES = [
    (_spelled_out(where), last) for where, last in ((names.TITLED, True), (names.SIGNED, True), (names.SPEAKS, False))
]
_NAME = re.compile(rf"[{_OF['Lu']}][{_OF['Ll']}]+")
_MONEY = re.compile(new_subjects.MONEY)
_GUARDS = [re.compile(pattern) for pattern in (*guards.BY_SIGN.values(), *guards.BY_TASK.values())]
_LEAKS = [re.compile(pattern) for pattern in guards.BY_WORD.values()]
_HIDDEN = re.compile(guards.HIDDEN)
_UNSPACED = {"zh", "ja", "th", "yue", "lo", "km", "my"}


class Loop:
    def __init__(self, using: Matcher) -> None:
        self.using = using
        self.terms = {name: Terms(using.language(name)) for name in using.members}
        only = matcher(using.packs, frozenset(facts.KINDS))
        self.fact_terms = {name: Terms(only.language(name)) for name in only.members}

    def judge(self, row: dict[str, Any]) -> dict[str, Any]:
        if row["rewritten_text"] is None or row["output_language"] is None:
            return {"violations": [], "schema_valid": False, "intent_preserved": "pass", "kept": False}
        target = row["target_locale"]
        text = read(row["rewritten_text"], target)
        hits = find(text, self.terms[target], self.using, target) if target in self.terms else []
        codes = fire(Scene(hits, text, row["power_mode"], target))
        if _primary(row["output_language"]) != target or foreign(text, target):
            codes.add("non_target_locale")
        codes |= {code for code, _ in self._disguised(row, target)}
        if (
            self._new_values(row, text, hits) or _new_address(row) or self._new_name(row) or _added(row, text, hits)
            or _new_subject(row, text) or _late_hour(row, text)
        ):  # fmt: skip
            codes.add("new_fact")
        if any(leak.search(row["rewritten_text"]) for leak in _LEAKS):
            codes.add("preference_disclosure")
        valid = not _is_no_message(row, text, hits)
        intent = _intent(row, text, hits) if target in self.terms else "pass"
        hard = bool(codes - WARNINGS)
        return {
            "violations": sorted(codes),
            "schema_valid": valid,
            "intent_preserved": intent,
            "kept": valid and not hard and intent != "fail",
        }

    def _disguised(self, row: dict[str, Any], target: str) -> list[tuple[str, str]]:
        words = obfuscation.vocabulary(self.using, target)
        return obfuscation.readings_of(row["rewritten_text"], words, target) if words else []

    def _facts(self, text: Read, hits: list[Hit]) -> set[tuple[str, str]]:
        words = [hit for hit in hits if hit.code in facts.KINDS]
        longest = [
            hit for hit in words
            if not any(o.code == hit.code and o.first <= hit.first and o.last >= hit.last
                       and (o.last - o.first > hit.last - hit.first or not o.value) for o in words)
        ]  # fmt: skip
        found = {(facts.KINDS[hit.code], hit.value) for hit in longest if hit.value}
        phrases = [hit for hit in words if hit.code == "@number"]
        found |= {
            ("number", str(int(run[0][:9]))) for run in re.finditer(r"[0-9]+", text.norm)
            if text.raw[text.source[run.start()] - 1] != ord("<")
            and not any(hit.first <= run.start() and hit.last >= run.end() - 1
                        and hit.last - hit.first > run.end() - 1 - run.start() for hit in phrases)
        }  # fmt: skip
        return {fact for fact in found if fact != ("number", "1")}

    def _new_values(self, row: dict[str, Any], text: Read, hits: list[Hit]) -> bool:
        source, target, original = row["source_locale"], row["target_locale"], row["original_text"]
        if source not in self.terms:
            return False
        stated = {fact for fact in self._facts(text, hits) if fact[0] != "daypart"}
        if not stated:
            return False
        said: set[tuple[str, str]] = set()
        for language in (source, target):
            known = read(original, language)
            terms = self.fact_terms.get(language)
            said |= self._facts(known, find(known, terms, self.using, language) if terms else [])
        known_values = facts.values_of(self.using)
        normal = read(original, source).norm
        for kind, value in stated - said:
            expressible = (source, kind, value) in known_values or (value.isdigit() and int(value) > facts.LAST_WORD)
            if expressible and not facts.given_as(
                kind, value, said, original=original, normal=normal, rewritten=text.norm, languages=(source, target)
            ):
                return True
        return False

    def _new_name(self, row: dict[str, Any]) -> bool:
        target, text = row["target_locale"], row["rewritten_text"]
        if target in names.WITHOUT_CAPITALS:
            return False
        clear = _GREETED.sub(r". \1", _OPENERS.sub(".", text), count=1)
        found = [*([] if target == "de" else _CAPITAL.findall(clear)), *_LAST_LINE.findall(text)]
        tokens = [match[1] for match in map(_LAST_NAME.search, found) if match]
        tokens += [name for name in _GIVEN.findall(text) if not names.is_word(name, target)]
        for name in [*tokens, *(_english_names(text) if target == "en" else [])]:
            listed = names.listed(read(name, target).norm, *names.vocabulary(self.using, target))
            if not listed and not names.stands_in(name, row["original_text"], row["source_locale"], target):
                return True
        return False


def _english_names(text: str) -> list[str]:
    return [
        _NAME.findall(match[0])[-1 if last else 0] for where, last in _ENGLISH_NAMES for match in where.finditer(text)
    ]


def _late_hour(row: dict[str, Any], text: Read) -> bool:
    normal = read(row["original_text"], row["source_locale"]).norm
    return row["target_locale"] == "en" and hour_late(text.norm, normal, row["source_locale"])


def _new_subject(row: dict[str, Any], text: Read) -> bool:
    source, target, original = row["source_locale"], row["target_locale"], row["original_text"]
    known = subjects.subjects().get(target)
    if known is None or source not in subjects.fields():
        return False
    said = _subjects(text.norm, known)
    given = {field for topic in _topics(row) for field in new_subjects.TOPICS.get(topic, ())}
    given |= {"money"} if _MONEY.search(original) else set[str]()
    for language in (source, target):
        normal = read(original, language).norm
        given |= {field for pattern, field in subjects.fields()[language].iter_rows() if pattern in normal}
    excused = {subject for subject, field in known.excuses.iter_rows() if field in given}
    plain = read(original, target).norm
    new = said - excused - _subjects(plain, known)
    roots = new_subjects.roots(plain, target) if source == target else frozenset[str]()
    matter = new_subjects.Matter(frozenset(given), roots)
    told = [(sentence, text.sentence[start] in text.asks) for start, sentence in sentences(text)]
    return any(new_subjects.stated(subject, told, known, matter) for subject in new)


def _topics(row: dict[str, Any]) -> list[str]:
    return row["topics"] or []


def _subjects(normal: str, known: subjects.Subjects) -> set[str]:
    masked = subjects.masked(normal, known)
    return {subject for pattern, subject in known.phrases.iter_rows() if pattern in masked}


@lru_cache(maxsize=4096)
def _primary(tag: str) -> str:
    try:
        return normalise_locale(tag)
    except ValueError:
        return ""


def _new_address(row: dict[str, Any]) -> bool:
    text, original = row["rewritten_text"], row["original_text"].lower()
    if not any(sign in text for sign in facts.ADDRESS_SIGNS):
        return False
    return any(found.strip(" .,!?)\n").lower() not in original for found in re.findall(facts.ADDRESS, text))


def _added(row: dict[str, Any], text: Read, hits: list[Hit]) -> bool:
    target = row["target_locale"]
    if target == "en":
        given = read(row["original_text"], row["source_locale"]).norm
        for _, sentence in sentences(text):
            if added.on_top(sentence, given, row["source_locale"]):
                return True
    if row["source_locale"] != target or target not in added.ALSO:
        return False
    ending = "" if target in added.UNSPACED else r"(?: |$)"
    begins = re.compile(rf"^(?:{'|'.join(added.ALSO[target])}){ending}")
    for start, sentence in sentences(text):
        number = text.sentence[start]
        codes = {hit.code for hit in hits if hit.sentence == number}
        states = "@reader" in codes and not codes.intersection(added.ASKS) and number not in text.asks
        if not states or not begins.search(sentence):
            continue
        if not added.shares(sentence, read(row["original_text"], target).norm, target):
            return True
    return False


def _is_no_message(row: dict[str, Any], text: Read, hits: list[Hit]) -> bool:
    words, original = row["rewritten_text"], row["original_text"]
    if any(each.search(words) for each in _GUARDS) or _HIDDEN.search(words):
        return True
    if len(words) > 800 + len(original) * 6:
        return True
    split = text.norm.strip(" ").split(" ")
    if len(text.norm) > 120 and len(split) >= 24 and len(set(split)) * 4 < len(split):
        return True
    if len(text.norm) > 120 and row["target_locale"] in guards.UNSPACED and guards.circles(text.norm):
        return True
    soft = text.asks or any(hit.code in {"@softener", "@request", "@greeting", "@question"} for hit in hits)
    near = abs(len(words) - len(original)) <= guards.ECHO_LENGTH and len(words) >= guards.ECHO_LEAST
    given = read(original, row["target_locale"]).norm
    if any(text.quoted) and guards.quotes(text.norm, given):
        return True
    return not soft and near and guards.echoes(text.norm, given)


def _intent(row: dict[str, Any], text: Read, hits: list[Hit]) -> str:
    codes = {hit.code for hit in hits}
    full = bool(text.asks or codes.intersection(ENOUGH[row["intent"]]))
    refusals = [hit for hit in hits if hit.code == "@refusal"]
    if any(refuses(text.norm[hit.first : hit.last + 1], text.norm[hit.last + 1 :]) for hit in refusals):
        return "fail"
    if row["target_locale"] == pleasantries.LANGUAGE and _matter_lost(text):
        return "fail"
    if "@nice" in codes and _only_kind_words(text, hits, row["target_locale"]):
        return "fail"
    greets = {hit.sentence for hit in hits if hit.code == "@greeting"}
    outside = [text.norm[i] != " " and text.sentence[i] not in greets for i in range(len(text.norm))]
    if row["target_locale"] in _UNSPACED:
        lost = sum(outside) <= LOST_WORDS * 3
    else:
        lost = sum(o and text.norm[i - 1] == " " for i, o in enumerate(outside)) <= LOST_WORDS
    if row["target_locale"] == pleasantries.LANGUAGE:
        lost = lost and not pleasantries.says_more([sentence for _, sentence in sentences(text)])
    return "fail" if lost and not full else "pass" if full else "warn"


def _only_kind_words(text: Read, hits: list[Hit], target: str) -> bool:
    kind = [hit for hit in hits if hit.code in pleasantries.KIND_WORDS]

    def outside(place: int) -> bool:
        return text.norm[place] != " " and not any(hit.first <= place <= hit.last for hit in kind)

    matter = {hit.sentence for hit in hits if hit.code in pleasantries.MATTER and outside(hit.first)}
    for number in {text.sentence[i] for i in range(len(text.norm)) if text.norm[i] != " "}:
        places = [i for i in range(len(text.norm)) if text.sentence[i] == number and outside(i)]
        if target in pleasantries.UNSPACED:
            left = -(-len(places) // pleasantries.CHARACTERS_A_WORD)
        else:
            left = sum(i == 0 or text.norm[i - 1] == " " for i in places)
        allowed = 0 if number in text.asks else pleasantries.LEFT_OVER
        if number in matter or left > allowed or all(hit.sentence != number for hit in kind):
            return False
    return True


def _matter_lost(text: Read) -> bool:
    if not text.asks and re.search(pleasantries.ALLOWED, text.norm) and pleasantries.allows(text.norm):
        return True
    for _, sentence in sentences(text):
        small = not text.asks or sentence.count(" ") < pleasantries.SMALL_TALK
        if not pleasantries.is_nice(sentence) or not small:
            return False
    return bool(text.norm.strip()) and not subjects.names_subject(pleasantries.LANGUAGE, text.norm)
