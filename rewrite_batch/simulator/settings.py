"""What can be set over HTTP while the simulator runs, kept in its state. Durations are virtual seconds."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rewrite_batch.simulator.jsontext import Json, int_of, number_of


def _no_shares() -> dict[str, float]:
    return {}


def _no_limits() -> dict[str, int]:
    return {}


def _no_models() -> list[str]:
    return []


@dataclass(frozen=True)
class Settings:
    seed: int = 0
    # The share of lines that get a bad answer, spread evenly over the classes; `bad_shares` names a class's
    # own share instead, and wins when it is not empty.
    bad_share: float = 0.0
    bad_shares: dict[str, float] = field(default_factory=_no_shares)
    # Good answers in awkward shapes: an empty first message, usage without its details.
    split_message_share: float = 0.05
    legacy_usage_share: float = 0.02
    validating_s: float = 5.0
    in_progress_s: float = 60.0
    finalizing_s: float = 5.0
    cancelling_s: float = 5.0
    window_s: float = 24 * 3600.0
    retention_s: float = 30 * 24 * 3600.0
    max_file_bytes: int = 200_000_000
    max_lines: int = 50_000
    max_listed_errors: int = 100
    creations_an_hour: int = 2_000
    # Enqueued prompt tokens: a model's own limit, or else the default. 0 is no limit.
    enqueued_token_limit: int = 0
    enqueued_token_limits: dict[str, int] = field(default_factory=_no_limits)
    quota_exhausted_models: list[str] = field(default_factory=_no_models)
    missing_models: list[str] = field(default_factory=_no_models)

    def token_limit(self, model: str | None) -> int:
        return self.enqueued_token_limits.get(model or "", self.enqueued_token_limit)

    def quota_exhausted(self, model: str | None) -> bool:
        return "*" in self.quota_exhausted_models or model in self.quota_exhausted_models


def changed(settings: Settings, updates: Json) -> Settings:
    """The settings with these changes; ValueError names the first that does not exist or does not fit."""
    for name, value in updates.items():
        if name not in settings.__dataclass_fields__:
            raise ValueError(f"there is no setting {name!r}")
        if not _fits(value, getattr(settings, name)):
            raise ValueError(f"{name} does not take this kind of value")
    return replace(settings, **updates)


def _fits(value: Any, current: object) -> bool:
    if isinstance(current, dict):
        return isinstance(value, dict)
    if isinstance(current, list):
        return isinstance(value, list)
    number = int_of(value) if isinstance(current, int) else number_of(value)
    return number is not None and number >= 0


def as_json(settings: Settings) -> Json:
    return asdict(settings)
