"""Apply: a batch that is over, with its matched lines, comes in; chunk after chunk is parsed, checked and written.

While one stretch is written, a thread reads and checks the next one on a connection of its own. Checks are cheap by the
thousand, so a stretch is many chunks; a chunk is one transaction. What another run decided, or an earlier try of this
one, is not read again.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC
from uuid import UUID

from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.batch import Absent, Held
from rewrite_batch.collect.decide import Item, Pricing, StageRow, decide
from rewrite_batch.collect.match import Matched
from rewrite_batch.collect.parse import Row, parse
from rewrite_batch.collect.write import MAX_CHUNK, Written, write
from rewrite_batch.db import Connection
from rewrite_batch.evaluate.packs import Lexicon
from rewrite_batch.prices import PriceBook
from rewrite_batch.queries import query

STRETCH = 10 * MAX_CHUNK


@dataclass(frozen=True)
class Applier:
    connection: Connection
    reader: Connection
    run_id: UUID
    lease_s: float
    prices: PriceBook
    backoff: Backoff
    lexicon: Lexicon | None  # None: the packs that are shipped, read when there is something to check
    stop: Callable[[], bool]
    progress: Callable[[str, int], None]

    def apply(self, held: Held, matched: Matched, absent: Absent | None) -> Written:
        """`absent` None: items without a line are left alone (a replay judges only what it has)."""
        total = Written()
        for first, rows in self.decided(held, matched, absent):
            done = write(self.connection, held, first, rows, run_id=self.run_id, lease_s=self.lease_s)
            total.became += done.became
            total.busy += done.busy
            self.progress("items", len(rows) - done.busy)
        return total

    def decided(self, held: Held, matched: Matched, absent: Absent | None) -> Iterator[tuple[int, list[StageRow]]]:
        """The decided rows of each chunk, the next one under way while the caller works on this one."""
        pricing = Pricing(self.prices, held.submitted_at.astimezone(UTC).date(), held.model)
        with ThreadPoolExecutor(1) as pool:
            firsts = range(0, held.item_count, STRETCH)
            coming = pool.submit(self._stretch, held, firsts[0], matched, absent, pricing)
            for position, first in enumerate(firsts):
                rows = coming.result()
                if position + 1 < len(firsts):
                    coming = pool.submit(self._stretch, held, firsts[position + 1], matched, absent, pricing)
                for chunk in _chunks(first, rows):
                    if self.stop():
                        return
                    yield chunk

    def _stretch(
        self, held: Held, first: int, matched: Matched, absent: Absent | None, pricing: Pricing
    ) -> list[StageRow]:
        names = {"batch_id": held.batch_id, "first": first, "count": STRETCH}
        found = [Item(*row) for row in self.reader.execute(query("collect/load_items"), names).fetchall()]
        items: list[Item] = []
        rows: list[Row] = []
        for item in found:
            row = line_of(item.place, matched, absent)
            if row is not None:
                items.append(item)
                rows.append(row)
        if not items:
            return []
        return decide(items, rows, pricing=pricing, backoff=self.backoff, lexicon=self.lexicon)


def _chunks(first: int, rows: list[StageRow]) -> Iterator[tuple[int, list[StageRow]]]:
    """By the item's index, which is a row's first value: a chunk is a range of items, however many have a row."""
    for begin in range(first, first + STRETCH, MAX_CHUNK):
        chunk = [row for row in rows if begin <= row[0] < begin + MAX_CHUNK]
        if chunk:
            yield begin, chunk


def line_of(index: int, matched: Matched, absent: Absent | None) -> Row | None:
    """What the files say of an item. Of two lines that differ neither is believed, but the first is on the bill."""
    place = matched.places.get(index)
    if place is not None:
        return parse(place.read())
    torn = matched.torn.get(index)
    if torn is not None:
        row = parse(torn.read())
        row.reason = "duplicate"
        return row
    return Row(absent.of(index)) if absent is not None else None
