"""How a batch ends: a thread writes its result files, then one transaction flips its state and bills lines.

A server killed between the two writes the same files again; the lines are billed once, with the ending.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from rewrite_batch.simulator.books import (
    bill,
    dumped,
    find_file,
    insert_file,
    metadata_batch_id,
    update_batch,
)
from rewrite_batch.simulator.faults import Faults, LineFaults
from rewrite_batch.simulator.jsontext import Json
from rewrite_batch.simulator.lines import LineRunner
from rewrite_batch.simulator.lots import identifier
from rewrite_batch.simulator.phrases import Phrases
from rewrite_batch.simulator.results import Job, Results, write_results
from rewrite_batch.simulator.settings import Settings
from rewrite_batch.simulator.store import Row, Store

_NEVER_RAN = {"expired": "batch_expired", "cancelled": "batch_cancelled", "failed": "batch_failed"}


@dataclass(frozen=True)
class Ending:
    row: Row
    status: str
    at: float
    share: float
    errors: list[Json] | None = None

    @property
    def output_id(self) -> str:
        return identifier("file-", self.row["provider_batch_id"], "output")

    @property
    def error_id(self) -> str:
        return identifier("file-", self.row["provider_batch_id"], "error")


@dataclass(frozen=True)
class Finisher:
    store: Store
    faults: Faults
    phrases: Phrases
    settings: Callable[[], Settings]

    async def finish(self, ending: Ending) -> None:
        row = ending.row
        batch_id = row["provider_batch_id"]
        facts = {"provider_batch_id": batch_id, "metadata_batch_id": metadata_batch_id(row)}
        lines = self.faults.for_lines(facts, self.settings().seed)
        results = Results()
        # A batch that ends before it was validated has no lines.
        if row["in_progress_at"] is not None:
            runner = LineRunner(self.phrases, self.settings(), batch_id)
            results = await asyncio.to_thread(write_results, self._job(ending), runner, lines)
        with self.store.transaction():
            self._commit(ending, results, lines)
        for file_id, count in (
            (ending.output_id, results.output_lines),
            (ending.error_id, results.error_lines),
        ):
            if not count:
                self.store.body(file_id).unlink(missing_ok=True)
        self.forget_body(row["input_file_id"])

    def remove_file(self, file_id: str, how: str, at: float) -> None:
        self.store.run("UPDATE files SET gone = ?, gone_at = ? WHERE file_id = ?", how, at, file_id)
        self.forget_body(file_id)

    def forget_body(self, file_id: str) -> None:
        """Drop the bytes of a file that is gone, unless a running batch still reads them."""
        row = find_file(self.store, file_id)
        needed = self.store.count(
            "SELECT count(*) FROM batches WHERE input_file_id = ? AND next_at IS NOT NULL AND status <> 'validating'",
            file_id,
        )
        if row is not None and row["gone"] and not needed:
            self.store.body(file_id).unlink(missing_ok=True)

    def _job(self, ending: Ending) -> Job:
        row = ending.row
        return Job(
            provider_batch_id=row["provider_batch_id"],
            key_fingerprint=row["key_fingerprint"],
            input_path=self.store.body(row["input_file_id"]),
            output_path=self.store.body(ending.output_id),
            error_path=self.store.body(ending.error_id),
            seed=self.settings().seed,
            model=row["model"] or "",
            share=ending.share,
            never_ran_code=_NEVER_RAN.get(ending.status, "internal_error"),
            began_at=row["in_progress_at"],
            progress_s=row["progress_s"],
            ended_at=ending.at,
        )

    def _commit(self, ending: Ending, results: Results, lines: LineFaults) -> None:
        row, errors = ending.row, ending.errors
        output_id = self._add_result_file(ending, ending.output_id, "output") if results.output_lines else None
        error_id = self._add_result_file(ending, ending.error_id, "error") if results.error_lines else None
        update_batch(
            self.store,
            row["provider_batch_id"],
            status=ending.status,
            next_at=None,
            share=None,
            completed=results.completed,
            failed=results.failed,
            output_file_id=output_id,
            error_file_id=error_id,
            usage=dumped(_usage(results)),
            errors=dumped({"object": "list", "data": errors}) if errors else row["errors"],
            **{f"{ending.status}_at": ending.at},
        )
        bill(self.store, results.ledger)
        self.faults.count_lines(lines)

    def _add_result_file(self, ending: Ending, file_id: str, kind: str) -> str:
        row = ending.row
        insert_file(
            self.store,
            file_id,
            filename=f"{row['provider_batch_id']}_{kind}.jsonl",
            purpose="batch_output",
            size=self.store.body(file_id).stat().st_size,
            created_at=ending.at,
            expires_at=ending.at + (row["output_expires_s"] or self.settings().retention_s),
            key_fingerprint=row["key_fingerprint"],
        )
        return file_id


def _usage(results: Results) -> Json:
    """The batch's own sum, which knows nothing of cache writes."""
    sums = [sum(int(row[column]) for row in results.ledger) for column in (4, 5, 7, 8)]
    return {
        "input_tokens": sums[0],
        "input_tokens_details": {"cached_tokens": sums[1]},
        "output_tokens": sums[2],
        "output_tokens_details": {"reasoning_tokens": sums[3]},
        "total_tokens": sums[0] + sums[2],
    }
