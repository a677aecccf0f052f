"""Group: units come in one at a time, in claim order; each leaves with a place in a batch, or with why it has none.

Pure: the packer numbers its batches from 0 and knows only sizes, so the same units in the same order give the same
batches. A batch takes units until one does not fit; then it is closed for good and the next one opens. With several
open at once, none waits for the end of the run: when as many lines are open as one batch may hold, each batch that has
WORTH_SENDING of them is closed as it grows, and the provider starts on it while the rest is rendered.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Literal
from uuid import UUID

from rewrite_batch.contracts.locale import normalise_locale
from rewrite_batch.contracts.shapes import RewriteRequestV1, RoutingDecisionV1

Grouping = Literal["by_group", "packed"]
WORTH_SENDING = 1_000
_SEPARATOR = "|"


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """The contract's eight parts. Made by `batch_group_key` alone."""

    provider: str
    model: str
    prompt_version: str
    policy_version: str
    execution_mode: str
    lane: str
    source_locale: str
    target_locale: str

    def __post_init__(self) -> None:
        # The contracts' patterns hold no separator; a key that did would read as another.
        if self.text.count(_SEPARATOR) != 7:
            raise ValueError("a part of a group key must not hold the separator")

    @property
    def text(self) -> str:
        return _SEPARATOR.join(_eight_parts(self))


_eight_parts = attrgetter(*GroupKey.__slots__)
_one_object_a_key = lru_cache(maxsize=4096)(GroupKey)  # thousands of units share a key


def batch_group_key(routing: RoutingDecisionV1, request: RewriteRequestV1) -> GroupKey:
    return _one_object_a_key(
        provider=routing.provider,
        model=routing.model,
        prompt_version=routing.prompt_version,
        policy_version=routing.policy_version,
        execution_mode=routing.execution_mode,
        lane=request.lane,
        source_locale=normalise_locale(request.source_locale),
        target_locale=normalise_locale(request.target_locale),
    )


@dataclass(slots=True)
class Unit:
    job_id: UUID
    rewrite_request_id: UUID
    recipient_user_id: UUID
    attempt: int
    key: GroupKey
    line_bytes: int
    input_chars: int
    input_tokens: int
    output_tokens: int
    # Where the batch goes; None is the provider's own address. Not part of the key, but a file goes to one place.
    base_url: str | None = None


def _unlimited() -> dict[str, int]:
    return {}


def _unpriced(_model: str, _input_tokens: int, _output_tokens: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Limits:
    max_lines: int = 50_000
    max_bytes: int = 190_000_000
    max_line_bytes: int = 1_000_000
    # Prompt tokens still free, by model; a model that is not named has no limit.
    token_limits: Mapping[str, int] = field(default_factory=_unlimited)
    # Money still free, and what a unit will cost; None is no cap, and no known price.
    free_usd: Decimal | None = None
    price: Callable[[str, int, int], Decimal | None] = _unpriced


@dataclass(slots=True)
class Slot:
    """A place. `closed` lists the batches that this placing finished: the one it did not fit, its own when full."""

    batch: int
    index: int
    closed: tuple[int, ...] = ()

    @property
    def full(self) -> bool:
        return self.batch in self.closed


@dataclass(frozen=True, slots=True)
class Refused:
    """`line_too_large` is for good; after the others the unit goes back to the queue unharmed."""

    reason: Literal["line_too_large", "token_limit", "budget", "unpriced_model"]


@dataclass(slots=True)
class _Open:
    number: int
    lines: int = 0
    bytes: int = 0
    longest: int = 0

    def takes(self, line_bytes: int, limits: Limits) -> bool:
        return self.lines < limits.max_lines and self.bytes + line_bytes <= limits.max_bytes

    def add(self, line_bytes: int) -> int:
        self.lines += 1
        self.bytes += line_bytes
        self.longest = max(self.longest, line_bytes)
        return self.lines - 1


class Packer:
    def __init__(self, limits: Limits, grouping: Grouping) -> None:
        self._limits = limits
        self._grouping: Grouping = grouping
        self._open: dict[tuple[object, ...], _Open] = {}
        self._next_number = 0
        self._lines = 0  # in all open batches
        self._tokens: Counter[str] = Counter()
        self._usd = Decimal(0)

    def place(self, unit: Unit) -> Slot | Refused:
        refused = self._refusal(unit)
        if refused:
            return refused
        self._tokens[unit.key.model] += unit.input_tokens
        where, closed = self._where(unit), list[int]()
        batch = self._open.get(where)
        if batch is None or not batch.takes(unit.line_bytes, self._limits):
            closed += [self._close(where)] if batch else []
            batch = self._open[where] = self._new()
        index = batch.add(unit.line_bytes)
        self._lines += 1
        if self._is_done(batch):
            closed.append(self._close(where))
        return Slot(batch.number, index, tuple(closed))

    def _is_done(self, batch: _Open) -> bool:
        """Full (one more line like its longest would not fit), or worth sending while others fill."""
        if not batch.takes(batch.longest, self._limits):
            return True
        return self._lines >= self._limits.max_lines and batch.lines >= WORTH_SENDING

    def _close(self, where: tuple[object, ...]) -> int:
        batch = self._open.pop(where)
        self._lines -= batch.lines
        return batch.number

    def close_all(self) -> list[int]:
        """The batches that are still open, oldest first; the packer can go on with new ones."""
        return sorted(self._close(where) for where in list(self._open))

    def _refusal(self, unit: Unit) -> Refused | None:
        if unit.line_bytes > min(self._limits.max_line_bytes, self._limits.max_bytes):
            return Refused("line_too_large")
        free = self._limits.token_limits.get(unit.key.model)
        if free is not None and self._tokens[unit.key.model] + unit.input_tokens > free:
            return Refused("token_limit")
        if self._limits.free_usd is None:
            return None
        usd = self._limits.price(unit.key.model, unit.input_tokens, unit.output_tokens)
        if usd is None:
            return Refused("unpriced_model")
        if self._usd + usd > self._limits.free_usd:
            return Refused("budget")
        self._usd += usd  # nothing below refuses it any more
        return None

    def _where(self, unit: Unit) -> tuple[object, ...]:
        """Units with the same answer share a file: always one model and one address."""
        if self._grouping == "packed":
            return (unit.key.provider, unit.key.model, unit.base_url)
        return (unit.key, unit.base_url)

    def _new(self) -> _Open:
        batch = _Open(self._next_number)
        self._next_number += 1
        return batch
