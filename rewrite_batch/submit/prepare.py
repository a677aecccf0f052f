"""Prepare: what is free, what is allowed and what the ledger taught come in; drafts that keep to it go out."""

from datetime import UTC, datetime
from pathlib import Path

from rewrite_batch.db import Connection
from rewrite_batch.prices import PriceBook
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings
from rewrite_batch.submit.capacity import Capacity
from rewrite_batch.submit.check import allow
from rewrite_batch.submit.draft import Drafts
from rewrite_batch.submit.estimate import Estimator
from rewrite_batch.submit.group import Limits
from rewrite_batch.submit.prompts import prompts


def open_drafts(
    connection: Connection, settings: Settings, capacity: Capacity, prices: PriceBook, spool_dir: Path | None
) -> Drafts:
    """As a submit drafts, and as its dry run does."""
    today = datetime.now(UTC).date()
    return Drafts(
        spool_dir=spool_dir,
        limits=Limits(
            max_lines=settings.items_per_batch,
            token_limits=capacity.free_tokens(),
            free_usd=capacity.free_usd(settings),
            price=lambda model, tokens_in, tokens_out: prices.estimate(model, tokens_in, tokens_out, today),
        ),
        grouping=settings.grouping,
        allowed=allow(settings.base_urls, prompts()),
        estimator=Estimator(
            learned=dict(connection.execute(query("submit/characters_per_token")).fetchall()),
            learned_reasoning=dict(connection.execute(query("submit/reasoning_tokens")).fetchall()),
        ),
    )
