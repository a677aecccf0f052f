"""Documents that are nearly valid: a valid one with something dropped, added or replaced at one place."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, cast

from tests.contract.documents import Document

Path = tuple[str | int, ...]
DROPPED: Any = object()

UUID = "0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b"
OTHER_TYPES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    1.5,
    -1,
    21,
    101,
    2**70,
    [],
    [None],
    [[]],
    {},
    {"a": 1},
]
TEXTS = [
    *("", " ", "\n", "\u00a0\u2003", "\x1c", "\u200b", "\x00", "a\x00b", "\ud800", "a\udc00"),
    *("1", "1.0", "true", "null", "None", "a\n", "ä", "A b", "_a", "a/b", "a@b"),
    *("x" * 100, "x" * 101, "x" * 200, "x" * 201, "x" * 500, "x" * 501, "x" * 20_000, "x" * 20_001),
    *("😀" * 500, "😀" * 501, "😀" * 20_000, "😀" * 20_001),
]
UUIDS = [
    *(UUID, UUID.upper(), f"{{{UUID}}}", f"urn:uuid:{UUID}", UUID.replace("-", ""), f"{UUID}\n", f" {UUID}"),
    *("0190b1c23d4e-7f50-8a9b-0c1d2e3f4a5b", UUID.replace("0", "g"), UUID.replace("1", "\u0661")),
]
TIMES = [
    *("2026-11-18T09:30:00Z", "2026-11-18T09:30:00+01:00", "2024-02-29T09:30:00.5-15:59"),
    *("2026-11-18T09:30:00", "2026-11-18 09:30:00Z", "2026-11-18T09:30Z", "2026-11-18", "20261118T093000Z"),
    *("2026-11-18T24:00:00Z", "2026-02-30T09:30:00Z", "2023-02-29T09:30:00Z", "2026-13-01T09:30:00Z"),
    *("2026-11-18T09:30:60Z", "2026-11-18T09:30:00z", "2026-11-18T09:30:00+0100", "2026-11-18T09:30:00Z\n"),
    *("2026-11-18T09:30:00.1234567Z", "2026-11-18T09:30:00,5Z", "2026-W47-3T09:30:00Z"),
    *("2026-11-18T09:30:00+16:00", "2026-11-18T09:30:00+23:59", "2026-11-18T09:30:00+24:00"),
    *("0000-01-01T00:00:00Z", "0001-01-01T00:00:00+15:00", "9999-12-31T23:59:59-15:00", "1763458200"),
    *("1899-12-31T23:59:59Z", "3000-01-01T00:00:00Z", "2026-11-18T09:30:0\u0660Z"),
    *(1763458200, 1763458200.5),
]
LOCALES = [
    *("en", "EN", "en-US", "i-klingon", "i-default", "zh-cmn-Hans", "en-x-" + "-".join("abcdefghijklm")),
    *("en_US", "unknown", "und", "und-US", "mul", "zxx", "qaa", "qtz", "xx", "english", "x-private"),
    *("en US", "en-", "en-u-", "en\n", " en", "ｅｎ", "en-x-" + "-".join("abcdefghijklmnopqrs")),
]
URLS = [
    *("https://api.openai.com/v1", "http://[::1]:8", "https://" + "a" * 490, "https://" + "a" * 491),
    *("https://", "ftp://a", "HTTPS://a", "https://me:secret@host", "https://a b", "https://a\n"),
    *("https://a\x1cb", "https://a\x85b", "https://a\ufeffb", "https://ä"),
]
WORDS = [
    *(
        "weekly_feedback",
        "weekly_harmony",
        "WEEKLY_HARMONY",
        "noise",
        "other",
        "none",
        "pass",
        "warn",
        "fail",
    ),
    *("peer", "low", "soft", "gentle", "batch", "same_language", "cross_language"),
]
LISTS = [
    *(["none"], ["none", "none"], ["none", "ambiguous_intent"], ["noise", "noise"], ["noise"] * 4),
    *(["noise", 1], ["blame"], ["slur", "slur"], ["a"], ["a", ""], ["a\n"], {"none": 1}),
]
JUNK: list[Any] = [*OTHER_TYPES, *TEXTS, *UUIDS, *TIMES, *LOCALES, *URLS, *WORDS, *LISTS]
KEYS = ["unknown", "", "provider", "model", "prompt", "Surface", "surface ", "a\x00", "\ud800", "__class__"]


def places(value: object, path: Path = ()) -> Iterator[Path]:
    """Where something can be replaced, the whole document included."""
    yield path
    if isinstance(value, dict):
        for key, inner in cast("Document", value).items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from places(inner, (*path, index))


def at(document: Any, path: Path) -> Any:
    for part in path:
        document = document[part]
    return document


def put(document: Document, path: Path, value: Any) -> Any:
    """A copy with another value at one place, or with none."""
    if not path:
        return value
    changed = deepcopy(document)
    holder = at(changed, path[:-1])
    if value is DROPPED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return changed


def near(value: Any) -> list[Any]:
    """Near misses of one value: another type that reads the same, another case, something around it."""
    if isinstance(value, str):
        return [value.upper(), value.title(), f" {value}", f"{value}\n", f"{value}\x00", value[:-1], [value]]
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [items * 2, items * 5, [*items, None], [*items, "?"], dict.fromkeys(map(str, items), 1)]
    if isinstance(value, dict):
        fields = cast("Document", value)
        return [*({**fields, key: 1} for key in KEYS), list(fields), [fields], json.dumps(fields)]
    return [] if value is None else [[value], str(value), int(value), float(value), not value]


def replacements(document: Document, path: Path) -> list[Any]:
    """What to put at one place, to see whether it is refused."""
    values = [*JUNK, *near(at(document, path))]
    return [*values, DROPPED] if path else values
