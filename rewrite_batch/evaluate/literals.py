"""Which literals a regular expression needs: without one of them in a sentence, it cannot match there.

Only to save time: where nothing is found out, the expression is simply tried everywhere. The parser is Python's own;
Rust's syntax, which packs are written in, is near enough, and what it cannot parse is tried everywhere too.
"""

import importlib
import re
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_LEAST = 2
_MOST = 3


def needed(pattern: str) -> list[frozenset[str]]:
    """Sets of literals: a match holds at least one of each set. Empty when nothing is known."""
    try:
        parts = _parts(_parser.parse(pattern))
    except (re.error, OverflowError, RecursionError):
        return []
    useful = [part for part in parts if _rarity(part) >= _LEAST]
    return sorted(useful, key=_rarity, reverse=True)[:_MOST]


def _parts(items: Any) -> list[frozenset[str]]:
    """What each part of a sequence needs, if anything."""
    found: list[frozenset[str]] = []
    run = ""
    for operation, argument in [*items, ("END", 0)]:
        if str(operation) == "LITERAL":
            run += chr(argument)
            continue
        if run:
            found.append(frozenset({run}))
        run = ""
        found += _of_item(str(operation), argument)
    return found


def _of_item(operation: str, argument: Any) -> list[frozenset[str]]:
    if operation == "SUBPATTERN":
        return _parts(argument[-1])
    if operation in {"MAX_REPEAT", "MIN_REPEAT"} and argument[0] >= 1:
        return _parts(argument[2])
    if operation == "BRANCH":
        best = [max(_parts(branch), key=_rarity, default=frozenset[str]()) for branch in argument[1]]
        return [frozenset[str]().union(*best)] if all(best) else []
    return []


def _rarity(literals: frozenset[str]) -> int:
    return min((len(literal.strip()) for literal in literals), default=0)
