"""A migrated database, by its address."""

import pytest
from pydantic import SecretStr


@pytest.fixture
def migrated_url(database: SecretStr) -> str:
    return database.get_secret_value()
