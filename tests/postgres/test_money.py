"""Money, whatever happens: random days of submits, collects, crashes, expiries and cancels; then books are compared.

After every step: each reservation is open while its batch is, then settled if anything was billed and released if not;
the three add up to what was reserved; what was settled is what the ledger says. At the end: our ledger is the
provider's bill, line by line and to the last digit, priced here by an arithmetic of its own from the book's file.
"""

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from rewrite_batch.cancel import Criteria, cancel
from rewrite_batch.collect.run import collect
from rewrite_batch.errors import RewriteBatchError
from rewrite_batch.provider import batches as provider_batches
from rewrite_batch.provider.client import provider_client
from rewrite_batch.submit.run import submit
from tests.crash.world import AGE_CLAIMS, AGE_CREATES, AGE_LEASES
from tests.postgres.collect_house import NOW, House, house, provider

__all__ = ["house", "provider"]

STEPS = 16
SEEDS = int(os.environ.get("MONEY_SEEDS", "3"))  # more, by hand, for a longer look
MODELS = ["gpt-5.2", "gpt-5-mini", "gpt-5.2", "gpt-6-unpriced"]
FINAL = {"completed", "failed", "canceled"}
CREATE_FAULTS: list[dict[str, Any]] = [
    {"kind": "reset_before"},
    {"kind": "reset_after"},
    {"kind": "status", "code": 500},
    {"kind": "status", "code": 500, "after_work": True},
]


class Crash(BaseException):
    """The process is gone: nothing after this line reaches the database."""


class Day:
    def __init__(self, house: House, seed: int) -> None:
        self.house = house
        self.chance = random.Random(seed)
        self.crashes = 0
        self.steps: list[Callable[[], None]] = [
            self.enqueue, self.submit, self.collect, self.crashed_submit, self.crashed_collect, self.doubtful_create,
            self.end_somehow, self.cancel_jobs, self.cancel_batch, self.bad_lines,
        ]  # fmt: skip

    def step(self) -> None:
        self.chance.choice(self.steps)()

    def enqueue(self) -> None:
        self.house.enqueue(self.chance.randint(1, 4), model=self.chance.choice(MODELS), max_attempts=3)

    def submit(self, die_at: int | None = None) -> None:
        self.age()
        self.run(lambda c, r, p: submit(c, self.house.settings(), run_id=uuid4(), claimer=r, progress=p), die_at)

    def collect(self, die_at: int | None = None) -> None:
        self.age()
        self.run(lambda c, r, p: collect(c, r, self.house.settings(), run_id=uuid4(), backoff=NOW, progress=p), die_at)

    def crashed_submit(self) -> None:
        self.enqueue()
        self.submit(self.chance.randint(1, 4))

    def crashed_collect(self) -> None:
        self.house.simulator.finish_all()
        self.collect(self.chance.randint(1, 4))

    def doubtful_create(self) -> None:
        self.house.simulator.arm({"operation": "batches.create", **self.chance.choice(CREATE_FAULTS)})
        self.enqueue()
        self.submit()

    def end_somehow(self) -> None:
        """The provider ends a batch early: what ran is billed, the rest never was."""
        live = [
            b["id"] for b in self.house.simulator.state()["batches"] if b["status"] in {"validating", "in_progress"}
        ]
        if live:
            status = self.chance.choice(["expired", "cancelled", "completed"])
            self.house.simulator.end_batch(self.chance.choice(live), status, share=self.chance.choice([0.0, 0.5, 1.0]))

    def bad_lines(self) -> None:
        kind = self.chance.choice(["refusal", "duplicate", "legacy_usage", "truncated"])
        self.house.simulator.arm({"operation": "line", "kind": kind, "index": 0, "times": 1})

    def cancel_jobs(self) -> None:
        jobs = [row[0] for row in self.house.rows("SELECT job_id FROM rewrite_jobs ORDER BY job_id")]
        if jobs:
            cancel(self.house.connection, Criteria(job_ids=(self.chance.choice(jobs),)), uuid4())

    def cancel_batch(self) -> None:
        batches = [row[0] for row in self.house.rows("SELECT batch_id FROM rewrite_batches WHERE state = 'submitted'")]
        if batches:
            criteria = Criteria(batch_ids=(self.chance.choice(batches),))
            cancel(self.house.connection, criteria, uuid4(), cancel_at_provider=self.cancel_at_provider)

    def cancel_at_provider(self, provider_batch_id: str, base_url: str | None) -> None:
        with provider_client(self.house.settings(), base_url) as client:
            provider_batches.cancel(client, provider_batch_id, base_s=0.01)

    def age(self) -> None:
        """Time goes by: what the dead held can be taken."""
        for statement in (AGE_CLAIMS, AGE_LEASES, AGE_CREATES):
            self.house.connection.execute(statement.format(everybody="true").encode(), {"runs": []})

    def run(self, command: Callable[[Any, Any, Any], object], die_at: int | None) -> None:
        with self.house.connected() as connection, self.house.connected() as reader:
            told = 0

            def progress(_step: str, _count: int) -> None:
                nonlocal told
                told += 1
                if told == die_at:
                    self.crashes += 1
                    connection.close()
                    reader.close()
                    raise Crash

            with suppress(Crash, RewriteBatchError, psycopg.Error):
                command(connection, reader, progress)

    def check_reservations(self) -> None:
        wrong = self.house.rows(
            """SELECT b.batch_id, b.state, t.state, t.settled_usd FROM rewrite_batches AS b
            FULL JOIN token_reservations AS t USING (batch_id)
            WHERE t.state IS DISTINCT FROM CASE
                WHEN b.state NOT IN ('settled', 'abandoned') THEN 'open'
                WHEN EXISTS (SELECT FROM provider_calls AS c WHERE c.batch_id = b.batch_id) THEN 'settled'
                ELSE 'released'
            END
            OR (t.state = 'settled') <> (t.settled_tokens IS NOT NULL)
            OR (t.state = 'settled' AND coalesce(t.settled_usd, 0) <>
                (SELECT coalesce(sum(cost_usd), 0) FROM provider_calls AS c WHERE c.batch_id = b.batch_id))
            OR (b.state = 'abandoned' AND t.state <> 'released')"""
        )
        assert wrong == []
        reserved, opened, settled, released = self.house.rows(
            """SELECT coalesce(sum(reserved_usd), 0), coalesce(sum(reserved_usd) FILTER (WHERE state = 'open'), 0),
            coalesce(sum(reserved_usd) FILTER (WHERE state = 'settled'), 0),
            coalesce(sum(reserved_usd) FILTER (WHERE state = 'released'), 0) FROM token_reservations"""
        )[0]
        assert reserved == opened + settled + released

    def until_all_is_over(self) -> None:
        self.house.simulator.disarm()
        for _ in range(12):
            self.submit()
            self.house.simulator.finish_all()
            self.collect()
            self.check_reservations()
            if set(self.house.states()) <= FINAL and not self.house.rows(OPEN):
                return
        pytest.fail(f"not over after twelve ticks: {self.house.states()}")


OPEN = "SELECT 1 FROM token_reservations WHERE state = 'open'"
RATES = json.loads((Path(__file__).parents[2] / "rewrite_batch" / "prices.json").read_text())["books"][0]["models"]


def bill(row: dict[str, Any]) -> Fraction | None:
    """What the provider asks for a line of its ledger, by the book's figures."""
    name = row["model"][:-11] if row["model"][-11:-10] == "-" and row["model"][-10:-6].isdigit() else row["model"]
    if name not in RATES:
        return None
    rates = {kind: Fraction(rate) for kind, rate in RATES[name]["batch"].items()}
    plain = row["input_tokens"] - row["cached_tokens"] - row["cache_write_tokens"]
    millionths = plain * rates["input"] + row["cached_tokens"] * rates["cached_input"]
    millionths += row["cache_write_tokens"] * rates["cache_write"] + row["output_tokens"] * rates["output"]
    return millionths / 1_000_000


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_books_agree_whatever_happened(house: House, seed: int) -> None:
    day = Day(house, seed)
    day.enqueue()
    day.submit()
    for _ in range(STEPS):
        day.step()
        day.check_reservations()
    day.until_all_is_over()
    house.check_bill()
    theirs = {row["custom_id"]: bill(row) for row in house.simulator.ledger()}
    ours: dict[str, Decimal | None] = dict(
        house.rows("SELECT replace(batch_id::text, '-', '') || '-' || batch_item_index, cost_usd FROM provider_calls")
    )
    assert theirs
    shutil.rmtree(house.spool, ignore_errors=True)  # what the dead left there is swept when it is old
    assert {key: None if cost is None else Fraction(cost) for key, cost in ours.items()} == theirs


def test_what_the_checks_said_stays_with_the_item_kept_or_not(house: House) -> None:
    house.simulator.arm({"operation": "line", "kind": "wrong_label", "index": 0})
    house.simulator.arm({"operation": "line", "kind": "refusal", "index": 1})
    house.over(3)
    house.collect()
    found = house.rows(
        """SELECT reason, violations::text[], lexicon_version IS NOT NULL FROM rewrite_batch_items
        ORDER BY batch_item_index"""
    )
    assert found[0][0] == "language"
    assert "non_target_locale" in found[0][1]
    assert found[1:] == [("refusal", None, False), ("kept", [], True)]
