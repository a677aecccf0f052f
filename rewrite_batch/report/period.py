"""Periods: words such as `7d` and `2026-11-01` come in; a half-open period of UTC days goes out, and the one before."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from rewrite_batch.errors import ConfigurationError

DEFAULT_DAYS = 30
_DAYS = re.compile(r"([0-9]{1,4})d", re.ASCII)


@dataclass(frozen=True)
class Period:
    """From the first moment of `since` to the last before `until`, UTC."""

    since: date
    until: date

    @property
    def previous_since(self) -> date:
        """The period before is as long, and ends where this one begins."""
        return self.since - (self.until - self.since)

    def __str__(self) -> str:
        return f"{self.since} to {self.until - timedelta(days=1)}, UTC"


def period(since: str | None, until: str | None, today: date) -> Period:
    """Without `until`, to the end of today; without `since`, the last 30 days of it. `7d` counts back from the end."""
    end = _date(until, "--until", today + timedelta(days=1)) if until else today + timedelta(days=1)
    begin = _date(since, "--since", end) if since else end - timedelta(days=DEFAULT_DAYS)
    if begin >= end:
        raise ConfigurationError(
            f"--since {begin} is not before --until {end}: until is the first day that does not count"
        )
    return Period(begin, end)


def day_of(word: str | None, option: str, today: date) -> date | None:
    """A single day; `7d` counts back from today."""
    return _date(word, option, today) if word else None


def _date(word: str, option: str, end: date) -> date:
    days = _DAYS.fullmatch(word)
    try:
        return end - timedelta(days=int(days[1])) if days else date.fromisoformat(word)
    except (ValueError, OverflowError):
        raise ConfigurationError(f"{option} is no day: write 2026-11-01, or 7d for seven days back") from None
