"""Numbers written out, in languages other than English: sixty-eight and 68, 六十八, 나흘 and 4일, halb elf and
10:30, the day before yesterday. It only excuses: a number of the rewrite comes in
with both texts, yes or no goes out.

A pack lists the words for tens and units, and a rewrite that says `sesenta y ocho` states 60; that is no new number as
long as the original has 68 and the rewrite says the eight as well.
"""

import re
from functools import lru_cache

from rewrite_batch.evaluate.stems import excuses

_HAN = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "百": 100,
        "千": 1000, "万": 10000}  # fmt: skip
_NUMERALS = {
    "zh": _HAN,
    "ja": _HAN,
    "ko": {
        "일": 1, "이": 2, "삼": 3, "사": 4, "오": 5,
        "육": 6, "칠": 7, "팔": 8, "구": 9, "십": 10, "백": 100, "천": 1000,
        "만": 10000, "하나": 1, "둘": 2, "셋": 3, "넷": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9,
        "열": 10,
        "스물": 20, "서른": 30, "마흔": 40, "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
    },
    "th": {
        "หนึ่ง": 1, "เอ็ด": 1, "สอง": 2, "ยี่": 2, "สาม": 3, "สี่": 4, "ห้า": 5, "หก": 6, "เจ็ด": 7, "แปด": 8,
        "เก้า": 9,
        "สิบ": 10, "ร้อย": 100, "พัน": 1000, "หมื่น": 10000,
    },
}  # fmt: skip
# What counts days without a number.
_DAYS_AGO = {
    "en": {2: "day before yesterday", 14: "fortnight"}, "es": {2: "anteayer|antier|antes de ayer"},
    "de": {2: "vorgestern"}, "fr": {2: "avant hier"}, "pt": {2: "anteontem|antes de ontem"},
    "it": {2: "l altro ieri|altroieri|avantieri"}, "nl": {2: "eergisteren"}, "pl": {2: "przedwczoraj"},
    "tr": {2: "evvelsi gün|önceki gün|evvelki gün"}, "ru": {2: "позавчера"}, "sv": {2: "i förrgår"},
    "zh": {2: "前天|前晚|两", 15: "半个月|半月"}, "ja": {2: "一昨日|おととい", 15: "半月"},
    "ko": {2: "그저께|그제|엊그제|이틀", 3: "사흘", 4: "나흘", 5: "닷새", 6: "엿새", 7: "이레|일주일", 8: "여드레",
           9: "아흐레",
           10: "열흘", 15: "보름"},
    "hi": {2: "परसो"},
    "ar": {2: "اول امس|اول البارح|قبل امس|اسبوعين|يومين|شهرين|مرتين"},
    "vi": {2: "hôm kia|bữa kia", 15: "nửa tháng"},
    "id": {2: "kemarin lusa|kemarin dulu|dua hari"}, "th": {2: "เมื่อวานซืน|วานซืน", 15: "ครึ่งเดือน"},
}  # fmt: skip
_FORTNIGHT = {
    "zh": "半个月|半月|十五天", "ja": "半月", "ko": "보름", "vi": "nửa tháng", "th": "ครึ่งเดือน", "tr": "on beş gün",
    "id": "setengah bulan",
}  # fmt: skip
# Halves that count towards the hour to come: halb elf is 10:30.
_TO_COME = {
    "de": r" halb (\w+)", "nl": r" half (\w+)", "sv": r" halv (\w+)", "pl": r" (?:wpół do|pół do) (\w+)",
    "ru": r" (?:пол|половин\w+ )(\w+)", "id": r" setengah (\w+)",
}  # fmt: skip
# One half of a hundred or a thousand more, or one and a half of them.
_AND_A_HALF = {"hi": r" साढ़?े? ?", "ru": r" полтор"}
_LAST_STEM = 12


def spelled(
    value: str, said: set[tuple[str, str]], *, normal: str, rewritten: str, languages: tuple[str, str]
) -> bool:  # fmt: skip
    """Whether a number of the rewrite is one of the original, written out in one of the two normalised texts."""
    source, target = languages
    number = int(value)
    numbers = {int(v) for kind, v in said if kind == "number" and v.isdigit()}
    numbers |= {int(part) for kind, v in said if kind == "clock" for part in v.split(":") if part.isdigit()}
    numbers |= runs(normal, source)
    if number in numbers or _days(number, numbers, normal, rewritten, languages):
        return True
    if any(number in parts(whole) and _rest_said(whole, rewritten, target) for whole in numbers):
        return True
    if composed(number, numbers, normal, source):
        return True
    return _coming_hour(number, numbers, rewritten, target) or _halved(number, numbers, normal, rewritten, languages)


def runs(normal: str, language: str) -> set[int]:
    """Values of the numerals in a text of a script that writes them in one run."""
    numerals = _NUMERALS.get(language)
    if not numerals:
        return set()
    found = [_numeral(language).findall(run[0]) for run in _run(language).finditer(normal)]
    return {_value([numerals[word] for word in words]) for words in found}


def parts(number: int) -> set[int]:
    """What a language may say one after the other to say a number: 1,240 has 1000, 200, 2, 40 and 240."""
    found = set[int]()
    for unit in (10000, 1000, 100, 10):
        head, rest = divmod(number, unit)
        if head:
            found |= {head * unit, rest}
            found |= {head, unit} | (parts(head) if head > 9 else set()) if unit >= 100 else set()
            found |= parts(rest) if rest > 9 else set()
    return found - {0, number}


def composed(number: int, numbers: set[int], normal: str, language: str) -> bool:
    """Whether an original has all parts of a number that is written in digits."""

    def has(part: int) -> bool:
        return part in numbers or (part <= _LAST_STEM and excuses(language, "number", str(part), normal))

    for unit in (10000, 1000, 100, 10):
        head, rest = divmod(number, unit)
        if not head or (unit > 10 and head > 999):
            continue
        whole = has(head * unit) if unit == 10 else has(head * unit) or (head > 1 and has(head))
        remains = rest == 0 or has(rest) or (rest > 9 and composed(rest, numbers, normal, language))
        if number > _LAST_STEM and whole and remains and (rest or unit > 10):
            return True
    return False


def _value(words: list[int]) -> int:
    total = group = digit = 0
    for word in words:
        if word < 10:
            digit = word
        elif word == 10000:
            total, group, digit = (total + group + digit or 1) * word, 0, 0
        elif word in {10, 100, 1000}:
            group, digit = group + (digit or 1) * word, 0
        else:
            group += word
    return total + group + digit


@lru_cache(maxsize=8)
def _numeral(language: str) -> re.Pattern[str]:
    words = sorted(_NUMERALS[language], key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))


@lru_cache(maxsize=8)
def _run(language: str) -> re.Pattern[str]:
    return re.compile(f"(?:{_numeral(language).pattern}){{2,}}")


def _rest_said(whole: int, rewritten: str, target: str) -> bool:
    """The last digit of a number is said as well: 80 alone is not 82."""
    if whole in runs(rewritten, target):
        return True
    last = whole % 10
    return last in {0, 1} or excuses(target, "number", str(last), rewritten)


def _days(number: int, numbers: set[int], normal: str, rewritten: str, languages: tuple[str, str]) -> bool:
    source, target = languages
    counted = _DAYS_AGO.get(source, {}).get(number, "\n")
    if any(word in normal for word in counted.split("|")):
        return True
    if number in {2, 14, 15} and any(word in normal for word in _FORTNIGHT.get(source, "\n").split("|")):
        return True
    fortnight = _FORTNIGHT.get(target, "\n").split("|")
    return number in {2, 15} and bool({2, 14, 15} & numbers) and any(word in rewritten for word in fortnight)


def _coming_hour(number: int, numbers: set[int], rewritten: str, target: str) -> bool:
    lead = _TO_COME.get(target)
    if lead is None or 30 not in numbers or not {number - 1, number + 11} & numbers:
        return False
    named = re.findall(lead, rewritten)
    return any(word == str(number) or excuses(target, "number", str(number), f" {word} ") for word in named)


def _halved(
    number: int, numbers: set[int], normal: str, rewritten: str, languages: tuple[str, str]
) -> bool:  # fmt: skip
    source, target = languages
    if source in _AND_A_HALF and re.search(_AND_A_HALF[source], normal):
        return number in {150, 1500} or any(number in {each * 100 + 50, each * 1000 + 500} for each in numbers)
    if target in _AND_A_HALF and re.search(_AND_A_HALF[target], rewritten):
        wholes = {each // unit for each in numbers for unit in (100, 1000) if each % unit == unit // 2}
        return number in wholes or (bool(wholes) and number in {100, 1000})
    return False
