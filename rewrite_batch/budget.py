"""`rewrite-batch budget`: spent, in flight and left, by day, month and model. One consistent look, read-only.

What is in flight counts against the day and the month at once, exactly as submit counts it before it sends anything.
"""

from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from rich.console import Group, RenderableType

from rewrite_batch.db import Connection
from rewrite_batch.output import table
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings

ONE_LOOK = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
NO_CAP = "no cap"


@dataclass(frozen=True)
class Span:
    """Of a day or a month. `left_usd` is None without a cap; below zero when prices rose or the cap was lowered."""

    span: str
    spent_usd: Decimal
    in_flight_usd: Decimal
    cap_usd: Decimal | None
    left_usd: Decimal | None


@dataclass(frozen=True)
class OfModel:
    model: str
    day_usd: Decimal
    month_usd: Decimal
    in_flight_usd: Decimal
    in_flight_tokens: int
    unpriced_calls: int
    unpriced_batches: int


@dataclass(frozen=True)
class OfDay:
    """`usd` is None when no call of the day has a price."""

    day: date
    calls: int
    usd: Decimal | None
    unpriced_calls: int


@dataclass(frozen=True)
class Budget:
    spans: list[Span]
    models: list[OfModel]
    days: list[OfDay]

    def as_json(self) -> dict[str, Any]:
        """Money as strings of every digit."""
        return _exact(asdict(self))


def read_budget(connection: Connection, settings: Settings) -> Budget:
    with connection.transaction():
        connection.execute(ONE_LOOK)
        models = [OfModel(*row) for row in connection.execute(query("budget/by_model")).fetchall()]
        days = [OfDay(*row) for row in connection.execute(query("budget/by_day")).fetchall()]
    in_flight = sum((model.in_flight_usd for model in models), Decimal(0))
    day, month = (sum((getattr(m, name) for m in models), Decimal(0)) for name in ("day_usd", "month_usd"))
    return Budget(
        [
            _span("day", day, in_flight, settings.daily_budget_usd),
            _span("month", month, in_flight, settings.monthly_budget_usd),
        ],
        models,
        days,
    )


def _span(name: str, spent: Decimal, in_flight: Decimal, cap: Decimal | None) -> Span:
    return Span(name, spent, in_flight, cap, None if cap is None else cap - spent - in_flight)


def budget_tables(budget: Budget) -> RenderableType:
    spans = [
        [s.span, _usd(s.spent_usd), _usd(s.in_flight_usd), _usd(s.cap_usd, NO_CAP), _usd(s.left_usd, NO_CAP)]
        for s in budget.spans
    ]
    models = [
        [m.model, _usd(m.day_usd), _usd(m.month_usd), _usd(m.in_flight_usd), f"{m.in_flight_tokens:,}",
         str(m.unpriced_calls), str(m.unpriced_batches)]
        for m in budget.models
    ]  # fmt: skip
    days = [[str(d.day), f"{d.calls:,}", _usd(d.usd, "unpriced"), str(d.unpriced_calls)] for d in budget.days]
    tables = [table("Budget, UTC", ["span", "spent $", "in flight $", "cap $", "left $"], spans)]
    columns = [
        "model",
        "today $",
        "this month $",
        "in flight $",
        "in flight tokens",
        "unpriced calls",
        "unpriced batches",
    ]
    if models:
        tables += [table("\nBy model", columns, models)]
    if days:
        tables += [table("\nBy day, this month", ["day", "calls", "spent $", "unpriced calls"], days)]
    return Group(*tables)


def _usd(value: Decimal | None, nothing: str = "") -> str:
    return nothing if value is None else f"{value:,.4f}"


def _exact(value: Any) -> Any:
    match value:
        case dict():
            return {key: _exact(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case list():
            return [_exact(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        case Decimal():
            return f"{value:f}"
        case _:
            return value
