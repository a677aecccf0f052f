"""Money, whatever happens: random days of submits, collects, crashes, expiries and cancels; then books are compared.

The day keeps books of its own: what each submit set aside, counted from the items at first sight and priced here by an
arithmetic of its own from the book's file, and never looked at again. After every step these books are open + settled +
released, batch by batch; each reservation is open while its batch is, then settled if anything was billed and released
if not. At the end: our ledger is the provider's bill, line by line and to the last digit, and so is what was settled,
batch by batch. Every kind of step is in every day, in any order, and must have happened.
"""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

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

MORE_STEPS = 8
SEEDS = int(os.environ.get("MONEY_SEEDS", "3"))  # more, by hand, for a longer look
MODELS = ["gpt-5.2", "gpt-5-mini", "gpt-5.2", "gpt-6-unpriced"]
EVERY_DAY = {"crashed submit", "crashed collect", "doubtful create", "expired", "canceled jobs", "canceled batches"}
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
        self.happened: Counter[str] = Counter()
        self.reserved: dict[UUID, tuple[int, Fraction | None]] = {}
        self.steps: list[Callable[[], None]] = [
            self.enqueue, self.submit, self.collect, self.crashed_submit, self.crashed_collect, self.doubtful_create,
            self.end_somehow, self.expire, self.cancel_jobs, self.cancel_batch, self.bad_lines,
        ]  # fmt: skip

    def plan(self) -> list[Callable[[], None]]:
        """Each kind once, and some once more."""
        steps = [*self.steps, *self.chance.choices(self.steps, k=MORE_STEPS)]
        self.chance.shuffle(steps)
        return steps

    def enqueue(self) -> None:
        self.house.enqueue(self.chance.randint(1, 4), model=self.chance.choice(MODELS), max_attempts=3)

    def submit(self, die_at: int | None = None) -> None:
        self.age()
        said = self.run(lambda c, r, p: submit(c, self.house.settings(), run_id=uuid4(), claimer=r, progress=p), die_at)
        self.keep_books()
        batches: list[dict[str, Any]] = said.batches if said else []
        for batch in batches:
            tokens, usd = self.reserved[UUID(batch["batch_id"])]
            reported = batch["estimated_usd"]
            assert tokens == batch["estimated_input_tokens"]
            assert usd == (None if reported is None else Fraction(reported))

    def collect(self, die_at: int | None = None) -> None:
        self.age()
        self.run(lambda c, r, p: collect(c, r, self.house.settings(), run_id=uuid4(), backoff=NOW, progress=p), die_at)

    def crashed_submit(self) -> None:
        self.enqueue()
        self.submit(self.chance.randint(1, 4))
        self.happened["crashed submit"] += 1

    def crashed_collect(self) -> None:
        self.something_live()
        self.house.simulator.finish_all()
        self.collect(self.chance.randint(1, 3))
        self.happened["crashed collect"] += 1

    def doubtful_create(self) -> None:
        fault = self.house.simulator.arm({"operation": "batches.create", **self.chance.choice(CREATE_FAULTS)})
        self.enqueue()
        self.submit()
        self.happened["doubtful create"] += self.house.simulator.fired(fault)

    def something_live(self) -> list[str]:
        """Provider batches that have not ended; made, if there is none."""
        for _ in range(5):
            batches = self.house.simulator.state()["batches"]
            if live := [batch["id"] for batch in batches if batch["status"] in {"validating", "in_progress"}]:
                return live
            self.enqueue()
            self.submit()
        pytest.fail("nothing goes out any more")

    def expire(self) -> None:
        """The window ends, and half of it had run."""
        live = self.chance.choice(self.something_live())
        self.house.simulator.end_batch(live, "expired", share=0.5)
        self.happened["expired"] += 1

    def end_somehow(self) -> None:
        """The provider ends a batch early: what ran is billed, the rest never was."""
        live = self.chance.choice(self.something_live())
        status = self.chance.choice(["expired", "cancelled", "completed"])
        self.house.simulator.end_batch(live, status, share=self.chance.choice([0.0, 0.5, 1.0]))

    def cancel_jobs(self) -> None:
        self.enqueue()
        jobs = [row[0] for row in self.house.rows(OPEN_JOBS)]
        done = cancel(self.house.connection, Criteria(job_ids=(self.chance.choice(jobs),)), uuid4())
        self.happened["canceled jobs"] += done.total

    def cancel_batch(self) -> None:
        self.something_live()
        batches = [row[0] for row in self.house.rows("SELECT batch_id FROM rewrite_batches WHERE state = 'submitted'")]
        if batches:
            criteria = Criteria(batch_ids=(self.chance.choice(batches),))
            done = cancel(self.house.connection, criteria, uuid4(), cancel_at_provider=self.cancel_at_provider)
            self.happened["canceled batches"] += len(done.provider_canceled)

    def bad_lines(self) -> None:
        kind = self.chance.choice(["refusal", "duplicate", "legacy_usage", "truncated"])
        self.house.simulator.arm({"operation": "line", "kind": kind, "index": 0, "times": 1})

    def cancel_at_provider(self, provider_batch_id: str, base_url: str | None) -> None:
        with provider_client(self.house.settings(), base_url) as client:
            provider_batches.cancel(client, provider_batch_id, base_s=0.01)

    def age(self) -> None:
        """Time goes by: what the dead held can be taken."""
        for statement in (AGE_CLAIMS, AGE_LEASES, AGE_CREATES):
            self.house.connection.execute(statement.format(everybody="true").encode(), {"runs": []})

    def run(self, command: Callable[[Any, Any, Any], Any], die_at: int | None) -> Any:
        """What the command says; None when it died at the step that was named. Dying late is not dying: it must not
        count as a crash."""
        with self.house.connected() as connection, self.house.connected() as reader:
            told = 0

            def progress(_step: str, _count: int) -> None:
                nonlocal told
                told += 1
                if told == die_at:
                    connection.close()
                    reader.close()
                    raise Crash

            try:
                return command(connection, reader, progress)
            except (Crash, RewriteBatchError, psycopg.Error):  # the ends of its threads break off too
                assert die_at is not None
                assert told >= die_at
                return None
            finally:
                assert die_at is None or told >= die_at

    def keep_books(self) -> None:
        """What is new was set aside by this submit, dead or alive."""
        for batch, model, tokens_in, tokens_out in self.house.rows(
            """SELECT batch_id, b.model, sum(i.estimated_input_tokens), sum(i.estimated_output_tokens)
            FROM rewrite_batches AS b INNER JOIN rewrite_batch_items AS i USING (batch_id) GROUP BY batch_id"""
        ):
            price = cost(model, {"input": tokens_in, "output": tokens_out})
            self.reserved.setdefault(batch, (tokens_in, price))

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
        table: dict[str, dict[UUID, tuple[int, Fraction | None]]] = {"open": {}, "settled": {}, "released": {}}
        for state, batch, tokens, usd in self.house.rows(
            "SELECT state, batch_id, reserved_tokens, reserved_usd FROM token_reservations"
        ):
            table[state][batch] = (tokens, None if usd is None else Fraction(usd))
        assert table["open"] | table["settled"] | table["released"] == self.reserved
        assert total(self.reserved) == sum((total(part) for part in table.values()), Fraction())

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


OPEN_JOBS = "SELECT job_id FROM rewrite_jobs WHERE status NOT IN ('completed', 'failed', 'canceled') ORDER BY job_id"
OPEN = "SELECT 1 FROM token_reservations WHERE state = 'open'"
RATES = json.loads((Path(__file__).parents[2] / "rewrite_batch" / "prices.json").read_text())["books"][0]["models"]


def cost(model: str, tokens: dict[str, int]) -> Fraction | None:
    """By the book's figures; None when it has none."""
    name = model[:-11] if model[-11:-10] == "-" and model[-10:-6].isdigit() else model
    if name not in RATES:
        return None
    return (
        sum((Fraction(RATES[name]["batch"][kind]) * int(count) for kind, count in tokens.items()), Fraction()) / 10**6
    )


def bill(row: dict[str, Any]) -> Fraction | None:
    """What the provider asks for a line of its ledger."""
    cached, written = row["cached_tokens"], row["cache_write_tokens"]
    plain = row["input_tokens"] - cached - written
    kinds = {"input": plain, "cached_input": cached, "cache_write": written, "output": row["output_tokens"]}
    return cost(row["model"], kinds)


def total(reserved: dict[UUID, tuple[int, Fraction | None]]) -> Fraction:
    return sum((usd or Fraction() for _, usd in reserved.values()), Fraction())


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_books_agree_whatever_happened(house: House, seed: int) -> None:
    day = Day(house, seed)
    day.enqueue()
    day.submit()
    for step in day.plan():
        step()
        day.check_reservations()
    day.until_all_is_over()
    assert set(+day.happened) >= EVERY_DAY
    house.check_bill()
    ledger = house.simulator.ledger()
    theirs = {row["custom_id"]: bill(row) for row in ledger}
    ours: dict[str, Decimal | None] = dict(
        house.rows("SELECT replace(batch_id::text, '-', '') || '-' || batch_item_index, cost_usd FROM provider_calls")
    )
    assert theirs
    assert len(theirs) == len(ledger)
    shutil.rmtree(house.spool, ignore_errors=True)  # what the dead left there is swept when it is old
    assert {key: None if cost is None else Fraction(cost) for key, cost in ours.items()} == theirs
    settled: dict[str, Decimal | None] = dict(
        house.rows(
            "SELECT replace(batch_id::text, '-', ''), settled_usd FROM token_reservations WHERE state = 'settled'"
        )
    )
    assert {key: None if usd is None else Fraction(usd) for key, usd in settled.items()} == by_batch(theirs)


def by_batch(lines: dict[str, Fraction | None]) -> dict[str, Fraction | None]:
    """What nobody can price makes the whole batch unpriced, never cheaper."""
    batches: dict[str, Fraction | None] = {}
    for name, price in lines.items():
        batch = name.partition("-")[0]
        so_far = batches.get(batch, Fraction())
        batches[batch] = None if price is None or so_far is None else so_far + price
    return batches


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
