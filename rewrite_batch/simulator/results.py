"""A batch's input file goes in; its output and error files come out, in an order that is not the input's.

Written under temporary names by a thread and renamed at the end, so a crash leaves nothing half done and a
repeat gives the same bytes. Memory holds offsets and ledger rows, never the lines.
"""

import os
import random
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rewrite_batch.simulator.faults import LineFaults
from rewrite_batch.simulator.jsontext import decode, object_of
from rewrite_batch.simulator.lines import LineRunner, Outcome, shaped
from rewrite_batch.simulator.lots import digest


@dataclass(frozen=True)
class Job:
    """What the writing thread needs to know of the batch, and nothing that could change under it."""

    provider_batch_id: str
    key_fingerprint: str
    input_path: Path
    output_path: Path
    error_path: Path
    seed: int
    model: str
    # The share of the lines that is done, and the code of those that never ran.
    share: float
    never_ran_code: str
    began_at: float
    progress_s: float
    ended_at: float


def _no_rows() -> list[tuple[Any, ...]]:
    return []


@dataclass
class Results:
    output_lines: int = 0
    error_lines: int = 0
    completed: int = 0
    failed: int = 0
    ledger: list[tuple[Any, ...]] = field(default_factory=_no_rows)


def done_lines(total: int, share: float) -> int:
    # A hair is added because a share such as 0.7 is not exact.
    return min(total, max(0, int(total * share + 1e-9)))


def write_results(job: Job, runner: LineRunner, faults: LineFaults) -> Results:
    temporary = [path.with_name(path.name + ".tmp") for path in (job.output_path, job.error_path)]
    with (
        job.input_path.open("rb") as source,
        temporary[0].open("wb", buffering=1 << 20) as output,
        temporary[1].open("wb", buffering=1 << 20) as errors,
    ):
        offsets = _line_offsets(source)
        order = _shuffled(len(offsets) - 1, job)
        writer = _Writer(job, runner, faults, output=output, errors=errors, total=len(order))
        for rank, index in enumerate(order):
            raw = os.pread(source.fileno(), offsets[index + 1] - offsets[index], offsets[index])
            writer.write(rank, index, raw)
    temporary[0].replace(job.output_path)
    temporary[1].replace(job.error_path)
    return writer.results


class _Writer:
    def __init__(
        self,
        job: Job,
        runner: LineRunner,
        faults: LineFaults,
        *,
        output: BinaryIO,
        errors: BinaryIO,
        total: int,
    ) -> None:
        self._job, self._runner, self._faults = job, runner, faults
        self._output, self._errors = output, errors
        self._total = total
        self._done = done_lines(total, job.share)
        self.results = Results()

    def write(self, rank: int, index: int, raw: bytes) -> None:
        """The line that is the `rank`-th to run and stood at `index` of the input."""
        line = object_of(decode(raw)) or {}
        custom_id, body = str(line.get("custom_id")), line.get("body")
        content, shape = self._faults.fall_on(index, custom_id)
        at = min(self._job.ended_at, self._job.began_at + (rank + 1) / self._total * self._job.progress_s)
        if rank < self._done:
            outcome = self._runner.run(custom_id, body, at, content)
            if content:
                self._faults.fire(content)
        else:
            outcome = self._runner.never_ran(custom_id, self._job.never_ran_code)
        second = None
        if shape:
            self._faults.fire(shape)
            second = self._runner.run(custom_id, body, at, None, again=True).line
        if outcome.usage:
            self.results.ledger.append(_ledger_row(self._job, custom_id, outcome, at))
        self._put(outcome, shaped(outcome.line, second, shape))

    def _put(self, outcome: Outcome, written: bytes) -> None:
        lines = written.count(b"\n")
        if outcome.is_error:
            self._errors.write(written)
            self.results.error_lines += lines
            self.results.failed += 1
        else:
            self._output.write(written)
            self.results.output_lines += lines
            self.results.completed += 1


def _ledger_row(job: Job, custom_id: str, outcome: Outcome, at: float) -> tuple[Any, ...]:
    usage = outcome.usage
    assert usage is not None
    return (
        job.provider_batch_id,
        custom_id,
        outcome.response_id,
        job.model,
        usage.input_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        at,
        job.key_fingerprint,
        outcome.response_status,
    )


def _line_offsets(source: BinaryIO) -> "array[int]":
    """Where each line begins, and where the last one ends."""
    offsets = array("Q", [0])
    for line in source:
        offsets.append(offsets[-1] + len(line))
    return offsets


def _shuffled(count: int, job: Job) -> list[int]:
    order = list(range(count))
    random.Random(digest(job.seed, job.provider_batch_id)).shuffle(order)  # noqa: S311 - repeatable on purpose
    return order
