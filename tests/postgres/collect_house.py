"""A queue, a provider and a spool, and the two commands as functions: what the tests of collect stand on."""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from openai import OpenAI
from psycopg import sql
from pydantic import SecretStr

from rewrite_batch.check import check
from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.replay import replay
from rewrite_batch.collect.result import CollectResult
from rewrite_batch.collect.run import collect
from rewrite_batch.db import Connection
from rewrite_batch.ids import custom_id
from rewrite_batch.settings import Settings, load_settings
from rewrite_batch.simulator.process import Simulator, running_simulator
from rewrite_batch.submit.run import submit
from tests.items import enqueue_one, item_document

KEY = "sk-collect"
NOW = Backoff(first_s=0, longest_s=0)
TABLES = (
    "rewrite_requests", "rewrite_outputs", "rewrite_jobs", "rewrite_batches", "rewrite_batch_items", "provider_calls",
    "token_reservations", "rewrite_job_events", "outbox_events", "rewrite_alerts", "model_limits",
    "rewrite_provider_batches",
)  # fmt: skip


@dataclass
class House:
    url: str
    connection: Connection
    simulator: Simulator
    spool: Path
    changes: dict[str, str] = field(default_factory=dict[str, str])

    def settings(self, **changes: str) -> Settings:
        names = {f"REWRITE_BATCH_{name.upper()}": value for name, value in {**self.changes, **changes}.items()}
        base = {
            "OPENAI_API_KEY": KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": self.simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(self.spool),
            "REWRITE_BATCH_RETRY_BASE_S": "0.01",
            "REWRITE_BATCH_PROVIDER_TIMEOUT_S": "5",
        }
        return load_settings({**base, **names})

    def enqueue(self, count: int, *, model: str | None = None, max_attempts: int = 2, **changes: Any) -> list[UUID]:
        made: list[UUID] = []
        for number in range(count):
            document = item_document(f"Complaint {number}: turn the music down!", **changes)
            document["max_attempts"] = max_attempts
            if model:
                document["routing_decision"]["model"] = model
            made.append(enqueue_one(self.connection, document))
        return made

    def submit(self) -> None:
        assert submit(self.connection, self.settings(), run_id=uuid4()).exit_code == 0

    def sent(self, count: int, **changes: Any) -> str:
        """So many units at the provider, in one batch; its provider's id."""
        self.enqueue(count, **changes)
        self.submit()
        return self.value("SELECT provider_batch_id FROM rewrite_batches WHERE state = 'submitted'")

    def over(self, count: int, **changes: Any) -> None:
        """So many units in a batch that has ended at the provider."""
        self.sent(count, **changes)
        self.simulator.finish_all()

    def collect(self, *, backoff: Backoff = NOW, keep_dir: Path | None = None, **changes: str) -> CollectResult:
        with self.connected() as connection, self.connected() as reader:
            return collect(
                connection, reader, self.settings(**changes), run_id=uuid4(), backoff=backoff, keep_dir=keep_dir
            )

    def replay(self, directory: Path) -> CollectResult:
        with self.connected() as connection, self.connected() as reader:
            return replay(connection, reader, self.settings(), directory, run_id=uuid4())

    def save_results(self, directory: Path) -> None:
        """The result files of every provider batch, as `collect --keep` would save them."""
        directory.mkdir(mode=0o700)
        ours = dict(self.rows("SELECT provider_batch_id, batch_id FROM rewrite_batches"))
        with OpenAI(base_url=self.simulator.base_url, api_key=KEY) as client:
            for batch in self.simulator.state()["batches"]:
                for kind in ("output", "error"):
                    file_id = batch[f"{kind}_file_id"]
                    if file_id:
                        name = f"{ours[batch['id']]}.{kind}.jsonl"
                        (directory / name).write_bytes(client.files.content(file_id).content)

    def tick(self) -> CollectResult:
        self.submit()
        self.simulator.finish_all()
        return self.collect()

    @contextmanager
    def connected(self) -> Generator[Connection]:
        with psycopg.connect(self.url, autocommit=True, prepare_threshold=None) as connection:
            yield connection

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql.SQL(query)).fetchall()  # pyright: ignore[reportArgumentType]  a test's own

    def value(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def states(self) -> dict[str, int]:
        return dict(self.rows("SELECT status, count(*) FROM rewrite_jobs GROUP BY 1"))

    def reasons(self) -> Counter[str]:
        return Counter(dict(self.rows("SELECT reason, count(*) FROM rewrite_batch_items GROUP BY 1")))

    def alerts(self) -> list[str]:
        return sorted({row[0] for row in self.rows("SELECT kind FROM rewrite_alerts")})

    def batch_id(self) -> UUID:
        return self.value("SELECT batch_id FROM rewrite_batches ORDER BY planned_at DESC LIMIT 1")

    def custom(self, index: int) -> str:
        return custom_id(self.batch_id(), index)

    def job_of(self, index: int) -> UUID:
        return self.value(
            f"""SELECT job_id FROM rewrite_batch_items
            WHERE batch_id = '{self.batch_id()}' AND batch_item_index = {index}"""
        )

    def files_at_provider(self) -> list[str]:
        return [file["filename"] for file in self.simulator.state()["files"] if file["gone"] is None]

    def snapshot(self) -> dict[str, list[Any]]:
        """Every row but the runs' own and the times of polling."""
        skipped = "- 'updated_at' - 'polled_at' - 'lease_token' - 'lease_expires_at'"
        return {
            table: sorted(str(row[0]) for row in self.rows(f"SELECT to_jsonb(t) {skipped} FROM {table} t"))
            for table in TABLES
        }

    def check(self) -> None:
        assert check(self.connection) == []
        assert not self.spool.exists() or list(self.spool.iterdir()) == []
        held = self.rows("SELECT 1 FROM rewrite_batches WHERE lease_token IS NOT NULL AND state <> 'create_sent'")
        assert held == []

    def check_bill(self) -> None:
        """Our ledger is the provider's: line by line, token by token."""
        ours = self.rows(
            """SELECT replace(batch_id::text, '-', '') || '-' || batch_item_index, provider_response_id, input_tokens,
            cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens FROM provider_calls"""
        )
        names = ("custom_id", "response_id", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens")
        theirs = [(*(row[name] for name in names), row["reasoning_tokens"]) for row in self.simulator.ledger()]
        assert sorted(ours) == sorted(theirs)


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    state = tmp_path_factory.mktemp("provider") / "state"
    with running_simulator(state, KEY, time_scale=0, bad_share=0) as simulator:
        yield simulator


@pytest.fixture
def house(provider: Simulator, database: SecretStr, connection: Connection, tmp_path: Path) -> Iterator[House]:
    """However a test ends its day, what must always hold holds."""
    provider.reset()
    made = House(database.get_secret_value(), connection, provider, tmp_path / "spool")
    yield made
    made.check()
