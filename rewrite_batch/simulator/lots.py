"""Chance without chance: ids and draws follow from a seed and a place, so a repeat gives the same bytes."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

_ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

T = TypeVar("T")


def digest(*parts: object) -> bytes:
    joined = "\x1f".join(str(part) for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def fraction(lot: bytes, place: int) -> float:
    """A number in [0, 1) from four bytes of a digest."""
    return int.from_bytes(lot[place : place + 4]) / 2**32


def chance(*parts: object) -> float:
    return fraction(digest(*parts), 0)


def pick(items: Sequence[T], lot: bytes, place: int) -> T:
    return items[int(fraction(lot, place) * len(items))]


def identifier(prefix: str, *parts: object) -> str:
    """An id such as `file-4hQ…`: 24 characters after the prefix, spelled like the provider's."""
    number = int.from_bytes(digest(*parts))
    letters: list[str] = []
    for _ in range(24):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return prefix + "".join(letters)
