"""The reports there are: name, what it answers, which tables it reads, and which columns add up."""

from dataclasses import dataclass

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.queries import query


@dataclass(frozen=True)
class Report:
    name: str
    says: str
    tables: tuple[str, ...]
    totals: tuple[str, ...] = ()  # columns whose sum means something
    keys: int = 1  # leading columns that are words
    hidden: tuple[str, ...] = ()  # columns that a terminal has no room for; every other format has them

    @property
    def statement(self) -> str:
        return query(f"report/{self.name.replace('-', '_')}").decode()


_TRIPS = ("items", "completed", "failed", "retried")
_TOKENS = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_MONEY = ("cost_usd", "unpriced_calls")

REPORTS = (
    Report(
        "cost-by-language-pair",
        "trips, tokens and cost by language pair, share of the total, change on the period before",
        ("items", "calls"),
        (*_TRIPS, *_TOKENS, *_MONEY, "previous_cost_usd"),
        keys=2,
        hidden=("cache_write_tokens", "reasoning_tokens", "previous_cost_usd"),
    ),
    Report(
        "cost-by-model",
        "calls, tokens and cost by model, share of the total, change on the period before",
        ("calls",),
        ("calls", *_TOKENS, *_MONEY, "previous_cost_usd"),
        keys=2,
        hidden=("provider", "cache_write_tokens", "reasoning_tokens", "previous_cost_usd", "price_versions"),
    ),
    Report(
        "cost-by-day",
        "trips, tokens and cost of each day, and the sum so far",
        ("items", "calls"),
        (*_TRIPS, "calls", "input_tokens", "cached_tokens", "output_tokens", *_MONEY),
    ),
    Report(
        "reliability",
        "units that ended: at the first trip, after retries, or not, and why; seconds from queued to completed",
        ("jobs",),
        ("units", "completed", "first_pass", "after_retry", "failed", "canceled"),
        keys=2,
    ),
    Report(
        "quality",
        "how often each code fired, by pair, prompt and word list, against the version before",
        ("items", "jobs"),
        keys=6,
    ),
    Report(
        "batches",
        "each batch: outcome, reservation against ledger, times",
        ("batches", "items", "calls"),
        keys=5,
        hidden=(
            "provider_status",
            "undecided",
            "reservation_state",
            "reserved_usd",
            "settled_usd",
            "to_submit_s",
            "to_settle_s",
        ),
    ),
    Report(
        "cache",
        "hit rate of the provider's cache by model, and what it saved",
        ("calls",),
        ("calls", "calls_with_hit", "input_tokens", "cached_tokens", "cache_write_tokens", "cost_usd", "saved_usd"),
        keys=2,
        hidden=("provider", "calls_without_rates"),
    ),
    Report("funnel", "units queued in the period: how many were sent, ended, completed", ("jobs",)),
    Report(
        "reasons",
        "why trips ended without an output, and units for good",
        ("items", "jobs"),
        ("items", "failed_units"),
        2,
    ),
    Report("violations", "how often each code fired, by the recipient's language", ("items",), keys=3),
    Report("latency", "seconds from queued to completed, by day", ("jobs",), ("completed",)),
    Report("spending", "today and this month: spent, in flight, caps, what is left", ("calls", "batches")),
)
BY_NAME = {report.name: report for report in REPORTS}


def report_named(name: str) -> Report:
    if name not in BY_NAME:
        raise ConfigurationError(f"there is no report {name}; there are {', '.join(BY_NAME)}, and html")
    return BY_NAME[name]
