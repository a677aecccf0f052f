"""Apply: a batch that is over, with its matched lines, comes in; chunk after chunk is parsed, checked and written.

While one stretch is written, a thread reads and checks the next one on a connection of its own. Checks are cheap by the
thousand, so a stretch is several chunks; a chunk is one transaction. No more than two stretches are in memory. What
another run decided, or an earlier try of this one, is not read again.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC
from threading import Lock
from uuid import UUID

from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.batch import Absent, Held
from rewrite_batch.collect.decide import Item, Pricing, StageRow, decide
from rewrite_batch.collect.match import Matched
from rewrite_batch.collect.parse import Row, parse
from rewrite_batch.collect.write import MAX_CHUNK, Written, write
from rewrite_batch.db import Connection
from rewrite_batch.evaluate.packs import Lexicon
from rewrite_batch.evaluate.run import prepare
from rewrite_batch.prices import PriceBook
from rewrite_batch.queries import query

STRETCH = 3 * MAX_CHUNK


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
    checker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "check"))
    asked: Lock = field(default_factory=Lock)  # taken once, by the first who asks to get ready

    def get_ready(self, held: Held) -> None:
        """The packs and the language model take seconds to read: that can be done while results are on their way."""
        if self.asked.acquire(blocking=False):
            self.checker.submit(self._get_ready, held)

    def _get_ready(self, held: Held) -> None:
        pairs = self.reader.execute(query("collect/language_pairs"), {"batch_id": held.batch_id}).fetchall()
        prepare([(source, target) for source, target in pairs], self.lexicon, self.stop)

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
        """The decided rows of each chunk, the next stretch under way while the caller works on this one."""
        pricing = Pricing(self.prices, held.submitted_at.astimezone(UTC).date(), held.model)

        def begin(stretch: range) -> Future[list[StageRow]]:
            return self.checker.submit(self._stretch, held, stretch, matched, absent, pricing)

        stretches = stretches_of(held.item_count)
        coming = begin(stretches[0])
        try:
            for stretch, following in zip(stretches, [*stretches[1:], None], strict=True):
                rows = coming.result()
                if following is not None:
                    coming = begin(following)
                for chunk in _chunks(stretch, rows):
                    if self.stop():
                        return
                    yield chunk
        finally:
            _let_go(coming)

    def _stretch(
        self, held: Held, stretch: range, matched: Matched, absent: Absent | None, pricing: Pricing
    ) -> list[StageRow]:
        names = {"batch_id": held.batch_id, "first": stretch.start, "count": len(stretch)}
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


def stretches_of(item_count: int) -> list[range]:
    """The first is one chunk, so that writing begins soon; each next one is twice as long, up to STRETCH."""
    stretches: list[range] = []
    first, count = 0, min(MAX_CHUNK, STRETCH)
    while first < item_count:
        stretches.append(range(first, first + count))
        first, count = first + count, min(2 * count, STRETCH)
    return stretches


def _let_go(coming: Future[list[StageRow]]) -> None:
    """The files and the connection that a stretch reads are its caller's: nobody reads them after the caller left."""
    if not coming.cancel():
        wait([coming])


def _chunks(stretch: range, rows: list[StageRow]) -> Iterator[tuple[int, list[StageRow]]]:
    """By the item's index, which is a row's first value: a chunk is a range of items, however many have a row."""
    for begin in stretch[::MAX_CHUNK]:
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
