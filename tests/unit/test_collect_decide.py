"""One decided row an item: the table of outcomes, the price, the wait before the next attempt."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.decide import STAGE_TYPES, Item, Pricing, decide
from rewrite_batch.collect.parse import Row, Tokens, parse
from rewrite_batch.contracts.schemas import validator
from rewrite_batch.outcomes import BY_REASON, OUTCOMES
from rewrite_batch.prices import price_book
from tests.unit.collect_lines import answer, line, message, raw
from tests.unit.test_documentation import README

PRICING = Pricing(price_book(), date(2026, 11, 18), "gpt-5.2")
JOB = UUID("7d444840-9dc0-11d1-b245-5ffdce74fad2")


def item(index: int = 0, **changes: Any) -> Item:
    usual = Item(index, JOB, 1, "en", "es", "Turn it down!", "request", "peer", ["noise"])
    return usual._replace(**changes)


def decided(row: Row, which: Item | None = None, pricing: Pricing = PRICING) -> dict[str, Any]:
    (found,) = decide([which or item()], [row], pricing=pricing, backoff=Backoff())
    return dict(zip(STAGE_TYPES, found, strict=True))


def test_a_good_answer_is_kept_with_its_checks_its_ids_and_its_price() -> None:
    row = decided(parse(raw(line())))
    assert (row["outcome"], row["reason"], row["retry_s"]) == ("kept", "kept", None)
    assert row["rewritten_text"]
    authority: Any = validator("RewriteEvalResultV1")
    assert authority.is_valid(json.loads(row["eval_result"]))
    # 500 plain, 300 cached, 200 written to the cache, 50 out, at the batch rates of gpt-5.2.
    dollars = (500 * Decimal("0.875") + 300 * Decimal("0.0875") + 200 * Decimal("1.09375") + 50 * 7) / 1_000_000
    assert (row["cost_usd"], row["price_version"]) == (dollars, "2026-01")


def test_an_answer_in_another_language_fails_and_its_text_goes_nowhere() -> None:
    row = decided(parse(raw(line(output=[message(answer("Could we keep it down?", "en"))]))))
    assert (row["outcome"], row["reason"]) == ("permanent", "language")
    assert (row["rewritten_text"], row["eval_result"]) == (None, None)
    assert row["cost_usd"] is not None


def test_a_transient_failure_waits_by_the_backoff_and_costs_what_its_line_says() -> None:
    row = decided(Row("provider_error", status_code=500))
    assert (row["outcome"], row["input_tokens"], row["cost_usd"]) == ("transient", None, None)
    assert 240 <= row["retry_s"] <= 360


def test_a_model_without_a_price_costs_null_and_never_zero() -> None:
    row = decided(replace(parse(raw(line())), model="gpt-99"))
    assert (row["cost_usd"], row["price_version"], row["input_tokens"]) == (None, None, 1000)


def test_a_line_without_a_model_is_priced_by_the_batchs() -> None:
    assert decided(replace(parse(raw(line())), model=None))["model"] == "gpt-5.2"


def test_a_free_line_is_free_and_not_unpriced() -> None:
    row = decided(replace(parse(raw(line())), tokens=Tokens(0, 0, 0, 0, 0)))
    assert row["cost_usd"] == 0


def test_an_erased_request_is_dropped_and_still_on_the_bill() -> None:
    row = decided(parse(raw(line())), item(original_text=None, intent=None, power_mode=None, topics=None))
    assert (row["outcome"], row["reason"], row["rewritten_text"]) == ("dropped", "unit_erased", None)
    assert row["input_tokens"] == 1000


def test_many_at_once_keep_their_order() -> None:
    texts = [f"¿Podrías bajar un poco la música {'.' * i}?" for i in range(50)]
    items = [item(i, target_locale="es" if i % 2 else "fr") for i in range(50)]
    rows = [parse(raw(line(i, output=[message(answer(text))]))) for i, text in enumerate(texts)]
    found = decide(items, rows, pricing=PRICING, backoff=Backoff())
    assert [row[0] for row in found] == list(range(50))
    assert [row[2] for row in found] == ["kept" if i % 2 else "language" for i in range(50)]
    assert [row[7] for row in found] == [text if i % 2 else None for i, text in enumerate(texts)]


@pytest.mark.parametrize(("attempt", "least", "most"), [(1, 240, 360), (2, 480, 720), (4, 1920, 2880), (5, 2880, 4320)])
def test_the_wait_doubles_up_to_an_hour_within_a_fifth(attempt: int, least: float, most: float) -> None:
    waits = [Backoff().seconds(uuid4(), attempt) for _ in range(200)]
    assert least <= min(waits) < max(waits) <= most
    assert len(set(waits)) > 190


def test_the_wait_of_a_job_and_attempt_is_always_the_same() -> None:
    assert Backoff().seconds(JOB, 1) == Backoff().seconds(JOB, 1)
    assert Backoff().seconds(JOB, 1) * 2 != Backoff().seconds(JOB, 2)
    assert Backoff().seconds(JOB, 2_000) <= 4320


def test_every_reason_has_one_row_and_the_readme_has_the_same_table() -> None:
    assert len(BY_REASON) == len(OUTCOMES)
    rows = [f"| `{each.reason}` | {each.kind} | {each.fault} | {each.when} |" for each in OUTCOMES]
    _, _, rest = README.partition("| reason | class | whose fault | when |\n|---|---|---|---|\n")
    assert rest.splitlines()[: len(rows) + 1] == [*rows, ""]
