"""`rewrite-batch status`: what waits, what is in flight, what is spent and what went wrong, for people and programs.

One consistent look, read-only: no words, nothing moved, so it may be repeated as often as anybody likes.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from rich.console import RenderableType

from rewrite_batch.db import Connection
from rewrite_batch.output import table
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings
from rewrite_batch.submit.capacity import Capacity, read_capacity

STATES = ("queued", "processing", "batch_submitted", "completed", "failed", "canceled")
BATCHES_SHOWN = 50
RUNS_SHOWN = 10
ONE_LOOK = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@dataclass(frozen=True)
class Queue:
    by_state: dict[str, int]
    due: int
    waiting_for_their_time: int
    oldest_due_s: float | None
    stale_claims: int


@dataclass(frozen=True)
class BatchInFlight:
    batch_id: UUID
    provider_batch_id: str | None
    model: str
    state: str
    provider_status: str | None
    items: int
    decided: int
    age_s: float
    lease_run_id: UUID | None
    lease_worker: str | None


@dataclass(frozen=True)
class TokensInFlight:
    model: str
    open_tokens: int
    limit: int | None


@dataclass(frozen=True)
class Money:
    open_usd: Decimal
    day_usd: Decimal
    month_usd: Decimal
    daily_budget_usd: Decimal | None
    monthly_budget_usd: Decimal | None


@dataclass(frozen=True)
class Paused:
    model: str
    reason: str
    until: datetime


@dataclass(frozen=True)
class RunLine:
    """`exit_code` is None while it runs, and for ever if it was killed."""

    run_id: UUID
    command: str
    worker: str
    started_at: datetime
    seconds: float
    exit_code: int | None
    counts: dict[str, Any]


@dataclass(frozen=True)
class OpenAlerts:
    kind: str
    count: int
    oldest_s: float


@dataclass(frozen=True)
class Status:
    queue: Queue
    batches: list[BatchInFlight]
    batches_in_flight: int
    tokens: list[TokensInFlight]
    money: Money
    paused: list[Paused]
    runs: list[RunLine]
    alerts: list[OpenAlerts]

    def as_json(self) -> dict[str, Any]:
        return _plain(asdict(self))


def read_status(connection: Connection, settings: Settings) -> Status:
    with connection.transaction():
        connection.execute(ONE_LOOK)
        capacity = read_capacity(connection, settings, counts_money=True)
        batches = connection.execute(query("status/batches"), {"limit": BATCHES_SHOWN}).fetchall()
        return Status(
            queue=_queue(connection, settings),
            batches=[BatchInFlight(*row[:-1]) for row in batches],
            batches_in_flight=batches[0][-1] if batches else 0,
            tokens=_tokens(capacity),
            money=_money(capacity, settings),
            paused=[Paused(*row) for row in connection.execute(query("status/paused")).fetchall()],
            runs=[RunLine(*row) for row in connection.execute(query("status/runs"), {"limit": RUNS_SHOWN}).fetchall()],
            alerts=[OpenAlerts(*row) for row in connection.execute(query("status/alerts")).fetchall()],
        )


def _queue(connection: Connection, settings: Settings) -> Queue:
    rows = {row[0]: row[1:] for row in connection.execute(query("status/jobs")).fetchall()}
    queued, due, longest_wait_s = rows.get("queued", (0, 0, None))
    limits = {"claim_timeout_s": settings.run_limits.claim_timeout_s}
    stale = connection.execute(query("status/stale_claims"), limits).fetchone()
    assert stale is not None
    return Queue(
        by_state={state: rows[state][0] if state in rows else 0 for state in STATES},
        due=due,
        waiting_for_their_time=queued - due,
        oldest_due_s=longest_wait_s if due else None,
        stale_claims=stale[0],
    )


def _tokens(capacity: Capacity) -> list[TokensInFlight]:
    models = sorted({*capacity.open_tokens, *capacity.token_limits})
    return [TokensInFlight(m, capacity.open_tokens.get(m, 0), capacity.token_limits.get(m)) for m in models]


def _money(capacity: Capacity, settings: Settings) -> Money:
    return Money(
        open_usd=capacity.open_usd,
        day_usd=capacity.day_usd,
        month_usd=capacity.month_usd,
        daily_budget_usd=settings.daily_budget_usd,
        monthly_budget_usd=settings.monthly_budget_usd,
    )


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  JSON is what it is
        case list():
            return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  the same
        case float():
            return round(value, 3)
        case datetime():
            return value.isoformat()
        case UUID() | Decimal():
            return str(value)
        case _:
            return value


def status_tables(status: Status) -> list[RenderableType]:
    """For people; a table with nothing in it is left out, but for the queue."""
    return [
        _queue_table(status.queue),
        *_unless_empty(f"Batches in flight: {_shown(status)}", BATCH_COLUMNS, _batch_rows(status), numbers_from=5),
        *_unless_empty("Tokens waiting at the provider", ["model", "open", "limit"], _token_rows(status)),
        _money_table(status.money),
        *_unless_empty("Paused models", ["model", "reason", "until"], _paused_rows(status), numbers_from=3),
        *_unless_empty("Last runs", RUN_COLUMNS, _run_rows(status), numbers_from=3),
        *_unless_empty("Alerts that nobody has acknowledged", ["kind", "alerts", "oldest"], _alert_rows(status)),
    ]


BATCH_COLUMNS = ["batch", "at the provider", "model", "state", "held by", "decided", "items", "age"]
RUN_COLUMNS = ["command", "worker", "started", "seconds", "exit code", "counts"]


def _unless_empty(
    title: str, columns: list[str], rows: list[list[str]], *, numbers_from: int = 1
) -> list[RenderableType]:
    return [table(title, columns, rows, numbers_from=numbers_from)] if rows else []


def _queue_table(queue: Queue) -> RenderableType:
    rows = [[state, f"{count:,}"] for state, count in queue.by_state.items()]
    rows[1:1] = [
        ["  due now", f"{queue.due:,}"],
        ["  waiting for their time", f"{queue.waiting_for_their_time:,}"],
        ["  longest due", "-" if queue.oldest_due_s is None else _age(queue.oldest_due_s)],
    ]
    rows.append(["stale claims", f"{queue.stale_claims:,}"])
    return table("The queue", ["state", "jobs"], rows)


def _shown(status: Status) -> str:
    shown, total = len(status.batches), status.batches_in_flight
    return f"{total:,}" if shown == total else f"{total:,}, the newest {shown}"


def _batch_rows(status: Status) -> list[list[str]]:
    return [
        [
            str(batch.batch_id),
            batch.provider_batch_id or "-",
            batch.model,
            f"{batch.state} ({batch.provider_status})" if batch.provider_status else batch.state,
            batch.lease_worker or (str(batch.lease_run_id) if batch.lease_run_id else "-"),
            f"{batch.decided:,}",
            f"{batch.items:,}",
            _age(batch.age_s),
        ]
        for batch in status.batches
    ]


def _token_rows(status: Status) -> list[list[str]]:
    return [[t.model, f"{t.open_tokens:,}", "none" if t.limit is None else f"{t.limit:,}"] for t in status.tokens]


def _money_table(money: Money) -> RenderableType:
    def cap(usd: Decimal | None) -> str:
        return "none" if usd is None else f"{usd:.2f}"

    rows = [
        ["reserved, in flight", f"{money.open_usd:.4f}", ""],
        ["spent today", f"{money.day_usd:.4f}", cap(money.daily_budget_usd)],
        ["spent this month", f"{money.month_usd:.4f}", cap(money.monthly_budget_usd)],
    ]
    return table("Money", ["", "USD", "cap"], rows)


def _paused_rows(status: Status) -> list[list[str]]:
    return [[each.model, each.reason, f"{each.until:%Y-%m-%d %H:%M:%S %Z}"] for each in status.paused]


def _run_rows(status: Status) -> list[list[str]]:
    return [
        [
            run.command,
            run.worker,
            f"{run.started_at:%Y-%m-%d %H:%M:%S %Z}",
            f"{run.seconds:.1f}",
            "no end yet" if run.exit_code is None else str(run.exit_code),
            ", ".join(f"{name} {count}" for name, count in run.counts.items() if isinstance(count, int) and count),
        ]
        for run in status.runs
    ]


def _alert_rows(status: Status) -> list[list[str]]:
    return [[alert.kind, f"{alert.count:,}", _age(alert.oldest_s)] for alert in status.alerts]


def _age(seconds: float) -> str:
    whole = max(0, int(seconds))
    days, hours, minutes = whole // 86_400, whole // 3_600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"
