"""Which literals an expression needs: without one of them in a sentence, it cannot match there.

Only to save time: where nothing is found out, the expression is simply tried everywhere. The parser is Python's own;
RE2's syntax, which packs are written in, is near enough, and what it cannot parse is tried everywhere too.
"""

import importlib
import re
from collections.abc import Mapping
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_PART = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.|[()|]")


def alternatives(pattern: str) -> list[str]:
    """`a|b(c|d)` is `a` and `b(c|d)`: each is looked for where its own literals are."""
    if re.search(r"\(\?[^:]", pattern):  # a flag may reach from one alternative into the next
        return [pattern]
    depth, begin = 0, 0
    found: list[str] = []
    for part in _PART.finditer(pattern):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if part[0] == "|" and depth == 0:
            found.append(pattern[begin : part.start()])
            begin = part.end()
    return [*found, pattern[begin:]]


def needed(pattern: str, standing_for: Mapping[str, frozenset[str]] | None = None) -> list[frozenset[str]]:
    """Sets of literals: a match holds at least one of each set. Empty when nothing is known. `standing_for` has
    characters of the pattern that are words of a class."""
    try:
        parts = _parts(_parser.parse(pattern), standing_for or {})
    except (re.error, OverflowError, RecursionError):
        return []
    return [part for part in parts if all(literal.strip() for literal in part)]


def _parts(items: Any, standing_for: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    """What each part of a sequence needs, if anything."""
    found: list[frozenset[str]] = []
    run = ""
    for operation, argument in [*items, ("END", 0)]:
        letter = chr(argument) if str(operation) == "LITERAL" else ""
        if letter and letter not in standing_for:
            run += letter
            continue
        if run:
            found.append(frozenset({run}))
        run = ""
        found += [standing_for[letter]] if letter else _of_item(str(operation), argument, standing_for)
    return found


def _of_item(operation: str, argument: Any, standing_for: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    if operation == "SUBPATTERN":
        return _parts(argument[-1], standing_for)
    if operation in {"MAX_REPEAT", "MIN_REPEAT"} and argument[0] >= 1:
        return _parts(argument[2], standing_for)
    if operation == "BRANCH":
        best = [max(_parts(branch, standing_for), key=_shortest, default=frozenset[str]()) for branch in argument[1]]
        return [frozenset[str]().union(*best)] if all(best) else []
    return []


def _shortest(literals: frozenset[str]) -> int:
    return min((len(literal.strip()) for literal in literals), default=0)
