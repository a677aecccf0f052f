"""Cancel: what it finds, what it changes, what it leaves alone, and everybody it may meet on the way."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from pydantic import SecretStr

from rewrite_batch.cancel import MAX_CHUNK, CancelResult, Criteria, cancel, find, language_pair
from rewrite_batch.check import check
from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError, LeaseLost, ProviderUnavailable
from rewrite_batch.reconcile import ledger
from rewrite_batch.settings import PROVIDER_ADDRESS
from rewrite_batch.submit.claim import claim
from tests.items import IN_STATE, complete, enqueue_many, enqueue_one, item_document
from tests.postgres.test_check import collect, intend, planned, register, submitted, travel

OPEN_STATES = ["queued", "processing", "batch_submitted"]


@pytest.fixture
def other(database: SecretStr) -> Iterator[Connection]:
    with psycopg.connect(database.get_secret_value(), autocommit=True, prepare_threshold=None) as connected:
        yield connected


def status_of(connection: Connection, job: UUID) -> str:
    row = connection.execute("SELECT status FROM rewrite_jobs WHERE job_id = %s", [job]).fetchone()
    assert row is not None
    return row[0]


def states(connection: Connection) -> dict[str, int]:
    return dict(connection.execute("SELECT status, count(*) FROM rewrite_jobs GROUP BY status").fetchall())


def of_jobs(*jobs: UUID) -> Criteria:
    return Criteria(job_ids=jobs)


def in_state(connection: Connection, state: str) -> UUID:
    if state not in {"batch_submitted", "completed"}:
        return IN_STATE[state](connection)
    enqueue_many(connection, 1)
    batch_id, jobs = submitted(connection, 1)
    if state == "completed":
        collect(connection, batch_id, jobs, outcome="completed")
    return jobs[0]


@pytest.mark.parametrize("state", OPEN_STATES)
def test_a_job_that_is_not_final_is_canceled_wherever_it_is(connection: Connection, state: str) -> None:
    job, run_id = in_state(connection, state), uuid4()
    result = cancel(connection, of_jobs(job), run_id)
    assert (result.canceled, result.total, result.exit_code) == ({state: 1}, 1, 0)
    row = connection.execute(
        """SELECT j.status, j.last_error, j.finished_at = j.last_error_at, j.batch_id, r.status
        FROM rewrite_jobs j JOIN rewrite_requests r USING (rewrite_request_id)"""
    ).fetchone()
    assert row == ("canceled", "canceled_by_admin", True, None, "canceled")
    event = connection.execute(
        "SELECT from_status, reason, run_id FROM rewrite_job_events WHERE to_status = 'canceled'"
    ).fetchall()
    assert event == [(state, "canceled_by_admin", run_id)]


@pytest.mark.parametrize("state", ["completed", "failed", "canceled"])
def test_a_final_job_is_counted_and_left_alone(connection: Connection, state: str) -> None:
    job = in_state(connection, state)
    before = connection.execute("SELECT * FROM rewrite_jobs").fetchall()
    assert find(connection, job_ids=[job]).already_final == 1
    result = cancel(connection, of_jobs(job), uuid4())
    assert (result.total, result.already_final) == (0, 1)
    assert connection.execute("SELECT * FROM rewrite_jobs").fetchall() == before


def test_an_id_that_nobody_knows_is_counted_as_unknown(connection: Connection) -> None:
    job = enqueue_one(connection)
    found = find(connection, job_ids=[job, uuid4(), uuid4(), job])
    assert (found.by_state["queued"], found.unknown, found.total) == (1, 2, 1)
    result = cancel(connection, found.criteria, uuid4())
    assert (result.total, result.unknown) == (1, 2)


def test_find_changes_nothing(connection: Connection) -> None:
    jobs = enqueue_many(connection, 3)
    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        assert find(connection, job_ids=jobs).total == 3
        assert find(connection, model="gpt-5.2").by_state == {"queued": 3}
    assert states(connection) == {"queued": 3}


def test_the_same_cancel_again_changes_nothing(connection: Connection) -> None:
    jobs = enqueue_many(connection, 3)
    cancel(connection, of_jobs(*jobs), uuid4())
    before = connection.execute("SELECT count(*), max(event_id) FROM rewrite_job_events").fetchone()
    again = cancel(connection, of_jobs(*jobs), uuid4())
    assert (again.total, again.already_final) == (0, 3)
    assert connection.execute("SELECT count(*), max(event_id) FROM rewrite_job_events").fetchone() == before


def pair_document(source: str, target: str, model: str) -> dict[str, object]:
    document = item_document(source_locale=source, target_locale=target)
    document["routing_decision"]["model"] = model
    return document


@pytest.mark.parametrize(
    ("model", "pair", "expected"),
    [
        ("gpt-a", None, {"a-es", "a-fr"}),
        (None, ("en", "es"), {"a-es", "b-es"}),
        ("gpt-a", ("en", "es"), {"a-es"}),
        (None, ("es", "en"), set[str]()),
        ("gpt-c", None, set[str]()),
    ],
)
def test_what_is_queued_for_a_model_or_a_pair_is_canceled_and_nothing_else(
    connection: Connection, model: str | None, pair: tuple[str, str] | None, expected: set[str]
) -> None:
    jobs = {
        "a-es": enqueue_one(connection, pair_document("en", "es", "gpt-a")),
        "a-fr": enqueue_one(connection, pair_document("en", "fr", "gpt-a")),
        "b-es": enqueue_one(connection, pair_document("en", "es", "gpt-b")),
    }
    found = find(connection, model=model, language_pair=pair)
    assert found.by_state == {"queued": len(expected)}
    assert cancel(connection, found.criteria, uuid4()).total == len(expected)
    assert {name for name, job in jobs.items() if status_of(connection, job) == "canceled"} == expected


def test_of_a_model_only_what_has_not_started_is_canceled(connection: Connection) -> None:
    enqueue_many(connection, 5)
    submitted(connection, 2)
    claim(connection, run_id=uuid4(), limit=2)
    assert cancel(connection, Criteria(model="gpt-5.2"), uuid4()).canceled == {"queued": 1}
    assert states(connection) == {"canceled": 1, "processing": 2, "batch_submitted": 2}


def test_many_are_canceled_in_transactions_of_at_most_a_thousand(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewrite_batch.cancel.PAGE", 1_500)
    enqueue_many(connection, 2 * MAX_CHUNK + 300)
    result = cancel(connection, Criteria(model="gpt-5.2"), uuid4())
    assert result.canceled == {"queued": 2 * MAX_CHUNK + 300}
    rows = connection.execute("SELECT count(*) FROM rewrite_jobs GROUP BY xmin::text ORDER BY 1").fetchall()
    assert [row[0] for row in rows] == [500, 800, MAX_CHUNK]
    assert check(connection) == []


def test_a_cancel_that_was_stopped_half_way_is_finished_by_the_same_command(connection: Connection) -> None:
    jobs = enqueue_many(connection, MAX_CHUNK + 10)
    stops = iter([False, True])
    assert cancel(connection, of_jobs(*jobs), uuid4(), stop=lambda: next(stops)).total == MAX_CHUNK
    assert check(connection) == []
    rest = cancel(connection, of_jobs(*jobs), uuid4())
    assert (rest.total, rest.already_final) == (10, MAX_CHUNK)


@pytest.mark.parametrize(
    "criteria",
    [
        {},
        {"job_ids": [uuid4()], "batch_ids": [uuid4()]},
        {"job_ids": [uuid4()], "model": "m"},
        {"batch_ids": [uuid4()], "language_pair": ("en", "es")},
    ],
)
def test_cancel_wants_one_thing_and_never_guesses(connection: Connection, criteria: dict[str, list[UUID]]) -> None:
    with pytest.raises(ConfigurationError, match="one of these"):
        find(connection, **criteria)  # pyright: ignore[reportArgumentType]  what a careless caller would do


def test_a_language_pair_is_written_from_and_to() -> None:
    assert language_pair("es:en") == ("es", "en")
    for wrong in ("es", "es:", ":en", "es:en:fr", ""):
        with pytest.raises(ConfigurationError, match="from:to"):
            language_pair(wrong)


class Provider:
    """Remembers what it was told to cancel; some it cannot reach."""

    def __init__(self, connection: Connection, *, unreachable: bool = False) -> None:
        self.connection = connection
        self.unreachable = unreachable
        self.told: list[tuple[str, str | None]] = []
        self.states_then: list[dict[str, int]] = []

    def __call__(self, provider_batch_id: str, base_url: str | None) -> None:
        self.states_then.append(states(self.connection))
        if self.unreachable:
            raise ProviderUnavailable("no answer")
        self.told.append((provider_batch_id, base_url))


@pytest.mark.parametrize(
    ("state", "at_provider"),
    [("planned", "no"), ("uploaded", "no"), ("create_sent", "perhaps"), ("submitted", "running")],
)
def test_every_unit_of_a_batch_is_canceled_and_only_a_running_one_is_canceled_at_the_provider(
    connection: Connection, state: str, at_provider: str
) -> None:
    enqueue_many(connection, 3)
    batch_id, run_id, _ = planned(connection, 3)
    travel(connection, batch_id, run_id, state)
    found = find(connection, batch_ids=[batch_id])
    assert (found.total, [batch.at_provider for batch in found.batches]) == (3, [at_provider])
    provider = Provider(connection)
    result = cancel(connection, found.criteria, uuid4(), cancel_at_provider=provider)
    assert result.canceled == {"batch_submitted" if state == "submitted" else "processing": 3}
    assert provider.told == ([(f"batch_{batch_id}", PROVIDER_ADDRESS)] if state == "submitted" else [])
    assert check(connection) == []


def test_the_provider_is_told_after_our_units_are_canceled(connection: Connection) -> None:
    enqueue_many(connection, 2)
    batch_id, _ = submitted(connection)
    provider = Provider(connection)
    result = cancel(connection, Criteria(batch_ids=(batch_id,)), uuid4(), cancel_at_provider=provider)
    assert provider.states_then == [{"canceled": 2}]
    assert result.provider_canceled == [f"batch_{batch_id}"]


def test_a_provider_that_cannot_be_told_is_reported_and_told_by_the_same_command_again(connection: Connection) -> None:
    enqueue_many(connection, 2)
    batch_id, _ = submitted(connection)
    criteria = Criteria(batch_ids=(batch_id,))
    result = cancel(connection, criteria, uuid4(), cancel_at_provider=Provider(connection, unreachable=True))
    assert (result.total, result.provider_failed, result.exit_code) == (2, [f"batch_{batch_id}"], 75)
    provider = Provider(connection)
    again = cancel(connection, criteria, uuid4(), cancel_at_provider=provider)
    assert (again.total, again.already_final, again.exit_code) == (0, 2, 0)
    assert provider.told == [(f"batch_{batch_id}", PROVIDER_ADDRESS)]


def test_a_batch_that_nobody_knows_is_named(connection: Connection) -> None:
    batch_id = uuid4()
    found = find(connection, batch_ids=[batch_id])
    assert (found.total, found.unknown_batches) == (0, [batch_id])
    assert cancel(connection, found.criteria, uuid4()).unknown_batches == [batch_id]


def test_a_unit_that_left_the_batch_is_not_canceled_with_it(connection: Connection) -> None:
    enqueue_many(connection, 2)
    first, jobs = submitted(connection)
    collect(connection, first, jobs, outcome="transient")
    submitted(connection, 1)
    found = find(connection, batch_ids=[first])
    assert (found.total, found.moved_on) == (0, 2)
    result = cancel(connection, found.criteria, uuid4())
    assert (result.total, result.moved_on) == (0, 2)
    assert states(connection) == {"queued": 1, "batch_submitted": 1}


def test_the_worker_may_cancel_and_the_analyst_may_not(connection: Connection) -> None:
    enqueue_many(connection, 3)
    batch_id, _ = submitted(connection, 1)
    connection.execute("SET ROLE rewrite_analyst")
    assert find(connection, model="gpt-5.2").total == 2
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        cancel(connection, Criteria(model="gpt-5.2"), uuid4())
    connection.execute("SET ROLE rewrite_worker")
    assert cancel(connection, Criteria(model="gpt-5.2"), uuid4()).total == 2
    assert cancel(connection, Criteria(batch_ids=(batch_id,)), uuid4()).total == 1
    connection.execute("RESET ROLE")
    assert check(connection) == []


# Others at work.


def waits(watcher: Connection, work: Future[Any]) -> None:
    """Returns when somebody in this database waits for a lock, as `work` should."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while watcher.execute(waiting).fetchone() == (0,):
        assert not work.done(), "it waited for nobody"


Meeting = Callable[[Callable[[], None], Criteria], CancelResult]


@pytest.fixture
def meets(connection: Connection, other: Connection, database: SecretStr) -> Iterator[Meeting]:
    """`other` works in a transaction; cancel comes, and has to wait; then `other` commits."""
    with (
        psycopg.connect(database.get_secret_value(), autocommit=True) as watcher,
        ThreadPoolExecutor(1) as threads,
    ):

        def meet(work: Callable[[], None], criteria: Criteria) -> CancelResult:
            future: Future[CancelResult]
            with other.transaction():
                work()
                future = threads.submit(cancel, connection, criteria, uuid4())
                waits(watcher, future)
            return future.result(timeout=60)

        yield meet


def test_what_a_claim_takes_first_is_no_longer_queued_for_its_model(
    connection: Connection, other: Connection, meets: Meeting
) -> None:
    enqueue_many(connection, 5)
    result = meets(lambda: void(claim(other, run_id=uuid4(), limit=3)), Criteria(model="gpt-5.2"))
    assert (result.canceled, result.moved_on) == ({"queued": 2}, 3)
    assert states(connection) == {"canceled": 2, "processing": 3}
    assert check(connection) == []


def void(_: object) -> None:
    """For calls whose answer nobody needs."""


def test_a_job_is_canceled_after_the_claim_that_took_it_first(
    connection: Connection, other: Connection, meets: Meeting
) -> None:
    jobs = enqueue_many(connection, 5)
    result = meets(lambda: void(claim(other, run_id=uuid4(), limit=3)), of_jobs(*jobs))
    assert result.canceled == {"queued": 2, "processing": 3}
    assert check(connection) == []


def test_a_batch_is_canceled_after_the_register_that_came_first(
    connection: Connection, other: Connection, meets: Meeting
) -> None:
    enqueue_many(connection, 5)
    batch_id, run_id, _ = planned(connection, 5)
    travel(connection, batch_id, run_id, "create_sent")
    result = meets(lambda: void(register(other, batch_id, run_id)), Criteria(batch_ids=(batch_id,)))
    assert result.canceled == {"batch_submitted": 5}
    assert [batch.at_provider for batch in result.batches] == ["running"]
    assert check(connection) == []


def test_units_of_a_batch_that_is_given_up_first_wait_again(
    connection: Connection, other: Connection, meets: Meeting
) -> None:
    enqueue_many(connection, 5)
    batch_id, run_id, _ = planned(connection, 5)
    result = meets(
        lambda: void(ledger.abandon(other, batch_id=batch_id, run_id=run_id, reason="never_sent")),
        Criteria(batch_ids=(batch_id,)),
    )
    assert (result.total, result.moved_on) == (0, 5)
    assert states(connection) == {"queued": 5}
    assert check(connection) == []


def test_a_result_that_was_written_first_stays(connection: Connection, other: Connection, meets: Meeting) -> None:
    enqueue_many(connection, 2)
    batch_id, jobs = submitted(connection)
    result = meets(lambda: collect(other, batch_id, jobs, outcome="completed"), of_jobs(*jobs))
    assert (result.total, result.already_final) == (0, 2)
    assert states(connection) == {"completed": 2}
    assert check(connection) == []


def test_a_unit_whose_lock_somebody_holds_is_waited_for(
    connection: Connection, other: Connection, meets: Meeting
) -> None:
    job = enqueue_one(connection)
    lock = "SELECT pg_advisory_xact_lock(rewrite_unit_key(rewrite_request_id, recipient_user_id)) FROM rewrite_jobs"
    assert meets(lambda: void(other.execute(lock)), of_jobs(job)).canceled == {"queued": 1}


def test_a_unit_that_is_erased_meanwhile_is_unknown(connection: Connection, other: Connection, meets: Meeting) -> None:
    job = enqueue_one(connection)
    result = meets(lambda: void(other.execute("DELETE FROM rewrite_requests")), of_jobs(job))
    assert (result.total, result.unknown) == (0, 1)


def test_a_register_that_comes_second_leaves_canceled_units_alone(
    connection: Connection, other: Connection, database: SecretStr
) -> None:
    enqueue_many(connection, 3)
    batch_id, run_id, jobs = planned(connection, 3)
    travel(connection, batch_id, run_id, "create_sent")
    with psycopg.connect(database.get_secret_value(), autocommit=True) as watcher, ThreadPoolExecutor(1) as threads:
        with other.transaction():
            cancel(other, of_jobs(*jobs[:2]), uuid4())
            future = threads.submit(register, connection, batch_id, run_id)
            waits(watcher, future)
        assert future.result(timeout=60) == 1
    assert states(connection) == {"canceled": 2, "batch_submitted": 1}
    assert check(connection) == []


def test_a_result_that_comes_second_writes_no_output(connection: Connection) -> None:
    enqueue_many(connection, 2)
    _, jobs = submitted(connection)
    cancel(connection, of_jobs(*jobs), uuid4())
    with pytest.raises(psycopg.errors.CheckViolation, match="a final state never changes"):
        complete(connection, *jobs)
    assert connection.execute("SELECT count(*) FROM rewrite_outputs").fetchone() == (0,)
    assert check(connection) == []


def test_an_intent_that_comes_second_is_not_written(connection: Connection) -> None:
    jobs, run_id = enqueue_many(connection, 2), uuid4()
    claimed = claim(connection, run_id=run_id, limit=2)
    cancel(connection, of_jobs(jobs[0]), uuid4())
    with pytest.raises(LeaseLost):
        intend(connection, claimed, run_id)
    assert connection.execute("SELECT count(*) FROM rewrite_batches").fetchone() == (0,)
    assert check(connection) == []


def test_cancel_holds_nothing_while_it_waits(connection: Connection, other: Connection, database: SecretStr) -> None:
    free, held = sorted(enqueue_many(connection, 2))
    lock = "SELECT status FROM rewrite_jobs WHERE job_id = %s FOR UPDATE NOWAIT"
    with psycopg.connect(database.get_secret_value(), autocommit=True) as watcher, ThreadPoolExecutor(1) as threads:
        with other.transaction():
            other.execute(lock, [held])
            future = threads.submit(cancel, connection, of_jobs(free, held), uuid4())
            waits(watcher, future)
            assert watcher.execute(lock, [free]).fetchone() == ("canceled",)
        assert future.result(timeout=60).total == 2


def test_cancels_and_registers_at_once_neither_deadlock_nor_break_anything(
    connection: Connection, database: SecretStr
) -> None:
    size, count = 400, 6
    batches: list[tuple[UUID, UUID]] = []
    for _ in range(count):
        enqueue_many(connection, size)
        batch_id, run_id, _ = planned(connection, size)
        travel(connection, batch_id, run_id, "create_sent")
        batches.append((batch_id, run_id))
    jobs = [row[0] for row in connection.execute("SELECT job_id FROM rewrite_jobs").fetchall()]
    some = jobs[::2]

    def on_its_own(work: Callable[[Connection], int]) -> int:
        with psycopg.connect(database.get_secret_value(), autocommit=True, prepare_threshold=None) as mine:
            return work(mine)

    with ThreadPoolExecutor(count + 3) as threads:
        registers = [threads.submit(on_its_own, lambda c, b=b, r=r: register(c, b, r)) for b, r in batches]
        cancels = [threads.submit(on_its_own, lambda c: cancel(c, of_jobs(*some), uuid4()).total) for _ in range(3)]
        for future in registers:
            future.result(timeout=120)
        assert sum(future.result(timeout=120) for future in cancels) == len(some)
    assert states(connection) == {"canceled": len(some), "batch_submitted": len(jobs) - len(some)}
    assert check(connection) == []


def test_the_result_can_be_printed_as_json(connection: Connection) -> None:
    enqueue_many(connection, 2)
    batch_id, _ = submitted(connection, 1)
    found = find(connection, batch_ids=[batch_id])
    assert found.as_json()["would_cancel"] == {"queued": 0, "processing": 0, "batch_submitted": 1}
    shown = cancel(connection, found.criteria, uuid4()).as_json()
    assert shown["canceled"] == {"batch_submitted": 1}
    assert shown["batches"][0]["at_provider"] == "running"
