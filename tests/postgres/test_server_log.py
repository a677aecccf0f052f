"""What the server itself writes down: refused rows must not put words into its log."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.db import Connection
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.migrate import migrate
from tests.items import claim, enqueue_one, item_document, submit

CANARY = "zanahoria-canary-7731"


@pytest.fixture
def directory() -> Iterator[Path]:
    with private_directory("log") as made:
        yield made


@pytest.fixture
def own_server(directory: Path) -> Iterator[Connection]:
    """A server of this test's own, whose log can be read; it logs as servers do by default."""
    with running_postgres(directory / "postgres") as url:
        with db.connect(SecretStr(url), purpose="test") as connection:
            migrate(connection)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET log_error_verbosity = 'default'")
            yield connection


def logs_in(directory: Path) -> str:
    return "".join(path.read_text(errors="replace") for path in directory.rglob("*log*") if path.is_file())


def test_a_refused_enqueue_leaves_no_words_in_the_servers_log(own_server: Connection, directory: Path) -> None:
    taken = item_document()
    enqueue_one(own_server, taken)
    snapshot = taken["rewrite_request"]["recipient_snapshot_id"]
    changes = ({"lane": "x"}, {"home_id": None}, {"home_id": CANARY}, {"recipient_snapshot_id": snapshot})
    broken = [json.dumps([item_document(text=CANARY, **change)]) for change in changes]
    broken += [f'[{{"{CANARY}', json.dumps([item_document(text=CANARY + chr(0))]), json.dumps({"a": CANARY})]
    for items in broken:
        with pytest.raises(psycopg.Error):
            own_server.execute("SELECT enqueue_rewrites(%s)", [items])

    assert logs_in(directory).count("ERROR:  enqueue refused") == len(broken)
    assert CANARY not in logs_in(directory)


def test_what_a_worker_can_get_wrong_leaves_no_words_in_the_servers_log(
    own_server: Connection, directory: Path
) -> None:
    job = enqueue_one(own_server, item_document(text=CANARY))
    claim(own_server, job)
    submit(own_server, job)
    for change in ("status = 'completed'", "status = NULL", "status = 'done'", "updated_at = NULL"):
        with pytest.raises(psycopg.errors.CheckViolation):
            own_server.execute(f"UPDATE rewrite_requests SET {change}".encode())
    for text, language, model in ((CANARY, "en", "m"), (CANARY, "es", None), (" ", "es", "m"), (None, "es", "m")):
        with pytest.raises(psycopg.errors.CheckViolation):
            own_server.execute(
                """INSERT INTO rewrite_outputs SELECT rewrite_request_id, recipient_user_id, %s, %s, 'es', %s, 'openai',
                'v1', 'v1', 'none', '{}' FROM rewrite_jobs""",
                [text, language, model],
            )

    assert logs_in(directory).count("breaks the rule") == 8
    assert CANARY not in logs_in(directory)


@pytest.mark.parametrize("setting", ["log_error_verbosity = terse", "log_parameter_max_length = 0"])
def test_a_slow_enqueue_leaves_no_words_in_the_log_of_a_server_that_is_set_as_doctor_says(
    own_server: Connection, directory: Path, setting: str
) -> None:
    """A server that logs slow statements logs their parameters, unless it is told not to: that is not ours to set."""
    own_server.execute("SET log_min_duration_statement = 0")
    with own_server.transaction():
        own_server.execute(f"SET LOCAL {setting}".encode())
        own_server.execute("SELECT enqueue_rewrites(%s)", [json.dumps([item_document(text=CANARY)])])
    assert "enqueue_rewrites($1)" in logs_in(directory)
    assert CANARY not in logs_in(directory)

    own_server.execute("SELECT enqueue_rewrites(%s)", [json.dumps([item_document(text=CANARY)])])
    assert CANARY in logs_in(directory), "so the warning is needed"
