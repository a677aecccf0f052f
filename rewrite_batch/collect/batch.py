"""A batch under our lease, and how its ending was read."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

WINDOW_S = 86_400.0
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
# How far along a status is. It never goes back in our records; one that is not here waits, and warns.
RANK = {"validating": 0, "in_progress": 1, "finalizing": 2, "cancelling": 3, **dict.fromkeys(ENDED, 4)}


@dataclass(frozen=True)
class Held:
    """A row of sql/collect/take.sql, in its order."""

    batch_id: UUID
    state: str
    model: str
    provider: str
    base_url: str | None
    provider_batch_id: str
    provider_status: str | None
    item_count: int
    input_file_id: str
    output_file_id: str | None
    error_file_id: str | None
    submitted_at: datetime
    since_submitted_s: float
    since_finished_s: float | None
    since_overdue_s: float | None  # since it was cancelled for being overdue, with an alert


@dataclass(frozen=True)
class Absent:
    """What it means that an item has no line: a reason, but for the items that the provider named as broken."""

    reason: str
    poison: frozenset[int] = frozenset()  # item indexes

    def of(self, index: int) -> str:
        return "poison_line" if index in self.poison else self.reason


@dataclass(frozen=True)
class Quota:
    """The model must pause; `token_limit` is what the provider named, if it did."""

    reason: str
    token_limit: int | None = None


@dataclass(frozen=True)
class Ending:
    """A batch that is over: what is to be downloaded, and what silence means."""

    status: str
    output_file_id: str | None
    error_file_id: str | None
    absent: Absent
    quota: Quota | None = None
    alerts: tuple["Alert", ...] = ()
    counted_lines: int | None = None  # how many lines the provider's own counts promise


@dataclass(frozen=True)
class Alert:
    kind: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waits:
    """Not over yet, or not readable yet; `put_off` is what a later run must look at again (exit code 75)."""

    reason: str
    put_off: bool = False
    cancel: bool = False
    alerts: tuple[Alert, ...] = field(default=())
