"""Times told in another way: half past ten and 10:30, a quarter of an hour and 15 minutes, two weeks and 14 days. It
only excuses: one fact of the rewrite and the original that may have it come in, yes or no goes out.

Languages count halves forward (half past ten) or backward (halb elf); either neighbour of an hour will do.
"""

import re

from rewrite_batch.evaluate.stems import excuses
from rewrite_batch.evaluate.subjects import speaks_of

_HALVES = {
    "en": " half", "de": "halb", "nl": "half", "sv": "halv", "es": " medi", "fr": " demi", "pt": " mei",
    "it": " mezz", "pl": " pół | wpół | półtor", "ru": " пол | полтор", "tr": " buçu| yarım", "id": " setengah",
    "vi": " rưỡi| nửa", "zh": "半", "ja": "半", "ko": "반", "hi": " साढ़| साढ| डेढ| ढाई| अढाई| आध", "ar": "نصف|نص ",
    "th": "ครึ่ง",
}  # fmt: skip
_QUARTERS = {
    "en": " quarter", "de": "viertel", "nl": "kwart", "sv": "kvart", "es": " cuarto", "fr": " quart", "pt": " quarto",
    "it": " quart", "pl": " kwadrans", "ru": " четверт", "tr": " çeyre", "id": " seperempat| kurang", "vi": " kém",
    "zh": "刻", "ja": "15分", "ko": "15분", "hi": " सवा| पौन", "ar": "ربع", "th": "15",
}  # fmt: skip
_ONE_AND_A_HALF = {"hi": {"डेढ": 1, "ढाई": 2}, "pl": {"półtor": 1}, "ru": {"полтор": 1}, "de": {"anderthalb": 1},
                   "nl": {"anderhalf": 1}}  # fmt: skip
# So many of the smaller unit are one of the larger.
_UNITS = [("week", 7, "days"), ("days", 24, "hours"), ("hours", 60, "minutes"), ("year", 12, "month"),
          ("month", 30, "days"), ("month", 4, "week")]  # fmt: skip
_A_WEEK = {
    "en": " week", "de": "woche", "nl": "week", "sv": "veck", "es": " semana", "fr": " semaine", "pt": " semana",
    "it": " settiman", "pl": " tydz| tygod", "ru": " недел", "tr": " hafta", "id": " minggu| seminggu| pekan",
    "vi": " tuần", "zh": "周|星期|礼拜", "ja": "週間", "ko": "일주일|한 주", "hi": " हफ्त| सप्ताह", "ar": "اسبوع",
    "th": "สัปดาห์|อาทิตย์",
}  # fmt: skip
# Halb elf is half past ten: where it names the hour to come, a rewrite with that hour is an hour late.
_TO_COME = {"de": "halb", "nl": "half", "sv": "halv", "pl": "wpół do", "ru": "пол", "id": "setengah"}
_HOURS = dict(zip(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
                  range(1, 13), strict=True))  # fmt: skip
HALF_PAST = r" (\d{1,2}) 30 | half past (\w+) "
_COMPANY = re.compile(r" (?:you|us|we|they|of) (?:two|three) | (?:two|three) of (?:you|us|them) ")
_TO_THE_HOUR = re.compile(r" (?:to|till|before) ")


def told(value: str, said: set[tuple[str, str]], normal: str, language: str) -> bool:
    """Whether a normalised original has this number in other words."""
    number = int(value)
    numbers = {int(v) for kind, v in said if kind == "number" and v.isdigit()}
    numbers |= {int(v.split(":")[0]) for kind, v in said if kind == "clock" and v[:1].isdigit()}
    spoken = normal.replace(" пол", " пол ") if language == "ru" else normal
    half = _has(_HALVES, language, spoken)
    quarter = _has(_QUARTERS, language, spoken)
    if (number == 30 and half) or (number in {15, 45} and quarter):
        return True
    if any(word in spoken and number in {hours, hours * 60 + 30} for word, hours in _mixed(language)):
        return True
    past = any(30 < minutes < 60 for minutes in numbers)
    if past and number - 1 in numbers:
        return True  # 6:45 is a quarter to seven
    if number % 5 == 0 and (60 - number in numbers or _word(language, 60 - number, spoken)):
        return True  # 8:50 is ten to nine
    if language == "en" and _TO_THE_HOUR.search(spoken) and number + 1 in numbers and number < 24:
        return True  # ten to nine is 8:50
    near = {number - 1, number + 1} - {0, 1}
    if (half or quarter) and number <= 24 and (near & numbers or any(_word(language, each, spoken) for each in near)):
        return True
    return _converted(number, numbers, spoken, language)


def hour_late(rewritten: str, normal: str, language: str) -> bool:
    """Two normalised texts, the first in English: halb elf has become 11:30."""
    lead = _TO_COME.get(language)
    named = re.findall(rf" {lead} ?(\w+)", normal) if lead else []
    if len(named) != 1:
        return False
    coming = [hour for hour in range(2, 13) if named[0] == str(hour) or _word(language, hour, f" {named[0]} ")]
    said = [_HOURS.get(word, 0) or int(digits or 0) for digits, word in re.findall(HALF_PAST, rewritten)]
    return any(hour % 12 == each % 12 for hour in said if hour for each in coming)


def among_us(value: str, rewritten: str) -> bool:
    """`You two` and `the three of us` are no count of anything."""
    word = {"2": " two ", "3": " three "}.get(value, "-")
    return rewritten.count(word) == len(_COMPANY.findall(rewritten)) == 1


def _has(words: dict[str, str], language: str, spoken: str) -> bool:
    return any(word in spoken for word in words.get(language, "\n").split("|"))


def _mixed(language: str) -> list[tuple[str, int]]:
    return list(_ONE_AND_A_HALF.get(language, {}).items())


def _word(language: str, number: int, spoken: str) -> bool:
    return excuses(language, "number", str(number), spoken)


def _converted(number: int, numbers: set[int], spoken: str, language: str) -> bool:
    if number in {2, 7} and numbers & {8, 14, 15} and speaks_of("days", language, spoken):
        return True  # quinze jours are two weeks, acht Tage are one
    if number == 6 and _has(_HALVES, language, spoken) and speaks_of("year", language, spoken):
        return True
    if number == 6 and _has(_HALVES, language, spoken) and speaks_of("month", language, spoken):
        return True  # a month and a half
    if number == 7 and _has(_A_WEEK, language, spoken):
        return True
    if number in {2, 14} and " fortnight" in spoken:
        return True
    for larger, times, smaller in _UNITS:
        if number % times == 0 and speaks_of(larger, language, spoken):
            count = number // times  # one is no number: a month is four weeks
            if larger == "week" and count == 1:
                continue  # said above: what speaks of weeks names Sundays as well
            if count == 1 or count in numbers or _word(language, count, spoken):
                return True
        if number * times in numbers and speaks_of(smaller, language, spoken):
            return True
    return False
