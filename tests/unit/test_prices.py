"""Prices: exact, dated, and never zero for what has no price."""

import json
import re
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.prices import Usage, family, price_book

DAY = date(2026, 11, 18)
MODELS = ["gpt-5.4", "gpt-5.2", "gpt-5.1", "gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4.1-mini", "gpt-4o"]
RATES = {"input": "1", "cached_input": "0.1", "cache_write": "1.25", "output": "2"}
TWICE = {"input": "2", "cached_input": "0.2", "cache_write": "2.5", "output": "4"}


def written(path: Path, *books: tuple[str, str, str]) -> Path:
    made = [
        {
            "version": version,
            "effective_from": day,
            "models": {"m": {"batch": {**RATES, "input": rate}, "synchronous": TWICE}},
        }
        for version, day, rate in books
    ]
    path.write_text(json.dumps({"books": made}))
    return path


def test_a_million_tokens_cost_their_rate() -> None:
    assert price_book().estimate("gpt-5.2", 1_000_000, 0, DAY) == Decimal("0.875")
    assert price_book().estimate("gpt-5.2", 0, 1_000_000, DAY) == Decimal("7.00")


def test_one_token_is_priced_exactly() -> None:
    assert price_book().estimate("gpt-5-nano", 1, 1, DAY) == Decimal("0.000000225")


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_the_book_is_priced_with_its_snapshots(model: str) -> None:
    price = price_book().estimate(model, 1_000, 1_000, DAY)
    assert price is not None
    assert price > 0
    assert price_book().estimate(f"{model}-2026-02-01", 1_000, 1_000, DAY) == price


@pytest.mark.parametrize("model", MODELS)
def test_reading_the_cache_is_cheaper_and_writing_it_is_not(model: str) -> None:
    rates = price_book().rates(model, DAY)
    assert rates is not None
    assert rates.cached_input < rates.input <= rates.cache_write < rates.output


@pytest.mark.parametrize("model", ["gpt-5.2-pro", "gpt-5.20", "gpt", "", "ft:gpt-4o:us", "gpt-5.2-2026-02", "o3"])
def test_an_unpriced_model_is_none_and_never_zero(model: str) -> None:
    assert price_book().estimate(model, 1_000, 1_000, DAY) is None


def test_a_day_before_the_first_book_has_no_price() -> None:
    assert price_book().estimate("gpt-5.2", 1, 1, date(2020, 1, 1)) is None


@pytest.mark.parametrize(
    ("day", "version", "price"),
    [(date(2026, 1, 1), "a", 1), (date(2026, 5, 31), "a", 1), (date(2026, 6, 1), "b", 3), (date(2030, 1, 1), "b", 3)],
)
def test_the_book_of_the_day_prices_it(tmp_path: Path, day: date, version: str, price: int) -> None:
    prices = price_book(written(tmp_path / "p.json", ("b", "2026-06-01", "3"), ("a", "2026-01-01", "1")))
    book = prices.book(day)
    assert book is not None
    assert book.version == version
    assert prices.estimate("m", 1_000_000, 0, day) == price


tokens = st.integers(0, 10**12)


@given(st.sampled_from(MODELS), tokens, tokens, tokens, tokens)
def test_the_price_of_a_sum_is_the_sum_of_prices(model: str, i: int, o: int, more_i: int, more_o: int) -> None:
    prices = price_book()
    one, two = prices.estimate(model, i, o, DAY), prices.estimate(model, more_i, more_o, DAY)
    assert one is not None
    assert two is not None
    assert prices.estimate(model, i + more_i, o + more_o, DAY) == one + two


def test_each_kind_of_token_has_its_own_rate() -> None:
    usage = Usage(input_tokens=1_000, cached_tokens=600, cache_write_tokens=300, output_tokens=50, reasoning_tokens=20)
    # 100 at 0.875, 600 at 0.0875, 300 at 1.09375, 50 at 7: worked out by hand.
    assert price_book().price("gpt-5.2-2025-12-11", usage, DAY) == Decimal("0.000818125")


def test_a_prompt_above_the_line_pays_the_dear_rates_for_all_of_it() -> None:
    at_the_line, above = Usage(272_000, 0, 0, 1_000), Usage(272_001, 1_000, 0, 1_000)
    assert price_book().price("gpt-5.4", at_the_line, DAY) == Decimal("0.3475")
    assert price_book().price("gpt-5.4", above, DAY) == Decimal("0.6890025")
    assert price_book().price("gpt-5.2", Usage(272_001, 0, 0, 0), DAY) == Decimal("0.238000875")


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_costs_half_of_a_synchronous_call(model: str) -> None:
    for tokens_in in (10_000, 300_000):
        usage = Usage(tokens_in, 4_000, 1_000, 700)
        batch = price_book().price(model, usage, DAY)
        assert batch is not None
        assert price_book().price(model, usage, DAY, mode="synchronous") == batch * 2


def test_another_provider_needs_a_book_of_its_own() -> None:
    assert price_book().price("gpt-5.2", Usage(1, 0, 0, 1), DAY, provider="google") is None


def test_no_digit_is_lost_however_many_tokens_there_are() -> None:
    most = 2**63 - 1
    price = price_book().price("gpt-5.2", Usage(most, 0, most, most), DAY)
    assert price is not None
    assert Fraction(price) == Fraction(most * 109375 + most * 700000, 10**11)


@given(st.sampled_from(MODELS), st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_price_has_at_most_the_twelve_decimals_of_the_ledger(model: str, i: int, w: int, o: int) -> None:
    price = price_book().price(model, Usage(i + w, 0, w, o), DAY)
    assert price is not None
    assert price == price.quantize(Decimal("1e-12"))


def test_counts_that_contradict_each_other_are_charged_for_what_they_name() -> None:
    assert price_book().price("gpt-5.2", Usage(10, 1_000_000, 0, 0), DAY) == Decimal("0.0875")


def test_the_shipped_book_says_when_it_was_written_and_that_it_must_be_checked() -> None:
    note = price_book().note
    assert re.search(r"\d{4}-\d{2}-\d{2}", note)
    assert "compare every figure" in note


@pytest.mark.parametrize("rate", ["-1", "NaN", "Infinity", "free", "0.1234567"])
def test_a_rate_that_is_no_price_is_refused(tmp_path: Path, rate: str) -> None:
    with pytest.raises(ConfigurationError):
        price_book(written(tmp_path / "p.json", ("a", "2026-01-01", rate)))


def test_two_books_of_one_day_or_version_are_refused(tmp_path: Path) -> None:
    for other in (("b", "2026-01-01", "1"), ("a", "2026-06-01", "1")):
        with pytest.raises(ConfigurationError):
            price_book(written(tmp_path / "p.json", ("a", "2026-01-01", "1"), other))


def test_a_book_that_is_missing_or_broken_says_which(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        price_book(tmp_path / "nowhere.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ConfigurationError, match="broken"):
        price_book(tmp_path / "broken.json")


def test_only_a_date_at_the_end_makes_a_snapshot() -> None:
    assert family("gpt-5.2-2026-02-01") == "gpt-5.2"
    assert family("gpt-4o-mini") == "gpt-4o-mini"
