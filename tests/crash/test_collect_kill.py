"""SIGKILL before and after every commit, call, statement and step of a collect; then run again.

One world a test: what a kill left is collected before the next one comes, and judged with all that came before. The
units that are to be tried again go out together at the end.
"""

from collections.abc import Iterator

import pytest

from tests.crash.conftest import Worlds
from tests.crash.killer import EFFECT, Point
from tests.crash.points import COLLECT_STEPS
from tests.crash.world import World

UNITS = 5  # of one batch: two are kept, two fail for good, one is tried again


@pytest.fixture
def world(new: Worlds) -> Iterator[World]:
    with new() as made:
        made.simulator.settings(bad_share=0)
        made.chunk = 3
        yield made


def results_wait(world: World) -> None:
    """A batch that has ended at the provider, with lines of several sorts in both of its files."""
    world.enqueue(UNITS)
    world.send()
    for index, fault in enumerate(
        ({"kind": "http_status", "code": 400}, {"kind": "http_status", "code": 500}, {"kind": "refusal"})
    ):
        world.simulator.arm({"operation": "line", "index": index, **fault})
    world.simulator.finish_all()


def kill_at(world: World, point: Point) -> bool:
    """Whether it was reached. If it was, the next collect has done the rest, once, when this returns."""
    results_wait(world)
    run = world.collect(point)
    if not run.was_killed:
        assert run.reached == [], f"{run.reached} was reached and survived"
        assert run.code == 0, run.stderr
        return False
    try:
        world.fetch_again()
    except AssertionError as error:
        raise AssertionError(f"after {run.reached}: {error}") from error
    return True


def check_the_end(world: World, batches: int) -> None:
    assert world.statuses() == {"completed": 2 * batches, "failed": 2 * batches, "queued": batches}
    world.bring_home()
    assert world.statuses() == {"completed": 3 * batches, "failed": 2 * batches}
    assert world.billed()[1] == 4 * batches


def kill_everywhere(world: World, at: str, when: str) -> int:
    """Points 0, 1, 2… until a run survives."""
    number = 0
    while kill_at(world, Point(at, when, number)):
        number += 1
    check_the_end(world, number + 1)
    return number


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_around_any_commit_or_call_loses_nothing_and_writes_once(world: World, when: str) -> None:
    assert kill_everywhere(world, EFFECT, when) >= 18


def test_a_kill_between_any_two_statements_of_a_transaction_leaves_no_half(world: World) -> None:
    assert kill_everywhere(world, "statement", "before") >= 18


def test_a_kill_between_any_two_rows_of_the_copy_leaves_nothing(world: World) -> None:
    assert kill_everywhere(world, "row", "after") == UNITS


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_around_any_step_loses_nothing_and_writes_once(world: World, when: str) -> None:
    met = [step for step in COLLECT_STEPS if kill_at(world, Point(step, when, 0))]
    assert set(COLLECT_STEPS) - set(met) <= {"rewrite_batch.collect.run:raise_alerts"}
    check_the_end(world, len(COLLECT_STEPS))
