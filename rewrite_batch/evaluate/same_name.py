"""Whether a name of the rewrite is one of the original: declined, without its accents, or spelled by another language.

Within a language the beginning of the word must be there. Across languages it is enough that a word with a capital
begins alike or has the same first consonants (Mike and Майк); a word in small letters must have more of it, or `to`
would make Tom an old acquaintance.
"""

import re
import unicodedata
from functools import lru_cache

WITHOUT_CAPITALS = ("zh", "ja", "ko", "th", "hi", "ar", "fa", "ur", "he", "mr", "ne", "yue")
_CYRILLIC = dict(
    zip(
        "абвгдезиклмнопрстуфхыэюяцжчшщьъієґ",
        [*"abvgdeziklmnoprstufhyeuac", "zh", "ch", "sh", "sh", "", "", "i", "e", "g"],
        strict=True,
    )
)
_LETTERS = str.maketrans({"ł": "l", "đ": "d", "ø": "o", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe", **_CYRILLIC})
# How languages write one sound.
_SOUNDS = [("dzh", "g"), ("sch", "s"), ("ch", "k"), ("sh", "s"), ("zh", "z"), ("ph", "f"), ("x", "ks"), ("c", "k"),
           ("q", "k"), ("w", "v"), ("j", "g"), ("h", "")]  # fmt: skip
_VOWELS = "aeiouy"
# Of languages that write a surname with one character or two: how it may stand in an original.
_CHINESE = (
    "wang王汪 li李黎厉 zhang张章 liu刘 chen陈程 yang杨 zhao赵 huang黄 zhou周 wu吴武伍 xu徐许 sun孙 "
    "zhu朱祝 ma马 hu胡 guo郭 lin林 gao高 luo罗骆 zheng郑 liang梁 xie谢解 song宋 tang唐汤 deng邓 han韩 "
    "feng冯 cao曹 peng彭 zeng曾 xiao肖萧 tian田 dong董 pan潘 yuan袁 cai蔡 jiang蒋江姜 du杜 ye叶 cheng程 "
    "wei魏韦 lu卢陆鲁路 ding丁 ren任 shen沈 yao姚 zhong钟 fang方 shi石史 qian钱 fan范"
)
_KOREAN = (
    "kim김 lee이 park박 choi최 jung정 kang강 cho조 yoon윤 jang장 lim임 han한 shin신 seo서 kwon권 hwang황 song송 hong홍"
)
_JAPANESE = (
    "tanaka田 suzuki鈴 sato佐 takahashi高 watanabe渡 ito伊 yamamoto山 nakamura中 kobayashi小 kato加 "
    "yoshida吉 yamada山 sasaki佐 yamaguchi山 matsumoto松 inoue井 kimura木 hayashi林 saito斎斉齋 shimizu清 "
    "mori森 ikeda池 ishikawa石 ogawa小"
)


def _listed(written: str) -> dict[str, str]:
    found = re.findall(r"([a-z]+)([^a-z ]+)", written)
    return dict(found)


_SURNAMES = {"zh": _listed(_CHINESE), "ko": _listed(_KOREAN), "ja": _listed(_JAPANESE)}


def same_name(name: str, original: str, source: str, target: str) -> bool:
    if source != target and (source in WITHOUT_CAPITALS or target in WITHOUT_CAPITALS):
        return written_there(name, original, source)
    plain = latin(name)
    words = re.findall(r"\w+", original)
    if source == target:  # names are declined: their beginning is enough
        stem = plain[: max(3, min(len(plain) - 2, 5))]
        return any(latin(word).startswith(stem) for word in words)
    return any(_alike(name, word) for word in words)


def written_there(name: str, original: str, source: str) -> bool:
    """Other scripts spell a name in ways that we cannot follow; but a common surname they write in one way."""
    written = _SURNAMES.get(source, {}).get(name.lower())
    return written is None or any(character in original for character in written) or name.lower() in original.lower()


def _alike(name: str, word: str) -> bool:
    plain, other = latin(name), latin(word)
    heard, other_heard = consonants(plain), consonants(other)
    if word[:1].isupper():
        return other[:2] == plain[:2] or (len(heard) > 1 and other_heard[: len(heard)][:3] == heard[:3])
    transcribed = _cyrillic(name) != _cyrillic(word) and other_heard == heard
    return transcribed or other.startswith(plain[: max(3, min(len(plain) - 1, 4))])


def _cyrillic(word: str) -> bool:
    return any(character in _CYRILLIC for character in word.lower())


@lru_cache(maxsize=65_536)
def latin(word: str) -> str:
    """In small Latin letters without accents, whatever European script it is in."""
    apart = unicodedata.normalize("NFKD", word.lower())
    return "".join(c for c in apart if not unicodedata.combining(c)).translate(_LETTERS)


@lru_cache(maxsize=65_536)
def consonants(plain: str) -> str:
    """What is heard of a Latin word apart from its vowels; a vowel that it begins with is kept as one of all."""
    for letters, sound in _SOUNDS:
        plain = plain.replace(letters, sound)
    opens = "a" if plain[:1] in tuple(_VOWELS) else ""
    heard = [c for c in plain if c not in _VOWELS]
    return opens + "".join(c for place, c in enumerate(heard) if place == 0 or heard[place - 1] != c)
