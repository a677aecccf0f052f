"""Match: a result file comes in; which of its lines belongs to which item of this batch goes out. Nothing is guessed.

One pass over the bytes, split on newline alone, one line in memory at a time; what stays is a position an item. A line
that cannot be read, or that names no item of this batch, is refused with its number and reason, never an exception.
The same line twice counts once. Two different lines for one item: neither is believed.
"""

import json
import os
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

import msgspec

from rewrite_batch.collect.batch import Alert
from rewrite_batch.ids import parse_custom_id

MAX_LINE = 8_000_000  # the longest answer, escaped twice, and all that comes with it, is far below
REFUSALS_KEPT = 20
_BOM = b"\xef\xbb\xbf"
_ID_KEY = b'"custom_id"'


class Place(NamedTuple):
    """Where a line is: which file, from which byte, how long, and its number for people."""

    descriptor: int
    offset: int
    length: int
    number: int

    def read(self) -> bytes:
        return os.pread(self.descriptor, self.length, self.offset)


class Places(MutableMapping[int, Place]):
    """Places by item, as plain numbers: as objects, those of the few batches that wait to be applied took 60 MB."""

    def __init__(self, items: int) -> None:
        self._numbers = array("q", bytes(8 * items * len(Place._fields)))
        self._items = range(items)

    def __getitem__(self, index: int) -> Place:
        place = Place(*self._numbers[self._slot(index)])
        if not place.number:
            raise KeyError(index)
        return place

    def __setitem__(self, index: int, place: Place) -> None:
        self._numbers[self._slot(index)] = array("q", place)

    def __delitem__(self, index: int) -> None:
        self[index] = Place(0, 0, 0, 0)

    def __iter__(self) -> Iterator[int]:
        return (index for index in self._items if index in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _slot(self, index: int) -> slice:
        if index not in self._items:
            raise KeyError(index)
        return slice(index * len(Place._fields), (index + 1) * len(Place._fields))


class Refusal(NamedTuple):
    kind: str  # of the file
    number: int  # of the line in its file, from 1, blank ones and all
    reason: str

    @property
    def code(self) -> str:
        return f"{self.kind}_line_{self.number}"


@dataclass
class Matched:
    """kept + refused + repeated = lines. An item of `places` has one line; one of `torn` has several that differ."""

    places: Places
    lines: int = 0
    torn: dict[int, Place] = field(default_factory=dict[int, Place])
    repeated: int = 0
    unreadable: Counter[str] = field(default_factory=Counter[str])
    unknown: int = 0
    refusals: list[Refusal] = field(default_factory=list[Refusal])

    @property
    def refused(self) -> int:
        return self.unreadable.total() + self.unknown

    def refuse(self, kind: str, number: int, reason: str) -> None:
        if reason == "unknown_item":
            self.unknown += 1
        else:
            self.unreadable[reason] += 1
        if len(self.refusals) < REFUSALS_KEPT:
            self.refusals.append(Refusal(kind, number, reason))


def told_of(matched: Matched) -> list[Alert]:
    """What a person must see of lines that fit nowhere: their numbers, no content."""
    unreadable = [refusal.code for refusal in matched.refusals if refusal.reason != "unknown_item"]
    unknown = [refusal.code for refusal in matched.refusals if refusal.reason == "unknown_item"]
    found: list[Alert] = []
    if matched.unreadable:
        found.append(Alert("unreadable_lines", (*sorted(matched.unreadable), *unreadable)))
    if matched.unknown:
        found.append(Alert("unknown_items", tuple(unknown)))
    if matched.torn:
        found.append(Alert("duplicate_items", tuple(f"item_{i}" for i in sorted(matched.torn)[:20])))
    return found


class _Head(msgspec.Struct):
    custom_id: str


_decode_head = msgspec.json.Decoder(_Head).decode


def match(files: Mapping[str, int], batch_id: UUID, item_count: int) -> Matched:
    """Over all result files of one batch, by kind: an item may be named in each of them."""
    matched = Matched(Places(item_count))
    for kind, descriptor in files.items():
        for number, offset, length, line in _lines(descriptor):
            matched.lines += 1
            index = _item(line, batch_id, item_count)
            if isinstance(index, str):
                matched.refuse(kind, number, index)
            else:
                _place(matched, index, Place(descriptor, offset, length, number))
    return matched


def _place(matched: Matched, index: int, place: Place) -> None:
    known = matched.places.get(index) or matched.torn.get(index)
    if known is None:
        matched.places[index] = place
        return
    matched.repeated += 1
    if known.read().rstrip() != place.read().rstrip():
        matched.places.pop(index, None)
        matched.torn[index] = known


def _lines(descriptor: int) -> Iterator[tuple[int, int, int, bytes | None]]:
    """Number, offset, length and bytes of each line that is not blank; None instead of the bytes of one that is too
    long."""
    with os.fdopen(os.dup(descriptor), "rb", buffering=1 << 20) as source:
        source.seek(0)
        offset = number = 0
        while line := source.readline(MAX_LINE + 1):
            number += 1
            length = len(line)
            too_long = length > MAX_LINE
            while too_long and not line.endswith(b"\n") and (line := source.readline(MAX_LINE + 1)):
                length += len(line)
            if too_long or not line.isspace():
                yield number, offset, length, None if too_long else line
            offset += length


def _item(line: bytes | None, batch_id: UUID, item_count: int) -> int | str:
    """The index of the item that a line names, or the reason why it is refused."""
    if line is None:
        return "too_long"
    try:
        name = _decode_head(line).custom_id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        name, reason = _name_slowly(line)
        if name is None:
            return reason
    else:
        if line.count(_ID_KEY) > 1 and _name_slowly(line)[0] is None:
            return "two_names"
    found = parse_custom_id(name)
    if found is None or found[0] != batch_id or found[1] >= item_count:
        return "unknown_item"
    return found[1]


def _name_slowly(line: bytes) -> tuple[str | None, str]:
    """For lines that the fast decoder refuses: a half surrogate pair in the answer need not lose the item's name."""
    if line.startswith(_BOM):
        return None, "bom"
    if b"\x00" in line:
        return None, "nul"
    try:
        document = json.loads(line.decode("utf-8"), object_pairs_hook=_Pairs)
    except UnicodeDecodeError:
        return None, "bad_utf8"
    except RecursionError:
        return None, "too_deep"
    except ValueError:
        return None, "not_json"
    if not isinstance(document, _Pairs):
        return None, "not_an_object"
    names = [value for key, value in document if key == "custom_id"]
    if len(names) > 1:
        return None, "two_names"
    return (names[0], "") if names and isinstance(names[0], str) else (None, "no_name")


class _Pairs(list[tuple[str, object]]):
    """An object as it was written, repeated keys and all."""
