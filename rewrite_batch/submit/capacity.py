"""Capacity: what is in flight and spent comes in; what may still go out comes back. Pure but for one read.

Reaching a limit is normal: what does not fit waits, unharmed. A model whose price is unknown cannot be counted
against a budget, so under a budget it waits too.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rewrite_batch.db import Connection
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings


@dataclass(frozen=True)
class Capacity:
    open_tokens: dict[str, int]
    open_usd: Decimal
    day_usd: Decimal
    month_usd: Decimal
    creations_last_hour: int
    token_limits: dict[str, int]
    paused: dict[str, str]

    def free_tokens(self) -> dict[str, int]:
        """By model, for the models that have a limit."""
        return {m: max(0, limit - self.open_tokens.get(m, 0)) for m, limit in self.token_limits.items()}

    def free_usd(self, settings: Settings) -> Decimal | None:
        """What the day and the month leave, counting what is in flight; None without a cap."""
        left = [
            cap - spent - self.open_usd
            for cap, spent in ((settings.daily_budget_usd, self.day_usd), (settings.monthly_budget_usd, self.month_usd))
            if cap is not None
        ]
        return max(Decimal(0), min(left)) if left else None

    def is_closed(self, settings: Settings) -> str | None:
        """Why nothing at all can go out now, or None."""
        if self.creations_last_hour >= settings.creations_per_hour:
            return "creation_rate"
        return "budget" if self.free_usd(settings) == 0 else None

    def blocked(self) -> dict[str, str]:
        """Models of which nothing can go out now, and why."""
        full = {model: "token_limit" for model, free in self.free_tokens().items() if free <= 0}
        return full | dict.fromkeys(self.paused, "model_paused")

    def refuses(self, settings: Settings, *, model: str, tokens: int, usd: Decimal | None) -> str | None:
        """Why a batch of this size must wait, or None."""
        if model in self.paused:
            return "model_paused"
        if self.creations_last_hour >= settings.creations_per_hour:
            return "creation_rate"
        if tokens > self.free_tokens().get(model, tokens):
            return "token_limit"
        free = self.free_usd(settings)
        if free is not None:
            return "unpriced_model" if usd is None else "budget" if usd > free else None
        return None


def read_capacity(connection: Connection, settings: Settings, *, counts_money: bool = False) -> Capacity:
    """What was spent is read under a cap, or when asked for; else it is 0."""
    counts_money |= settings.daily_budget_usd is not None or settings.monthly_budget_usd is not None
    row: Any = connection.execute(query("submit/capacity"), {"counts_money": counts_money}).fetchone()
    open_tokens, open_usd, day_usd, month_usd, creations, learned, paused = row
    return Capacity(
        open_tokens={model: int(tokens) for model, tokens in open_tokens.items()},
        open_usd=open_usd,
        day_usd=day_usd,
        month_usd=month_usd,
        creations_last_hour=creations,
        token_limits={**learned, **settings.token_limits},
        paused=paused,
    )
