"""Settings that only make sense together, and what a person is told when they do not."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from rewrite_batch.errors import AddressNotAllowed, ConfigurationError
from rewrite_batch.provider.client import allowed_address
from rewrite_batch.settings import ENVIRONMENTS, load_settings


@pytest.mark.parametrize("environment", [*ENVIRONMENTS, "elsewhere"])
def test_the_defaults_of_every_environment_agree_with_each_other(environment: str) -> None:
    limits = load_settings({"REWRITE_BATCH_ENVIRONMENT": environment}).run_limits
    assert limits == ENVIRONMENTS.get(environment, ENVIRONMENTS["dev"])


def test_a_claim_timeout_shorter_than_a_run_can_last_is_refused_with_advice() -> None:
    given = {"REWRITE_BATCH_RUN_SECONDS": "200", "REWRITE_BATCH_CLAIM_TIMEOUT_S": "459"}
    with pytest.raises(ConfigurationError, match=r"^REWRITE_BATCH_CLAIM_TIMEOUT_S must be at least 460: .*RUN_SECONDS"):
        load_settings(given)
    assert load_settings({**given, "REWRITE_BATCH_CLAIM_TIMEOUT_S": "460"}).run_limits.claim_timeout_s == 460


def test_a_claim_timeout_too_short_for_the_default_run_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 300"):
        load_settings({"REWRITE_BATCH_CLAIM_TIMEOUT_S": "60"})


def test_a_longer_run_makes_the_default_claim_timeout_longer() -> None:
    assert load_settings({"REWRITE_BATCH_RUN_SECONDS": "3600"}).run_limits.claim_timeout_s == 7_260


@pytest.mark.parametrize(
    "address", ["https://api.openai.com/v1", "https://API.openai.com:443/v1/", "https://eu.example/v1", None]
)
def test_the_key_goes_to_an_address_that_a_setting_names(address: str | None) -> None:
    settings = load_settings({"REWRITE_BATCH_ALLOWED_BASE_URLS": "https://EU.example/v1/, https://x:port/v1"})
    assert allowed_address(settings, address) == address or address is None


@pytest.mark.parametrize(
    "address",
    ["https://other.example/v1", "http://api.openai.com/v1", "https://api.openai.com:444/v1", "https://api.openai.com"],
)
def test_the_key_goes_to_no_other_address(address: str) -> None:
    with pytest.raises(AddressNotAllowed, match="REWRITE_BATCH_ALLOWED_BASE_URLS"):
        allowed_address(load_settings({}), address)


CANARY = "zanahoria-canary-7731"
SECRETS = {
    "DATABASE_URL": f"postgresql://worker:{CANARY}@db.example/app",
    "OPENAI_API_KEY": f"sk-{CANARY}",
}


def test_no_secret_is_shown_however_settings_are_printed() -> None:
    settings = load_settings(SECRETS)
    shown = [repr(settings), str(settings), f"{settings!r}", settings.model_dump_json(), str(settings.model_dump())]
    shown += [repr(value) for value in settings.model_dump().values()]
    assert [text for text in shown if CANARY in text] == []
    assert settings.require_database_url().get_secret_value() == SECRETS["DATABASE_URL"]


@pytest.mark.parametrize(
    "variable",
    [
        "REWRITE_BATCH_PROVIDER_BASE_URL", "REWRITE_BATCH_PUSHGATEWAY_URL", "REWRITE_BATCH_JOBS_PER_RUN",
        "REWRITE_BATCH_ENQUEUED_TOKEN_LIMITS", "REWRITE_BATCH_ENVIRONMENT", "REWRITE_BATCH_WORKER",
        "REWRITE_BATCH_DAILY_BUDGET_USD", "REWRITE_BATCH_GROUPING", "REWRITE_BATCH_LOG_LEVEL",
    ],
)  # fmt: skip
def test_a_value_that_is_refused_is_named_and_not_quoted(variable: str) -> None:
    """Somebody may have pasted a secret into the wrong variable."""
    with pytest.raises(ConfigurationError, match=variable) as refused:
        load_settings({**SECRETS, variable: f"https://user:{CANARY}@example/ x"})
    assert CANARY not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.parametrize(
    "key", [f"sk-{CANARY}\n", f" sk-{CANARY}", f"sk {CANARY}", f"sk-{CANARY}ü", f"sk-{CANARY}\x00"]
)
def test_a_key_that_fits_in_no_header_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^OPENAI_API_KEY: must be one word in ASCII") as refused:
        load_settings({"OPENAI_API_KEY": key})
    assert CANARY not in str(refused.value)


def test_settings_are_frozen_and_unset_is_not_a_default() -> None:
    settings = load_settings({"DATABASE_URL": "", "OPENAI_API_KEY": ""})
    assert (settings.database_url, settings.openai_api_key) == (None, None)
    assert settings.model_fields_set == set()
    with pytest.raises(ConfigurationError, match="DATABASE_URL is not set: set it to"):
        settings.require_database_url()
    with pytest.raises(ValidationError, match="frozen"):
        settings.environment = "prod"  # pyright: ignore[reportAttributeAccessIssue]  that it cannot is the test


def test_nothing_else_reads_the_environment() -> None:
    reads = re.compile(r"os\.environ|os\.getenv|getenv\(")
    package = Path(load_settings.__code__.co_filename).parent
    found = {
        path.relative_to(package).as_posix(): [line for line in path.read_text().splitlines() if reads.search(line)]
        for path in package.rglob("*.py")
    }
    assert {path: len(lines) for path, lines in found.items() if lines} == {"cli/app.py": 1, "cli/setup.py": 1}
