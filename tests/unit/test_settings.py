"""Settings that only make sense together, and what a person is told when they do not."""

import pytest

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
