"""`rewrite-batch submit --dry-run`: what a submit would send now, by group, with tokens and cost, and what it would
refuse. It reads; it changes nothing and calls nobody.
"""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rewrite_batch.db import Connection
from rewrite_batch.prices import PriceBook, price_book
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings
from rewrite_batch.submit.capacity import read_capacity
from rewrite_batch.submit.check import Refusal, Row
from rewrite_batch.submit.draft import Draft
from rewrite_batch.submit.prepare import open_drafts

PAGE = 1_000


@dataclass(frozen=True)
class PlannedGroup:
    group: str
    model: str
    batches: int
    items: int
    size: int
    input_tokens: int
    output_tokens: int
    usd: Decimal | None


@dataclass
class Plan:
    jobs: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    waiting: Counter[str] = field(default_factory=Counter[str])
    groups: list[PlannedGroup] = field(default_factory=list[PlannedGroup])

    def as_json(self) -> dict[str, Any]:
        costs = [group.usd for group in self.groups]
        return {
            "dry_run": True,
            "jobs": self.jobs,
            "would_refuse": dict(self.refused),
            "would_wait": dict(self.waiting),
            "batches": sum(group.batches for group in self.groups),
            "items": sum(group.items for group in self.groups),
            "estimated_input_tokens": sum(group.input_tokens for group in self.groups),
            "estimated_output_tokens": sum(group.output_tokens for group in self.groups),
            "estimated_usd": None if None in costs else str(sum((c for c in costs if c is not None), Decimal(0))),
            "groups": [{**vars(group), "usd": None if group.usd is None else str(group.usd)} for group in self.groups],
        }


def plan(connection: Connection, settings: Settings) -> Plan:
    capacity, prices = read_capacity(connection, settings), price_book(settings.price_book)
    blocked = capacity.blocked()
    drafts = open_drafts(connection, settings, capacity, prices, spool_dir=None)
    result = Plan(waiting=Counter(dict.fromkeys(blocked.values(), 0)))
    if closed := capacity.is_closed(settings):
        result.waiting[closed] = 0
        return result
    after: dict[str, Any] = {"after_at": None, "after_id": None}
    while result.jobs < settings.run_limits.jobs:
        limit = min(PAGE, settings.run_limits.jobs - result.jobs)
        rows = connection.execute(
            query("submit/peek"), {**after, "limit": limit, "blocked_models": list(blocked)}
        ).fetchall()
        for *row, _ in rows:
            said = drafts.add(Row(*row))
            if isinstance(said, Refusal):
                result.refused[said.reason] += 1
            elif said is not None:
                result.waiting[said.reason] += 1
        result.jobs += len(rows)
        if len(rows) < limit:
            break
        after = {"after_at": rows[-1][-1], "after_id": rows[-1][0]}
    drafts.finish_all()
    result.groups = _groups(drafts.finished, prices)
    return result


def _groups(finished: list[Draft], prices: PriceBook) -> list[PlannedGroup]:
    today = datetime.now(UTC).date()
    by_key: dict[tuple[str, str], list[Draft]] = {}
    for draft in finished:
        keys = {unit.key for unit in draft.units}
        model = draft.units[0].key.model
        name = next(iter(keys)).text if len(keys) == 1 else f"packed|{draft.units[0].key.provider}|{model}"
        by_key.setdefault((name, model), []).append(draft)
    groups: list[PlannedGroup] = []
    for (name, model), drafts in sorted(by_key.items()):
        units = [unit for draft in drafts for unit in draft.units]
        tokens_in, tokens_out = sum(u.input_tokens for u in units), sum(u.output_tokens for u in units)
        groups.append(
            PlannedGroup(
                group=name,
                model=model,
                batches=len(drafts),
                items=len(units),
                size=sum(draft.size for draft in drafts),
                input_tokens=tokens_in,
                output_tokens=tokens_out,
                usd=prices.estimate(model, tokens_in, tokens_out, today),
            )
        )
    return groups
