"""Backoff: how long a unit waits before its next attempt. The jitter follows from job and attempt: a repeat waits as
long, and the units of one failed batch do not come back all at once."""

import hashlib
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Backoff:
    first_s: float = 300.0
    longest_s: float = 3_600.0
    jitter: float = 0.2

    def seconds(self, job_id: UUID, attempt: int) -> float:
        """After `attempt` trips to the provider."""
        wait = min(self.first_s * 2.0 ** min(attempt - 1, 60), self.longest_s)
        drawn = int.from_bytes(hashlib.sha256(f"{job_id}/{attempt}".encode()).digest()[:8], "big") / (1 << 64)
        return wait * (1 - self.jitter + 2 * self.jitter * drawn)
