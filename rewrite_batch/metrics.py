"""Metrics: one look at the database comes in; a Prometheus text file, or a push, goes out after each run.

All figures come from the database, so it does not matter which machine's run wrote them, and a run that was killed
leaves nothing wrong behind: the next one writes the truth again. Names of states, commands, models and reason codes
are the only labels. Metrics that cannot be written are logged, and change nothing about the run.
"""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Metric,
    generate_latest,
    push_to_gateway,  # pyright: ignore[reportUnknownVariableType]  its stub leaves the handler open
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from pydantic import SecretStr

from rewrite_batch.db import Connection, connect
from rewrite_batch.log import get_log
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings

COUNTED_AT_MOST = 1_000_000
COMMANDS = ("submit", "collect")  # on record from the first look on, so that a rule can see that they never ran
PUSH_TIMEOUT_S = 5.0
ONE_LOOK = (
    b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    b"SELECT set_config('statement_timeout', '5s', true)",  # a run must not wait for its metrics
)


def write_metrics(url: SecretStr, settings: Settings) -> None:
    """However the run ended. On a connection of its own, since the run's may be the trouble."""
    try:
        with connect(url, purpose="metrics") as connection:
            registry = read_metrics(connection, settings)
    except Exception as error:  # noqa: BLE001  whatever it is, the run was what it was
        _note("read", error)
        return
    if settings.metrics_file is not None:
        try:
            write_file(settings.metrics_file, generate_latest(registry))
        except Exception as error:  # noqa: BLE001  the same
            _note("file", error)
    if settings.pushgateway_url is not None:
        try:
            push(settings.pushgateway_url, settings.environment, registry)
        except Exception as error:  # noqa: BLE001  the same
            _note("push", error)


def _note(operation: str, error: Exception) -> None:
    get_log().warning("metrics_failed", operation=operation, exc_info=error)


def write_file(path: Path, text: bytes) -> None:
    """Whole or not at all: whoever reads it meanwhile sees the old one. The reader is another user."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")  # not *.prom, which the node exporter would read
    try:
        beside.write_bytes(text)
        beside.chmod(0o644)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def push(url: str, environment: str, registry: CollectorRegistry) -> None:
    """One group an installation: the last run to push says how things are."""
    names = {"environment": environment}
    push_to_gateway(url, job="rewrite_batch", registry=registry, grouping_key=names, timeout=PUSH_TIMEOUT_S)


def read_metrics(connection: Connection, settings: Settings) -> CollectorRegistry:
    with connection.transaction():
        for statement in ONE_LOOK:
            connection.execute(statement)
        look = _Look(connection, settings)
        families = [*look.queue(), *look.batches(), *look.money(), *look.runs(), *look.today(), *look.troubles()]
    registry = CollectorRegistry()
    registry.register(_Given([*families, _family("metrics_timestamp_seconds", [((), time.time())])]))
    return registry


class _Given(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self.families = families

    def collect(self) -> Iterable[Metric]:
        return self.families


@dataclass(frozen=True)
class Described:
    """A metric's line in the documentation: its labels, and what it says."""

    labels: tuple[str, ...]
    says: str
    counts: bool = False  # a counter, from zero each UTC day


METRICS = {
    "queue_jobs": Described(("due",), f"jobs that wait, due now or later; counted up to {COUNTED_AT_MOST:,}"),
    "queue_oldest_due_seconds": Described((), "for how long the job that is due longest has been due"),
    "stale_claims": Described((), "claims older than the claim timeout; the next submit releases them"),
    "batches_in_flight": Described(("state",), "batches that are not closed"),
    "batch_items_in_flight": Described((), "items of the batches that are not closed"),
    "batch_oldest_seconds": Described((), "age of the oldest batch that is not closed"),
    "reserved_tokens": Described(("model",), "input tokens reserved by batches in flight"),
    "reserved_usd": Described(("model",), "money reserved by batches in flight"),
    "spend_usd": Described(("period",), "cost of the batches closed this UTC day or month"),
    "budget_usd": Described(("period",), "the cap of a day or a month; absent without one"),
    "unpriced_batches": Described(("where",), "batches without a price: the sums lack them"),
    "last_run_exit_code": Described(("command",), "exit code of the last run that came to its end"),
    "last_run_duration_seconds": Described(("command",), "how long it took"),
    "last_run_timestamp_seconds": Described(("command",), "when it ended; 0: not within 7 days, or never"),
    "last_success_timestamp_seconds": Described(("command",), "when one last ended with exit code 0, or 0"),
    "killed_runs": Described(("command",), "runs of the last 24 h that began over an hour ago and have no end"),
    "runs_total": Described(("command", "exit_code"), "runs that ended", counts=True),
    "claimed_total": Described((), "jobs claimed", counts=True),
    "submitted_total": Described((), "jobs handed to the provider", counts=True),
    "completed_total": Described((), "jobs completed", counts=True),
    "failed_total": Described(("reason",), "jobs failed for good", counts=True),
    "retried_total": Described(("reason",), "jobs to be tried again", counts=True),
    "returned_total": Described(("reason",), "jobs sent back to the queue, no attempt spent", counts=True),
    "dropped_total": Described(("reason",), "results of jobs that were final or gone", counts=True),
    "open_alerts": Described(("kind",), "alerts that nobody has acknowledged; see the on-call page"),
    "paused_models": Described(("model", "reason"), "1 while the model waits"),
    "metrics_timestamp_seconds": Described((), "when these figures were read"),
}  # fmt: skip

Samples = Iterable[tuple[tuple[str, ...], float]]


def _family(name: str, samples: Samples) -> Metric:
    described = METRICS[name]
    kind = CounterMetricFamily if described.counts else GaugeMetricFamily
    family = kind(f"rewrite_batch_{name}", described.says, labels=described.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


class _Look:
    """Each method is one or two bounded reads."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        self.connection = connection
        self.settings = settings

    def rows(self, name: str, **names: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(query(name), names).fetchall()

    def queue(self) -> list[Metric]:
        [(due, later, oldest_s)] = self.rows("metrics/queue", limit=COUNTED_AT_MOST)
        [(stale,)] = self.rows("status/stale_claims", claim_timeout_s=self.settings.run_limits.claim_timeout_s)
        return [
            _family("queue_jobs", [(("now",), due), (("later",), later)]),
            _family("queue_oldest_due_seconds", [((), oldest_s)]),
            _family("stale_claims", [((), stale)]),
        ]

    def batches(self) -> list[Metric]:
        found = self.rows("metrics/batches")
        counts = dict.fromkeys(("planned", "uploaded", "create_sent", "submitted", "finished"), 0)
        counts |= {state: batches for state, batches, _, _ in found}
        return [
            _family("batches_in_flight", [((state,), count) for state, count in counts.items()]),
            _family("batch_items_in_flight", [((), sum(items for _, _, items, _ in found))]),
            _family("batch_oldest_seconds", [((), max((oldest_s for *_, oldest_s in found), default=0))]),
        ]

    def money(self) -> list[Metric]:
        reserved = self.rows("metrics/reservations")
        [(day_usd, month_usd, unpriced)] = self.rows("metrics/spend")
        caps = (("day", self.settings.daily_budget_usd), ("month", self.settings.monthly_budget_usd))
        open_unpriced = sum(count for *_, count in reserved)
        return [
            _family("reserved_tokens", [((model,), tokens) for model, tokens, _, _ in reserved]),
            _family("reserved_usd", [((model,), usd) for model, _, usd, _ in reserved]),
            _family("spend_usd", [(("day",), day_usd), (("month",), month_usd)]),
            _family("budget_usd", [((period,), float(cap)) for period, cap in caps if cap is not None]),
            _family("unpriced_batches", [(("in_flight",), open_unpriced), (("closed",), unpriced)]),
        ]

    def runs(self) -> list[Metric]:
        ended: dict[str, tuple[Any, ...]] = dict.fromkeys(COMMANDS, (None, None, 0, 0, 0))
        ended |= {command: rest for command, *rest in self.rows("metrics/runs")}

        def by_command(position: int) -> Samples:
            return [((name,), each[position]) for name, each in ended.items() if each[position] is not None]

        names = (
            "last_run_exit_code", "last_run_duration_seconds", "last_run_timestamp_seconds",
            "last_success_timestamp_seconds", "killed_runs",
        )  # fmt: skip
        return [_family(name, by_command(position)) for position, name in enumerate(names)]

    def today(self) -> list[Metric]:
        """A poisoned job failed, for that reason."""
        runs: list[tuple[tuple[str, ...], float]] = []
        plain = dict.fromkeys(("claimed", "submitted", "completed"), 0.0)
        by_reason: dict[str, dict[str, float]] = {what: {} for what in ("failed", "retried", "returned", "dropped")}
        for what, name, reason, many in self.rows("metrics/today"):
            if what == "runs":
                runs.append(((name, reason), many))
            elif what == "poisoned":
                by_reason["failed"]["poison"] = float(many)
            elif what in plain:
                plain[what] = many
            else:
                by_reason[what][reason] = many
        return [
            _family("runs_total", runs),
            *(_family(f"{what}_total", [((), many)]) for what, many in plain.items()),
            *(_family(f"{what}_total", [((why,), n) for why, n in found.items()]) for what, found in by_reason.items()),
        ]

    def troubles(self) -> list[Metric]:
        return [
            _family("open_alerts", [((kind,), count) for kind, count, _ in self.rows("status/alerts")]),
            _family("paused_models", [((model, reason), 1) for model, reason, _ in self.rows("status/paused")]),
        ]
