"""Real parts for every test: a PostgreSQL server a worker process, a fresh database a test.

The server is embedded, or the one that TEST_DATABASE_URL names (its user must be able to create databases and
roles). DATABASE_URL may be somebody's production: it is removed before anything can read it.
"""

import os
import secrets
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.db import Connection
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.migrate import migrate

for name in [n for n in os.environ if n in {"DATABASE_URL", "OPENAI_API_KEY"} or n.startswith("REWRITE_BATCH_")]:
    del os.environ[name]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Where an administrator connects."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    with private_directory("tests") as directory, running_postgres(directory / "postgres") as url:
        yield url


@pytest.fixture(scope="session")
def template(server: str) -> Iterator[str]:
    """A migrated database to copy."""
    with new_database(server) as name:
        with db.connect(SecretStr(make_conninfo(server, dbname=name)), purpose="tests") as connection:
            migrate(connection)
        yield name


class new_database:  # noqa: N801  reads like the function it is
    """A database that is gone after the block."""

    def __init__(self, server: str, template: str = "template0") -> None:
        self.server = server
        self.template = template
        self.name = f"rb_{secrets.token_hex(8)}"

    def __enter__(self) -> str:
        self._administer("CREATE DATABASE {} TEMPLATE {}", self.name, self.template)
        return self.name

    def __exit__(self, *_: object) -> None:
        self._administer("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)

    def _administer(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))  # pyright: ignore[reportArgumentType]  both statements are above


@pytest.fixture
def database(server: str, template: str) -> Iterator[SecretStr]:
    """The URL of a migrated database of this test's own."""
    with new_database(server, template) as name:
        yield SecretStr(make_conninfo(server, dbname=name))


@pytest.fixture
def empty_database(server: str) -> Iterator[SecretStr]:
    with new_database(server) as name:
        yield SecretStr(make_conninfo(server, dbname=name))


@pytest.fixture
def connection(database: SecretStr) -> Iterator[Connection]:
    """Connected as the administrator; psycopg's own errors come through, which tests look at."""
    with psycopg.connect(database.get_secret_value(), autocommit=True, prepare_threshold=None) as connected:
        yield connected
