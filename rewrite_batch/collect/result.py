"""What a collect did, as counts and codes."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

import psycopg

from rewrite_batch.collect.batch import Held
from rewrite_batch.collect.write import Written
from rewrite_batch.db import explain
from rewrite_batch.errors import InvariantBroken, RewriteBatchError
from rewrite_batch.reconcile.run import Reconciled


@dataclass
class CollectResult:
    """`waiting` are batches that are not over; `put_off`, batches that a later run must look at again."""

    run_id: UUID
    polled: int = 0
    settled: int = 0
    completed: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    retried: Counter[str] = field(default_factory=Counter[str])
    returned: Counter[str] = field(default_factory=Counter[str])
    dropped: Counter[str] = field(default_factory=Counter[str])
    waiting: Counter[str] = field(default_factory=Counter[str])
    put_off: Counter[str] = field(default_factory=Counter[str])
    busy: int = 0
    files_deleted: int = 0
    files_left: int = 0
    broken: int = 0
    already_applied: int = 0  # replay: lines of items that were decided before
    reconciled: Reconciled = field(default_factory=Reconciled)
    batches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seconds: Counter[str] = field(default_factory=Counter[str])
    stopped: bool = False

    @property
    def is_idle(self) -> bool:
        did = self.polled + self.files_deleted + self.files_left + self.already_applied
        return not did and self.reconciled == Reconciled()

    @property
    def exit_code(self) -> int:
        """75 when a later run must look again; a batch that is not over yet is normal, and 0."""
        if self.broken or self.reconciled.broken:
            return 70
        return 75 if self.put_off or self.reconciled.unreadable else 0

    def add(self, held: Held, status: str, written: Written, *, closed: bool, size: int) -> None:
        by = {what: Counter[str]() for what in ("completed", "failed", "retried", "returned", "dropped")}
        for (what, reason), count in written.became.items():
            by[what][reason] += count
        self.completed += by["completed"].total()
        self.failed += by["failed"]
        self.retried += by["retried"]
        self.returned += by["returned"]
        self.dropped += by["dropped"]
        self.busy += written.busy
        self.settled += closed
        self.batches.append(
            {
                "batch_id": str(held.batch_id),
                "model": held.model,
                "status": status,
                "settled": closed,
                "items": held.item_count,
                "bytes": size,
                **{what: counts.total() for what, counts in by.items()},
            }
        )

    def counts(self) -> dict[str, Any]:
        return {
            "polled": self.polled,
            "settled": self.settled,
            "completed": self.completed,
            "failed": dict(self.failed),
            "retried": dict(self.retried),
            "returned": dict(self.returned),
            "dropped": dict(self.dropped),
            "waiting": dict(self.waiting),
            "put_off": dict(self.put_off),
            "busy": self.busy,
            "files_deleted": self.files_deleted,
            "files_left": self.files_left,
            "broken": self.broken,
            "already_applied": self.already_applied,
            "reconciled": asdict(self.reconciled),
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "run_id": str(self.run_id),
            **self.counts(),
            "batches": self.batches,
            "seconds": {step: round(value, 3) for step, value in self.seconds.items()},
            "stopped": self.stopped,
        }


def exit_code_of(error: BaseException) -> int:
    if isinstance(error, psycopg.Error):
        return explain(error).exit_code
    if isinstance(error, RewriteBatchError):
        return error.exit_code
    return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else InvariantBroken.exit_code
