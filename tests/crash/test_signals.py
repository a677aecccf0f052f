"""SIGTERM and SIGINT, anywhere: the run ends within ten seconds, and the next one goes on from there."""

import signal

import psycopg
import pytest

from tests.crash.conftest import Worlds
from tests.crash.killer import EFFECT, Point
from tests.crash.runs import Run
from tests.crash.world import World, two_groups, wait_until

LONGEST_END_S = 10.0
CODES = {"SIGTERM": 143, "SIGINT": 130}


@pytest.mark.parametrize("name", list(CODES))
def test_a_signal_after_any_commit_or_call_ends_the_run_and_the_next_one_goes_on(new: Worlds, name: str) -> None:
    number = 0
    while True:
        with new() as world:
            two_groups(world)
            run = world.start(Point(EFFECT, "after", number, name)).wait(LONGEST_END_S)
            world.wait_for_sessions_to_end()
            if not run.reached:
                break
            assert run.code == CODES[name], f"after {run.reached}: exit code {run.code}, {run.stderr}"
            world.check(at_rest=True)  # it had the time to put everything back
            world.recover()
            assert world.billed() == (2, 4)
            assert world.calls("batches.create") == 2
        number += 1
    assert number >= 18


def signalled_while(world: World, run: Run, number: signal.Signals) -> None:
    run.send(number)
    run.wait(LONGEST_END_S)
    assert run.code == 128 + number, run.stderr
    world.wait_for_sessions_to_end()
    world.check(at_rest=False)


@pytest.mark.parametrize("operation", ["files.create", "batches.create"])
def test_a_signal_while_the_provider_hangs_ends_the_run_in_time(world: World, operation: str) -> None:
    world.enqueue(3)
    fault = world.simulator.arm({"operation": operation, "kind": "hang_after"})
    run = world.start(REWRITE_BATCH_PROVIDER_TIMEOUT_S="120")
    wait_until(lambda: world.simulator.fired(fault) == 1, "the call to hang")
    signalled_while(world, run, signal.SIGTERM)
    world.recover()
    assert world.calls("batches.create") == 1
    assert world.billed() == (1, 3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_run_waits_for_a_lock_ends_it_in_time(world: World, number: signal.Signals) -> None:
    world.enqueue(3)
    with psycopg.connect(world.url) as other:  # another session: a transaction's view of the others stands still
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('rewrite_batch capacity', 0))")
        run = world.start()
        wait_until(lambda: bool(world.sessions("wait_event_type = 'Lock'")), "the run to wait for the lock")
        run.send(number)
        run.wait(LONGEST_END_S)
    assert run.code == 128 + number, run.stderr
    world.wait_for_sessions_to_end()
    world.check(at_rest=False)
    world.recover()
    assert world.billed() == (1, 3)


@pytest.mark.parametrize("operation", ["batches.list", "batches.create"])
def test_a_signal_ends_the_run_in_time_although_the_provider_and_the_database_hang(
    world: World, operation: str
) -> None:
    """The provider never answers, and when the run then tidies up, the database does not either."""
    world.enqueue(3)
    if operation == "batches.list":
        world.simulator.arm({"operation": "batches.create", "kind": "reset_after"})
        assert world.submit().code == 75
    world.enqueue(2, target_locale="de")
    fault = world.simulator.arm({"operation": operation, "kind": "hang_after", "times": None})
    run = world.start(REWRITE_BATCH_PROVIDER_TIMEOUT_S="120")
    wait_until(lambda: world.simulator.fired(fault) == 1, "the call to hang")
    with psycopg.connect(world.url) as other:
        other.execute("LOCK TABLE rewrite_jobs, rewrite_batches, worker_runs IN ACCESS EXCLUSIVE MODE")
        run.send(signal.SIGTERM)
        run.wait(LONGEST_END_S)
    assert run.code == 143, run.stderr
    world.simulator.disarm(fault)
    world.wait_for_sessions_to_end()
    world.check(at_rest=False)
    world.recover()
    assert world.billed() == (2, 5)
    assert world.calls("batches.create") == 2
