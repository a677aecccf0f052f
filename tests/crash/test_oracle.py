"""The oracle itself: it passes what is right, and names the invariant that somebody broke behind the product's back."""

from collections.abc import Callable

import pytest

from tests.crash.killer import Point
from tests.crash.world import World

CANARY = "zanahoria-canary-1200"


def run_sql(*statements: str) -> Callable[[World], None]:
    """As an administrator who turns the rules of the tables off."""

    def breaks(world: World) -> None:
        with world.connection.transaction():
            world.connection.execute("SET LOCAL session_replication_role = replica")
            for statement in statements:
                world.connection.execute(statement.encode())

    return breaks


def buy_a_twin(world: World) -> None:
    batch = world.simulator.state()["batches"][0]
    with world.client() as client:
        client.batches.create(
            input_file_id=batch["input_file_id"],
            endpoint="/v1/responses",
            completion_window="24h",
            metadata=batch["metadata"],
        )


def pay_for_a_twin(world: World) -> None:
    buy_a_twin(world)
    world.simulator.finish_all()


def leave_a_file(world: World) -> None:
    with world.client() as client:
        client.files.create(file=("x.jsonl", b"{}\n"), purpose="batch")


def leave_a_spool_file(world: World) -> None:
    (world.spool / "left.jsonl").touch()


def leave_a_transaction(world: World) -> None:
    world.start(Point("rewrite_batch.submit.intent:_insert_items", "after", 0, "SIGSTOP")).wait_until_stopped()


ONE_JOB = "WHERE job_id = (SELECT min(job_id::text)::uuid FROM rewrite_jobs)"
ONE_BATCH = "WHERE batch_id = (SELECT min(batch_id::text)::uuid FROM rewrite_batches)"
BREAKS: dict[str, tuple[str, Callable[[World], None]]] = {
    "a unit is lost": ("1: unit .* it is None", run_sql(f"DELETE FROM rewrite_jobs {ONE_JOB}")),
    "a state that no event tells of": (
        "1: unit .* its last event says batch_submitted",
        run_sql(
            f"""UPDATE rewrite_jobs
            SET status = 'failed', finished_at = now(), last_error = 'x', last_error_at = now() {ONE_JOB}"""
        ),
    ),
    "a unit queued although its batch is out": (
        "1: unit .* is queued, and yet",
        run_sql(
            f"""UPDATE rewrite_jobs
            SET status = 'queued', batch_id = NULL, claimed_by = NULL, claimed_at = NULL {ONE_JOB}"""
        ),
    ),
    "another provider batch": (
        "2: batch .* the provider has no other",
        run_sql(f"UPDATE rewrite_batches SET provider_batch_id = 'other' {ONE_BATCH}"),
    ),
    "a twin": ("2: batch .* has 2 live provider batches", buy_a_twin),
    "a twin that ran": ("2: unit .* was billed 2 times for attempt 1", pay_for_a_twin),
    "a backward edge": (
        "3: unit .*: batch_submitted -> processing",
        run_sql(
            f"""INSERT INTO rewrite_job_events (job_id, rewrite_request_id, from_status, to_status, attempt, actor)
            SELECT job_id, rewrite_request_id, 'batch_submitted', 'processing', 1, 'x' FROM rewrite_jobs {ONE_JOB}"""
        ),
    ),
    "an attempt nobody made": (
        "3: unit .* has attempt_count 2",
        run_sql(f"UPDATE rewrite_jobs SET attempt_count = 2 {ONE_JOB}"),
    ),
    "a reservation released too early": (
        "4: batch .* its reservation is released",
        run_sql(f"UPDATE token_reservations SET state = 'released', closed_at = now() {ONE_BATCH}"),
    ),
    "a request that says something else": (
        "5: unit .* its request is failed",
        run_sql("UPDATE rewrite_requests SET status = 'failed'"),
    ),
    "a final event too many": (
        "6: unit",
        run_sql(
            f"""INSERT INTO rewrite_job_events (job_id, rewrite_request_id, from_status, to_status, attempt, actor)
            SELECT job_id, rewrite_request_id, 'batch_submitted', 'failed', 1, 'x' FROM rewrite_jobs {ONE_JOB}"""
        ),
    ),
    "words in the record of a run": (
        "8: a canary is in worker_runs",
        run_sql(f"UPDATE worker_runs SET worker = '{CANARY}'"),
    ),
    "a claim that nobody works on": (
        "1: unit .* is still processing",
        run_sql(f"UPDATE rewrite_jobs SET status = 'processing', claimed_by = 'x', claimed_at = now() {ONE_JOB}"),
    ),
    "a file that is nobody's": ("10: file .* is nobody's", leave_a_file),
    "a spool file": ("10: left.jsonl is left in the spool", leave_a_spool_file),
    "a lock and an open transaction": (r"10: session .* is idle in transaction", leave_a_transaction),
}


@pytest.mark.parametrize("what", list(BREAKS))
def test_the_oracle_names_what_is_broken(world: World, what: str) -> None:
    world.enqueue(2, text=CANARY)
    world.canaries = (CANARY,)
    assert world.submit().code == 0
    world.check(at_rest=True)
    if what == "a lock and an open transaction":
        world.enqueue(1)
    message, breaks = BREAKS[what]
    breaks(world)
    with pytest.raises(AssertionError, match=message):
        world.check(at_rest=True)


def test_the_oracle_names_a_write_under_a_superseded_token(world: World) -> None:
    world.enqueue(1)
    assert world.submit(Point("rewrite_batch.submit.run:claim", "after", 0)).was_killed
    world.recover()
    run_sql(
        """INSERT INTO rewrite_job_events (job_id, rewrite_request_id, from_status, to_status, attempt, actor, run_id)
        SELECT job_id, rewrite_request_id, 'batch_submitted', 'failed', 1, 'x', run_id
        FROM rewrite_job_events WHERE to_status = 'processing' ORDER BY event_id LIMIT 1"""
    )(world)
    with pytest.raises(AssertionError, match="7: unit"):
        world.check(at_rest=True)
