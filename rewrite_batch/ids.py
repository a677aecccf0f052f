"""Ids of our own making: UUID version 7, which sort by the time they were made, and the name of a batch's line."""

import os
import re
import time
from uuid import UUID

MAX_INDEX = 99_999
_CUSTOM_ID = re.compile(r"([0-9a-f]{32})-(0|[1-9][0-9]{0,4})")


def new_id() -> UUID:
    """48 bits of milliseconds, then random bits (RFC 9562)."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | (random >> 64 & 0xFFF) << 64
    return UUID(int=value | 0b10 << 62 | random & (1 << 62) - 1)


def custom_id(batch_id: UUID, index: int) -> str:
    if not 0 <= index <= MAX_INDEX:
        raise ValueError(f"an index is from 0 to {MAX_INDEX}")
    return f"{batch_id.hex}-{index}"


def parse_custom_id(text: str) -> tuple[UUID, int] | None:
    """The strict inverse: what `custom_id` would not write is nobody's id."""
    match = _CUSTOM_ID.fullmatch(text)
    return (UUID(match[1]), int(match[2])) if match else None
