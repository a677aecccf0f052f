"""The regular expressions of packs, each compiled once a process. Many sentences come in as one text, a line each;
where each line matches first goes out.

RE2 takes time in proportion to the text, whatever a pack asks of it. It knows word boundaries in ASCII only: in
normalised text, where nothing but a space stands between two words, `\\b` is that space, or the line's beginning or
end. So it may stand only where an alternative of the expression begins or ends.
"""

import importlib
import re
from functools import lru_cache
from typing import Any

import numpy as np

from rewrite_batch.evaluate.chars import Ints

_re2: Any = importlib.import_module("re2")  # it comes without types
_TOKEN = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.|\(\?[a-z-]*[:)]?|[^\\\[()|?]+|.", re.DOTALL)
_OPENING, _CLOSING = "(?:^| )", "(?: |$)"
# In normalised text letters and digits are what is no space.
_PLAINER = {r"\w": r"[^ \n]", r"\W": " ", r"\s": " ", r"\S": r"[^ \n]"}
_LONGEST = (
    1 << 18
)  # bytes that one compiled expression may take, with what it remembers of the texts; a pack has hundreds


class NotAnExpression(ValueError):
    """What is wrong with it, for whoever wrote it."""


def in_lines(pattern: str) -> str:
    """The same expression for one line of many: it never reaches into the next."""
    signs = _TOKEN.findall(pattern)
    groups = _groups(signs)
    return "".join(_in_line(place, sign, signs, groups) for place, sign in enumerate(signs))


def _in_line(place: int, sign: str, signs: list[str], groups: list[tuple[int, int]]) -> str:
    if sign == r"\b":
        if _opens(place, signs, groups):
            return _OPENING
        if _closes(place, signs, groups):
            return _CLOSING
        raise NotAnExpression(r"\b stands where no alternative begins or ends: write the space that is meant")
    if sign.startswith("(?") and sign != "(?:":
        raise NotAnExpression(f"{sign} is not known: a group is (…) or (?:…), with no look-around, flag or name")
    if sign.startswith("["):
        inside = sign[1:].replace(r"\s", " ")
        return f"[^\\n{inside[1:]}" if inside.startswith("^") else f"[{inside}"
    return _PLAINER.get(sign, sign)


def _groups(signs: list[str]) -> list[tuple[int, int]]:
    """By sign, where the innermost group around it opens and closes. The expression itself is one."""
    around = [(-1, len(signs))] * len(signs)
    opened: list[int] = []
    for place, sign in enumerate(signs):
        if sign.startswith("("):
            opened.append(place)
        elif sign == ")" and opened:
            begin = opened.pop()
            for inside in range(begin + 1, place):
                if around[inside][0] < begin:
                    around[inside] = (begin, place)
    return around


def _opens(place: int, signs: list[str], groups: list[tuple[int, int]]) -> bool:
    """Nothing of the expression stands before it."""
    while place > 0:
        before = signs[place - 1]
        if before == "|":
            place = groups[place - 1][0]
        elif before.startswith("("):
            place -= 1
        else:
            return False
    return True


def _closes(place: int, signs: list[str], groups: list[tuple[int, int]]) -> bool:
    """Nothing of the expression comes after it."""
    while place < len(signs) - 1:
        after = signs[place + 1]
        if after == "|":
            place = groups[place + 1][1]
        elif after == ")":
            place += 1
        else:
            return False
        if signs[place + 1 : place + 2] == ["?"]:
            place += 1
    return True


@lru_cache(maxsize=16_384)  # more than all packs have
def compiled(lines: str) -> Any:
    options = _re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = _LONGEST
    try:
        return _re2.compile(f"(?m){lines}", options)
    except _re2.error as error:
        reason = error.args[0] if error.args else b""
        said = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise NotAnExpression(f"not a regular expression in RE2's syntax (no look-around): {said}") from None


def first_in_lines(lines: str, text: bytes, begins: Ints) -> tuple[Ints, Ints, Ints]:
    """Of each line that matches: its number, and where in the text its first match begins and ends. `begins` are where
    the lines begin."""
    spans = [match.span() for match in compiled(lines).finditer(text)]
    if not spans:
        return _NONE, _NONE, _NONE
    found = np.array(spans, np.int64)
    line = np.searchsorted(begins, found[:, 0], side="right") - 1
    first = np.r_[True, line[1:] != line[:-1]]
    begin, end = found[first].T
    code = np.frombuffer(text, np.uint8)
    begin = begin + ((code[np.minimum(begin, code.size - 1)] == _SPACE) & (end > begin))
    end = end - ((code[np.maximum(end - 1, 0)] == _SPACE) & (end > begin))
    return line[first], begin, end


_NONE: Ints = np.zeros(0, np.int64)
_SPACE = 0x20
