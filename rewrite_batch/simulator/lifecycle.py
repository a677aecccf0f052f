"""A batch's life as a function of virtual time: validating, in_progress, finalizing, and how it ends.

`settle` applies every transition that is due, oldest first, whenever anybody asks anything. The transitions
of all batches are in one line, so what is enqueued when a batch is validated is exact.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from rewrite_batch.simulator.books import FINAL, dumped, find_batch, find_file, progress, update_batch
from rewrite_batch.simulator.clock import Clock
from rewrite_batch.simulator.ending import Ending, Finisher
from rewrite_batch.simulator.faults import Faults
from rewrite_batch.simulator.jsontext import Json
from rewrite_batch.simulator.phrases import Phrases
from rewrite_batch.simulator.settings import Settings
from rewrite_batch.simulator.store import Row, Store
from rewrite_batch.simulator.validate import Validation, problem, validate_file


@dataclass(frozen=True)
class Lifecycle:
    store: Store
    clock: Clock
    faults: Faults
    phrases: Phrases
    settings: Callable[[], Settings]
    finisher: Finisher
    lock: asyncio.Lock

    async def settle(self) -> None:
        """Bring every batch and file to this moment."""
        async with self.lock:
            now = self.clock.now()
            due = "SELECT * FROM batches WHERE next_at <= ? ORDER BY next_at, seq LIMIT 1"
            while row := self.store.row(due, now):
                await self._step(row)
            for file in self.store.rows("SELECT file_id FROM files WHERE gone IS NULL AND expires_at <= ?", now):
                self.finisher.remove_file(file["file_id"], "expired", now)

    async def force(
        self, provider_batch_id: str, status: str, *, share: float | None, errors: list[Json] | None
    ) -> None:
        """End a batch now, on the provider's own initiative."""
        await self.settle()
        async with self.lock:
            at = self.clock.now()
            nothing_ran = status == "failed" and share is None
            row = await self._running(provider_batch_id, at, validated=not nothing_ran)
            if nothing_ran:
                self._fail(row, at, errors or [problem("internal_error", "The batch could not be processed.")])
            elif row["status"] not in FINAL and status != "in_progress":
                done = share if share is not None else 1.0 if status == "completed" else progress(row, at)
                await self.finisher.finish(Ending(row, status, at, done, errors))

    async def _running(self, provider_batch_id: str, at: float, *, validated: bool) -> Row:
        row = find_batch(self.store, provider_batch_id)
        if row is None or row["status"] in FINAL:
            raise ValueError("there is no such batch, or it has ended")
        if row["status"] == "validating" and validated:
            await self._validate(row, at)
        return find_batch(self.store, provider_batch_id) or row

    async def _step(self, row: Row) -> None:
        at = float(row["next_at"])
        if row["status"] == "validating":
            await self._validate(row, at)
        elif row["status"] == "in_progress" and at >= row["expires_at"]:
            await self.finisher.finish(Ending(row, "expired", at, progress(row, at)))
        elif row["status"] == "in_progress":
            later = at + self.settings().finalizing_s
            self._update(row, status="finalizing", finalizing_at=at, share=1.0, next_at=later)
        elif row["status"] == "finalizing":
            await self.finisher.finish(Ending(row, "completed", at, 1.0))
        else:
            await self.finisher.finish(Ending(row, "cancelled", at, progress(row, at)))

    async def _validate(self, row: Row, at: float) -> None:
        settings = self.settings()
        known = find_file(self.store, row["input_file_id"])
        usable = known is not None and known["gone"] is None and known["purpose"] == "batch"
        path = self.store.body(row["input_file_id"]) if usable else None
        found = await asyncio.to_thread(validate_file, path, row["endpoint"], settings)
        errors = found.errors or self._over_token_limit(found, settings)
        if errors:
            self._fail(row, at, errors, model=found.model)
            return
        self._update(
            row,
            status="in_progress",
            in_progress_at=at,
            progress_s=settings.in_progress_s,
            next_at=min(at + settings.in_progress_s, max(at, row["expires_at"])),
            model=found.model,
            total=found.total,
            prompt_tokens=found.prompt_tokens,
        )

    def _over_token_limit(self, found: Validation, settings: Settings) -> list[Json]:
        limit = settings.token_limit(found.model)
        enqueued = self.store.count(
            "SELECT sum(prompt_tokens) FROM batches"
            " WHERE model IS ? AND status IN ('in_progress', 'finalizing', 'cancelling')",
            found.model,
        )
        if not limit or enqueued + found.prompt_tokens <= limit:
            return []
        message = (
            f"Enqueued token limit reached for {found.model} in organization org-simulated. Limit: {limit:,}"
            " enqueued tokens. Please try again once some in_progress batches have been completed."
        )
        return [problem("token_limit_exceeded", message)]

    def _fail(self, row: Row, at: float, errors: list[Json], model: str | None = None) -> None:
        listed = dumped({"object": "list", "data": errors})
        self._update(row, status="failed", failed_at=at, next_at=None, errors=listed, model=model or row["model"])

    def _update(self, row: Row, **values: object) -> None:
        update_batch(self.store, row["provider_batch_id"], **values)
