"""PgBouncer in transaction mode: each transaction may meet another server session. Nothing may be kept in one."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from pydantic import SecretStr

from rewrite_batch import cancel, db
from rewrite_batch.db import Connection
from rewrite_batch.settings import Settings, load_settings
from rewrite_batch.simulator.process import Simulator, running_simulator
from rewrite_batch.submit.run import submit
from tests.items import enqueue_one, item_document

KEY = "sk-pooling"
WHAT_A_SESSION_KEEPS = """
SELECT 'prepared statement', name FROM pg_prepared_statements
UNION ALL SELECT 'cursor', name FROM pg_cursors WHERE is_holdable
UNION ALL SELECT 'advisory lock', objid::text FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
UNION ALL SELECT 'temporary table', relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'
UNION ALL SELECT 'setting', name FROM pg_settings WHERE source = 'session' AND setting <> ''
UNION ALL SELECT 'channel', pg_listening_channels()
"""


class OfAPool(psycopg.Connection[TupleRow]):
    """Before every transaction, and every statement outside of one, the session forgets all it was told."""

    def execute(self, *values: Any, **named: Any) -> Any:
        self._forget()
        return super().execute(*values, **named)

    @contextmanager
    def transaction(self, *values: Any, **named: Any) -> Generator[psycopg.Transaction]:
        self._forget()
        with super().transaction(*values, **named) as transaction:
            yield transaction

    def _forget(self) -> None:
        if self.info.transaction_status == TransactionStatus.IDLE:
            super().execute("DISCARD ALL")


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    with running_simulator(tmp_path_factory.mktemp("provider") / "state", KEY, time_scale=0) as running:
        yield running


@pytest.fixture
def settings(simulator: Simulator, tmp_path: Path) -> Settings:
    simulator.reset()
    return load_settings(
        {
            "OPENAI_API_KEY": KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(tmp_path / "spool"),
            "REWRITE_BATCH_RETRY_BASE_S": "0.01",
        }
    )


def a_bit_of_everything(connection: Connection, claimer: Connection, settings: Settings, simulator: Simulator) -> None:
    """Claims, refusals, intents, a lost create, a reconcile, a release, a cancel."""
    for changes in ({"target_locale": "es"}, {"target_locale": "de"}):
        enqueue_one(connection, item_document(**changes))
    refused = item_document()
    refused["routing_decision"]["prompt_version"] = "v999"
    enqueue_one(connection, refused)
    simulator.arm({"operation": "batches.create", "kind": "reset_after"})
    assert submit(connection, settings, run_id=uuid4(), claimer=claimer).undecided == 1
    assert submit(connection, settings, run_id=uuid4(), claimer=claimer).reconciled.adopted == 1
    job = enqueue_one(connection, item_document())
    found = cancel.find(connection, job_ids=[job])
    cancel.cancel(connection, found.criteria, uuid4(), cancel_at_provider=lambda _id, _url: None)
    states = connection.execute("SELECT status, count(*) FROM rewrite_jobs GROUP BY status ORDER BY status").fetchall()
    assert states == [("batch_submitted", 2), ("canceled", 1), ("failed", 1)]


def test_every_transaction_may_meet_a_session_that_knows_nothing(
    database: SecretStr, settings: Settings, simulator: Simulator
) -> None:
    with ExitStack() as held:
        pooled = [
            held.enter_context(OfAPool.connect(database.get_secret_value(), autocommit=True, prepare_threshold=None))
            for _ in range(2)
        ]
        a_bit_of_everything(pooled[0], pooled[1], settings, simulator)


def test_a_session_keeps_nothing_of_what_was_done_in_it(
    database: SecretStr, settings: Settings, simulator: Simulator
) -> None:
    with (
        db.connect(database, purpose="submit") as connection,
        db.connect(database, purpose="submit") as claimer,
    ):
        before = connection.execute(WHAT_A_SESSION_KEEPS.encode()).fetchall()
        for _ in range(6):  # more often than a statement is run before psycopg would prepare it
            connection.execute("SELECT 1")
        a_bit_of_everything(connection, claimer, settings, simulator)
        for each in (connection, claimer):
            assert each.execute(WHAT_A_SESSION_KEEPS.encode()).fetchall() == before
