"""Periods are half-open UTC days."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.report.period import Period, period

TODAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, Period(date(2026, 10, 20), date(2026, 11, 19))),
        ("7d", None, Period(date(2026, 11, 12), date(2026, 11, 19))),
        ("2026-11-01", "2026-11-08", Period(date(2026, 11, 1), date(2026, 11, 8))),
        ("7d", "2026-11-08", Period(date(2026, 11, 1), date(2026, 11, 8))),
        (None, "2026-11-01", Period(date(2026, 10, 2), date(2026, 11, 1))),
    ],
)
def test_words_become_days(since: str | None, until: str | None, expected: Period) -> None:
    assert period(since, until, TODAY) == expected


@pytest.mark.parametrize("word", ["7", "d", "-7d", "7 d", "2026-13-01", "99999d", "٧d", "9999d9999d"])
def test_what_is_no_day_is_refused(word: str) -> None:
    with pytest.raises(ConfigurationError):
        period(word, None, TODAY)


@given(st.integers(1, 400), st.dates(date(2020, 1, 1), date(2030, 1, 1)))
def test_the_period_before_is_as_long_and_touches(days: int, end: date) -> None:
    span = period(f"{days}d", end.isoformat(), TODAY)
    assert (span.until - span.since).days == days == (span.since - span.previous_since).days
