"""What a submit did: counts by outcome and reason, its batches, the seconds of each step."""

import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any
from uuid import UUID

from rewrite_batch.log import get_log
from rewrite_batch.reconcile.run import Reconciled
from rewrite_batch.submit.intent import Planned
from rewrite_batch.submit.send import Sent

# Units wait for these too, but not for room: whoever watches exit codes must see that it goes on.
NOT_SENT = frozenset({"provider_unreachable", "spool_failed"})


@dataclass
class SubmitResult:
    """Written to by the run and, while that renders, by its delivery."""

    run_id: UUID
    claimed: int = 0
    submitted: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    waiting: Counter[str] = field(default_factory=Counter[str])
    undecided: int = 0
    stale_released: int = 0
    poisoned: int = 0
    reconciled: Reconciled = field(default_factory=Reconciled)
    batches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    stopped: bool = False
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def is_idle(self) -> bool:
        return (
            not self.claimed
            and not self.waiting
            and self.reconciled == Reconciled()
            and not self.stale_released + self.poisoned
        )

    @property
    def exit_code(self) -> int:
        """75 when something is undecided, or could not be sent: the next tick looks again. 70: a batch breaks a rule,
        call a person. Waiting for room is normal, and 0."""
        if self.reconciled.broken:
            return 70
        put_off = self.undecided or self.reconciled.unreadable or not NOT_SENT.isdisjoint(self.waiting)
        return 75 if put_off else 0

    def note_wait(self, reason: str, count: int) -> None:
        with self._lock:
            self.waiting[reason] += count
        get_log().info("waiting", reason=reason, count=count)

    @contextmanager
    def timed(self, step: str) -> Generator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - began

    def counts(self) -> dict[str, Any]:
        return {
            "claimed": self.claimed,
            "submitted": self.submitted,
            "failed": dict(self.failed),
            "waiting": dict(self.waiting),
            "undecided": self.undecided,
            "stale_released": self.stale_released,
            "poisoned": self.poisoned,
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


def described(planned: Planned, sent: Sent) -> dict[str, Any]:
    return {
        "batch_id": str(planned.batch_id),
        "provider_batch_id": sent.provider_batch_id,
        "outcome": sent.outcome,
        "reason": sent.reason or None,
        "model": planned.model,
        "items": len(planned.units),
        "bytes": planned.size,
        "estimated_input_tokens": planned.input_tokens,
        "estimated_output_tokens": planned.output_tokens,
        "estimated_usd": None if planned.reserved_usd is None else str(planned.reserved_usd),
    }
