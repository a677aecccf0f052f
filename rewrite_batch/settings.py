"""Settings: one frozen model, read from the environment once. Nothing else reads the environment.

Unset is not the same as default: `database_url` has no default, and a command that needs it says what to set.
A variable that starts with REWRITE_BATCH_ and is no setting is refused, since it is a typing error.
"""

import difflib
import os
import re
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from rewrite_batch.errors import ConfigurationError

PREFIX = "REWRITE_BATCH_"
UNPREFIXED = {"database_url": "DATABASE_URL", "openai_api_key": "OPENAI_API_KEY"}
VERSION = version("rewrite-batch")
PROVIDER_ADDRESS = "https://api.openai.com/v1"
# What the intent may wait for its turn at the capacity lock (see submit/intent.py).
INTENT_WAIT_S = 60


@dataclass(frozen=True)
class RunLimits:
    jobs: int
    seconds: float
    claim_timeout_s: float


ENVIRONMENTS = {
    "dev": RunLimits(jobs=5_000, seconds=120, claim_timeout_s=300),
    "stage": RunLimits(jobs=50_000, seconds=180, claim_timeout_s=900),
    "prod": RunLimits(jobs=200_000, seconds=240, claim_timeout_s=3_600),
}


def _temporary_directory() -> Path:
    """Python looks for one that it can write to; when all are full, whoever writes there says so."""
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return Path("/tmp")  # noqa: S108  a directory in it, of our own, that nobody else can open


def _one_word(key: SecretStr) -> SecretStr:
    """It travels in a header. Otherwise a file's last newline would read as a provider that cannot be reached."""
    if not re.fullmatch(r"[!-~]+", key.get_secret_value()):
        raise ValueError("must be one word in ASCII, without a space or a line break, also at its end")
    return key


class Settings(BaseModel):
    """Each field's description is its line in the README."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL URL; or `embedded`, or `embedded:DIR`, for a server of our own in DIR",
    )
    openai_api_key: Annotated[SecretStr, AfterValidator(_one_word)] | None = Field(
        default=None, description="the provider's key"
    )
    environment: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")] = Field(
        default="dev",
        description="name of this installation, such as dev, stage or prod; marks what it sends",
    )
    provider_base_url: Annotated[str, Field(pattern=r"^https?://[^\s@]+$")] | None = Field(
        default=None, description="where the provider is reached; unset is the provider's own address"
    )
    provider_timeout_s: Annotated[float, Field(gt=0, le=600)] = Field(
        default=60, description="seconds to wait for the provider to answer one call"
    )
    spool_dir: Path = Field(
        default_factory=lambda: _temporary_directory() / f"rewrite-batch-spool-{os.getuid()}",
        description="private directory for files on their way to and from the provider",
    )
    worker: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")] = Field(
        default_factory=lambda: socket.gethostname()[:100] or "worker",
        description="name of this machine in `worker_runs`; default: the host name",
    )
    jobs_per_run: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="most jobs that one submit takes; default by environment: dev, stage, prod"
    )
    run_seconds: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="seconds after which a run starts nothing new; default by environment"
    )
    claim_timeout_s: Annotated[float, Field(ge=1)] | None = Field(
        default=None,
        description="seconds after which a claim that came to nothing is released; default by environment; at least "
        "twice the run's seconds and 60",
    )
    grouping: Literal["by_group", "packed"] = Field(
        default="by_group", description="`packed` puts several groups of one model into one file"
    )
    items_per_batch: Annotated[int, Field(ge=1, le=50_000)] = Field(
        default=10_000,
        description="most items in one provider batch; when as many wait in several, those with 1000 go out early",
    )
    allowed_base_urls: str = Field(
        default="",
        description="comma-separated addresses that a routing decision may name, and that older batches went to; "
        "the key goes to no other",
    )
    enqueued_token_limits: Annotated[str, Field(pattern=r"^([A-Za-z0-9_.:/@+-]+=[0-9]+,?)*$")] = Field(
        default="", description="`model=tokens,…`: how much may wait at the provider; unset is what it told us"
    )
    daily_budget_usd: Annotated[Decimal, Field(ge=0)] | None = Field(
        default=None, description="most money a UTC day, counting what is in flight"
    )
    monthly_budget_usd: Annotated[Decimal, Field(ge=0)] | None = Field(
        default=None, description="most money a UTC month, counting what is in flight"
    )
    creations_per_hour: Annotated[int, Field(ge=1)] = Field(
        default=2000, description="most provider batches created within an hour"
    )
    create_grace_s: Annotated[float, Field(ge=0)] = Field(
        default=120, description="seconds beyond the timeout before a create that nobody saw counts as not done"
    )
    collect_grace_s: Annotated[float, Field(ge=0)] = Field(
        default=3600,
        description="seconds beyond its 24 h after which a batch that has not ended is cancelled and given up",
    )
    retry_base_s: Annotated[float, Field(ge=0)] = Field(
        default=1, description="first pause between tries of a call that may be repeated; it doubles, up to 30 s"
    )
    price_book: Path | None = Field(default=None, description="a price book of your own; unset is the one shipped")
    metrics_file: Path | None = Field(
        default=None, description="after each submit and collect, write Prometheus metrics there (`….prom`)"
    )
    pushgateway_url: Annotated[str, Field(pattern=r"^https?://[^\s@]+$")] | None = Field(
        default=None, description="after each submit and collect, push the metrics to this Pushgateway"
    )
    lexicon_dir: Path | None = Field(
        default=None, description="directory of lexicon packs of your own; a file there takes the place of ours"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least important log lines to print"
    )
    log_format: Literal["auto", "json", "text"] = Field(
        default="auto", description="`auto` is text on a terminal and JSON elsewhere"
    )

    @model_validator(mode="after")
    def _claims_outlive_their_run(self) -> Self:
        least = 2 * self.run_limits.seconds + INTENT_WAIT_S
        if self.run_limits.claim_timeout_s < least:
            raise ValueError(
                f"{variable_of('claim_timeout_s')} must be at least {least:g}: a run claims for "
                f"{variable_of('run_seconds')}, sends for as long again, and may wait {INTENT_WAIT_S} s for its turn; "
                "with less, other runs would take its claims away while it works"
            )
        return self

    @property
    def run_limits(self) -> "RunLimits":
        """The limits of a run: what is set, or the default of the environment (any other name counts as dev).

        A longer run makes the default of the claim timeout longer too.
        """
        usual = ENVIRONMENTS.get(self.environment, ENVIRONMENTS["dev"])
        seconds = self.run_seconds or usual.seconds
        return RunLimits(
            jobs=self.jobs_per_run or usual.jobs,
            seconds=seconds,
            claim_timeout_s=self.claim_timeout_s or max(usual.claim_timeout_s, 2 * seconds + INTENT_WAIT_S),
        )

    @property
    def provider_address(self) -> str:
        return self.provider_base_url or PROVIDER_ADDRESS

    @property
    def token_limits(self) -> dict[str, int]:
        pairs = (pair.rsplit("=", 1) for pair in self.enqueued_token_limits.split(",") if pair)
        return {model: int(tokens) for model, tokens in pairs}

    @property
    def base_urls(self) -> frozenset[str]:
        return frozenset(url.strip() for url in self.allowed_base_urls.split(",") if url.strip())

    def require_database_url(self) -> SecretStr:
        if self.database_url is None:
            raise ConfigurationError(
                "DATABASE_URL is not set: set it to a PostgreSQL URL (postgresql://user@host/database), "
                "or to `embedded` to try things out on a server of our own"
            )
        return self.database_url


def variable_of(field: str) -> str:
    return UNPREFIXED.get(field, PREFIX + field.upper())


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Empty is unset, as in a manifest that leaves a value blank."""
    fields = {variable_of(field): field for field in Settings.model_fields}
    unknown = sorted(name for name in environ if name.startswith(PREFIX) and name not in fields)
    if unknown:
        near = difflib.get_close_matches(unknown[0], fields, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigurationError(f"{unknown[0]} is not a setting{hint}")
    given = {field: environ[name] for name, field in fields.items() if environ.get(name)}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        lines = [_said(e["loc"], e["msg"]) for e in error.errors(include_input=False)]
    raise ConfigurationError("; ".join(lines))


def _said(place: tuple[int | str, ...], message: str) -> str:
    """What is wrong with several settings together has no place, and names them itself."""
    plain = message.removeprefix("Value error, ")
    return f"{variable_of(str(place[0]))}: {plain}" if place else plain
