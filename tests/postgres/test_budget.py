"""The budget counts what submit counts."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from pydantic import SecretStr

from rewrite_batch.budget import read_budget
from rewrite_batch.db import Connection
from rewrite_batch.settings import Settings
from rewrite_batch.submit.capacity import read_capacity
from tests.ledger import Past, Row, write

SETTINGS = Settings(daily_budget_usd=Decimal(5), monthly_budget_usd=Decimal(100), database_url=SecretStr("x"))


def call(past: Past, at: datetime, usd: str | None, model: str = "gpt-5.2") -> Row:
    return past.add(
        "provider_calls",
        batch_id=uuid4(), batch_item_index=0, job_id=uuid4(), rewrite_request_id=uuid4(), attempt=1, provider="openai",
        model=model, source_locale="en", target_locale="es", input_tokens=1, cached_tokens=0, cache_write_tokens=0,
        output_tokens=1, reasoning_tokens=0, price_version=usd and "2026-01", cost_usd=usd and Decimal(usd),
        created_at=at,
    )  # fmt: skip


def reservation(past: Past, usd: str | None, state: str = "open") -> None:
    closed = None if state == "open" else datetime.now(UTC)
    past.add(
        "token_reservations",
        batch_id=uuid4(), model="gpt-5.2", state=state, reserved_tokens=1_000, reserved_usd=usd and Decimal(usd),
        settled_tokens=900 if state == "settled" else None, closed_at=closed,
    )  # fmt: skip


@pytest.fixture
def spent(connection: Connection) -> Connection:
    now = datetime.now(UTC)
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    past = Past(1)
    call(past, now, "1.000000000001")
    call(past, now, "0.5", "gpt-5.2-2026-02-01")
    call(past, now, None, "homegrown-1")
    call(past, month, "7", "gpt-5-mini")
    call(past, month - timedelta(microseconds=1), "1000")
    reservation(past, "0.25")
    reservation(past, None)
    reservation(past, "50", "settled")
    reservation(past, "60", "released")
    write(connection, past)
    return connection


def test_the_day_and_the_month_agree_with_what_submit_counts(spent: Connection) -> None:
    seen, capacity = read_budget(spent, SETTINGS), read_capacity(spent, SETTINGS)
    day, month = seen.spans
    assert (day.spent_usd, month.spent_usd, day.in_flight_usd) == (
        capacity.day_usd,
        capacity.month_usd,
        capacity.open_usd,
    )
    assert day.left_usd == capacity.free_usd(SETTINGS)
    assert day.in_flight_usd == month.in_flight_usd == Decimal("0.25")
    assert month.spent_usd == Decimal("8.500000000001")


def test_a_snapshot_counts_for_its_family_and_no_price_is_not_zero(spent: Connection) -> None:
    models = {model.model: model for model in read_budget(spent, SETTINGS).models}
    assert set(models) == {"gpt-5.2", "gpt-5-mini", "homegrown-1"}
    assert models["gpt-5.2"].day_usd == Decimal("1.500000000001")
    assert (models["gpt-5.2"].in_flight_tokens, models["gpt-5.2"].unpriced_batches) == (2_000, 1)
    assert models["homegrown-1"].unpriced_calls == 1
    assert sum(day.calls for day in read_budget(spent, SETTINGS).days) == 4


def test_without_caps_nothing_is_left_to_say(spent: Connection) -> None:
    assert [span.left_usd for span in read_budget(spent, Settings()).spans] == [None, None]


def test_every_digit_reaches_the_reader(spent: Connection) -> None:
    assert read_budget(spent, SETTINGS).as_json()["spans"][1]["spent_usd"] == "8.500000000001"


def test_the_ledger_keeps_twelve_decimals(spent: Connection) -> None:
    row = spent.execute("SELECT min(cost_usd) FROM provider_calls WHERE cost_usd BETWEEN 1 AND 2").fetchone()
    assert row == (Decimal("1.000000000001"),)
