"""What collect shows a person: a progress line while it works, tables at the end."""

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from rich.console import Console, Group, RenderableType
from rich.status import Status

from rewrite_batch.collect.result import CollectResult
from rewrite_batch.collect.run import Progress
from rewrite_batch.output import table

STEPS = ("polled", "bytes", "items")
UNITS = ("completed", "failed", "retried", "returned", "dropped")


@contextmanager
def collect_progress() -> Generator[Progress]:
    """Nothing unless a person is looking at stderr."""
    if not sys.stderr.isatty():
        yield lambda _step, _count: None
        return
    seen: Counter[str] = Counter()
    one_at_a_time = Lock()  # bytes come from several threads
    with Status("looking at what earlier runs left", console=Console(stderr=True)) as line:

        def note(step: str, count: int) -> None:
            with one_at_a_time:
                seen[step] += count
                line.update("  ".join(f"{step} {seen[step]:,}" for step in STEPS))

        yield note


def collect_summary(result: CollectResult) -> RenderableType:
    if result.is_idle:
        return "no batch is open"
    rows = [
        [
            b["batch_id"],
            b["model"],
            b["status"],
            f"{b['items']:,}",
            f"{b['bytes']:,}",
            *(f"{b[what]:,}" for what in UNITS),
        ]
        for b in result.batches
    ]
    columns = ["batch", "model", "ended", "items", "bytes", *UNITS]
    parts: list[RenderableType] = [table("Batches", columns, rows, numbers_from=3)] if rows else []
    facts = {
        "batches polled": result.polled,
        "batches settled": result.settled,
        "completed": result.completed,
        **_by_reason("failed", result.failed),
        **_by_reason("tried again", result.retried),
        **_by_reason("returned", result.returned),
        **_by_reason("dropped", result.dropped),
        **_by_reason("batches waiting", result.waiting),
        **_by_reason("batches put off", result.put_off),
        "units busy": result.busy,
        "applied before": result.already_applied,
        "files deleted": result.files_deleted,
        "files left": result.files_left,
        **{f"reconciled: {what}": count for what, count in vars(result.reconciled).items()},
    }
    shown = [[name, f"{count:,}"] for name, count in facts.items() if count]
    return Group(*parts, table(f"Run {result.run_id}", ["what", "count"], shown))


def _by_reason(what: str, counts: "Counter[str]") -> dict[str, int]:
    return {f"{what}: {reason}": count for reason, count in sorted(counts.items())}
