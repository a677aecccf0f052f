"""`rewrite-batch enqueue`: read → check → load, in chunks, in flat memory.

Each chunk is one call of the SQL function `enqueue_rewrites`, all or nothing, and idempotent: after a crash or a
SIGTERM the same file is loaded again, and only what is missing goes in. When the database refuses a chunk, it is
halved until the refused item stands alone; its neighbours go in.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import psycopg

from rewrite_batch.db import Connection
from rewrite_batch.enqueue.check import MAX_LINE_BYTES, Checked, Refusal, check_line
from rewrite_batch.queries import query

CHUNK = 500
CHUNK_CHARS = 4_000_000
KEPT_REFUSALS = 1_000
BOM = b"\xef\xbb\xbf"


@dataclass
class EnqueueResult:
    """lines = enqueued + exists + refused, always."""

    lines: int = 0
    enqueued: int = 0
    exists: int = 0
    refused: int = 0
    refusals: list[Refusal] = field(default_factory=list[Refusal])

    def refuse(self, refusal: Refusal) -> None:
        self.refused += 1
        if len(self.refusals) < KEPT_REFUSALS:
            self.refusals.append(refusal)


def enqueue(
    source: BinaryIO,
    connection: Connection | None,
    *,
    on_refusal: Callable[[Refusal], None],
    on_bytes: Callable[[int], None] = lambda _: None,
) -> EnqueueResult:
    """Without a connection the file is only checked; `enqueued` then counts the lines that would go in."""
    result = EnqueueResult()

    def kept() -> Iterator[Checked]:
        for number, line in read_lines(source):
            on_bytes(len(line) + 1)
            if not line.strip():
                continue
            result.lines += 1
            checked = check_line(number, line)
            if isinstance(checked, Checked):
                yield checked
            else:
                refuse(checked)

    def refuse(refusal: Refusal) -> None:
        result.refuse(refusal)
        on_refusal(refusal)

    for chunk in chunks(kept()):
        if connection is None:
            result.enqueued += len(chunk)
            continue
        for outcome in load(connection, chunk):
            if isinstance(outcome, Refusal):
                refuse(outcome)
            elif outcome == "enqueued":
                result.enqueued += 1
            else:
                result.exists += 1
    return result


def chunks(items: Iterable[Checked]) -> Iterator[list[Checked]]:
    """By count and by weight: a call's memory does not depend on how long the lines are."""
    chunk: list[Checked] = []
    size = 0
    for item in items:
        if chunk and (len(chunk) == CHUNK or size + len(item.document) > CHUNK_CHARS):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += len(item.document)
    if chunk:
        yield chunk


def read_lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines end at a newline and nothing else; of a line that is too long, only its start is kept in memory."""
    number = 0
    while line := source.readline(MAX_LINE_BYTES + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(BOM)
        rest = line
        while rest and not rest.endswith(b"\n") and len(rest) > MAX_LINE_BYTES:
            rest = source.readline(MAX_LINE_BYTES + 1)
        yield number, line.rstrip(b"\r\n")


def load(connection: Connection, chunk: list[Checked]) -> Iterable[str | Refusal]:
    """One outcome an item, in order."""
    items = "[" + ",".join(item.document for item in chunk) + "]"
    try:
        rows = connection.execute(query("enqueue/enqueue"), {"items": items}).fetchall()
    except (psycopg.errors.IntegrityError, psycopg.errors.DataError) as error:
        if len(chunk) == 1:
            rule = error.diag.constraint_name or "type"
            return [
                Refusal(
                    chunk[0].line,
                    error.diag.column_name or "item",
                    f"the database refuses it by its rule {rule}",
                )
            ]
    else:
        return [_outcome(item, str(row[2])) for item, row in zip(chunk, rows, strict=True)]
    half = len(chunk) // 2
    return [*load(connection, chunk[:half]), *load(connection, chunk[half:])]


def _outcome(item: Checked, outcome: str) -> str | Refusal:
    if outcome != "differs":
        return outcome
    return Refusal(
        item.line,
        "rewrite_request.rewrite_request_id",
        "is in the queue with other content; nothing was changed: a new message needs a new id",
    )
