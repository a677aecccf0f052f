"""What submit shows a person: a progress line while it works, a table at the end."""

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.status import Status

from rewrite_batch.output import table
from rewrite_batch.submit.deliver import Progress
from rewrite_batch.submit.plan import Plan
from rewrite_batch.submit.result import SubmitResult

STEPS = ("claimed", "rendered", "uploaded", "created")


@contextmanager
def submit_progress() -> Generator[Progress]:
    """Nothing unless a person is looking at stderr."""
    if not sys.stderr.isatty():
        yield lambda _step, _count: None
        return
    seen: Counter[str] = Counter()
    with Status("looking at what earlier runs left", console=Console(stderr=True)) as line:

        def note(step: str, count: int) -> None:
            seen[step] += count
            line.update("  ".join(f"{step} {seen[step]:,}" for step in STEPS))

        yield note


def submit_summary(result: SubmitResult) -> RenderableType:
    if result.is_idle:
        return "nothing is pending"
    batches = [
        [b["batch_id"], b["model"], b["outcome"], f"{b['items']:,}", f"{b['bytes']:,}",
         f"{b['estimated_input_tokens']:,}", _usd(b["estimated_usd"])]
        for b in result.batches
    ]  # fmt: skip
    columns = ["batch", "model", "outcome", "items", "bytes", "input tokens", "USD"]
    parts: list[RenderableType] = [table("Batches", columns, batches, numbers_from=3)] if batches else []
    facts = {
        "claimed": result.claimed,
        "submitted": result.submitted,
        **{f"failed: {reason}": count for reason, count in sorted(result.failed.items())},
        **{f"waiting: {reason}": count for reason, count in sorted(result.waiting.items())},
        "undecided": result.undecided,
        "stale claims released": result.stale_released,
        "failed as poison": result.poisoned,
        **{f"reconciled: {what}": count for what, count in vars(result.reconciled).items()},
    }
    rows = [[name, f"{count:,}"] for name, count in facts.items() if count]
    rows += [[f"waiting: {reason}", "not claimed"] for reason, count in sorted(result.waiting.items()) if not count]
    return Group(*parts, table(f"Run {result.run_id}", ["what", "count"], rows))


def plan_table(plan: Plan) -> RenderableType:
    if not plan.jobs and not plan.waiting:
        return "nothing is pending"
    rows = [
        [_group(g.group), str(g.batches), f"{g.items:,}", f"{g.size:,}", f"{g.input_tokens:,}", f"{g.output_tokens:,}",
         _usd(None if g.usd is None else str(g.usd))]
        for g in plan.groups
    ]  # fmt: skip
    columns = ["group", "batches", "items", "bytes", "input tokens", "output tokens", "USD"]
    others = [[f"would fail: {reason}", str(count)] for reason, count in sorted(plan.refused.items())]
    others += [[f"would wait: {reason}", str(count or "not claimed")] for reason, count in sorted(plan.waiting.items())]
    shown = table("Would be sent; nothing was changed", columns, rows) if rows else "nothing would be sent"
    return Group(shown, *([table("Would not", ["why", "jobs"], others)] if others else []))


def _group(key: str) -> str:
    """Short enough for a terminal: the pair, the model, the prompt."""
    parts = key.split("|")
    return f"{parts[6]} → {parts[7]} {parts[1]} {parts[2]}" if len(parts) == 8 else " ".join(parts)


def _usd(amount: str | None) -> str:
    return "unpriced" if amount is None else f"{float(amount):.4f}"
