"""Collects beside others: a zombie past its lease; cancels, stale releases and reconciles in the middle of the write;
up to eight collectors on the same batches, killed at random."""

import random
import signal
from collections.abc import Iterator

import pytest

from tests.crash.conftest import Worlds
from tests.crash.killer import EFFECT, Point
from tests.crash.oracle import snapshot
from tests.crash.runs import Run
from tests.crash.test_collect_kill import check_the_end, results_wait
from tests.crash.test_many_submitters import runs_of
from tests.crash.world import COLLECT, World, wait_until

SEED = 20261118
WRITE = "rewrite_batch.collect.apply:write"
# Where a collect may fall asleep without holding a transaction.
ASLEEP = {
    "with its lease": Point("rewrite_batch.collect.run:take", "after", 0, "SIGSTOP"),
    "before it asks": Point("rewrite_batch.provider.results:retrieve", "before", 0, "SIGSTOP"),
    "before it downloads": Point("rewrite_batch.provider.results:download", "before", 0, "SIGSTOP"),
    "in a download": Point("call", "before", 2, "SIGSTOP"),
    "with the files": Point("rewrite_batch.collect.run:record", "before", 0, "SIGSTOP"),
    "with the end on record": Point("rewrite_batch.collect.run:record", "after", 0, "SIGSTOP"),
    "with decided rows": Point(WRITE, "before", 0, "SIGSTOP"),
    "between two chunks": Point(WRITE, "after", 0, "SIGSTOP"),
    "before it settles": Point("rewrite_batch.collect.run:settle", "before", 0, "SIGSTOP"),
    "before it deletes": Point("rewrite_batch.collect.settle:delete_files", "before", 0, "SIGSTOP"),
}
# In the transaction that writes a chunk, from the moment that it holds its batch: after each statement.
MID_WRITE = [Point("statement", "after", number, "SIGSTOP") for number in range(3, 9)]


@pytest.fixture
def world(new: Worlds) -> Iterator[World]:
    with new() as made:
        made.simulator.settings(bad_share=0)
        made.chunk = 3
        yield made


def frozen_at(world: World, point: Point) -> Run:
    results_wait(world)
    return world.start(point, command=COLLECT).wait_until_stopped()


def ended_or_waiting(world: World, run: Run) -> None:
    """However it meets the locks of the frozen one."""
    wait_until(
        lambda: run.has_ended() or bool(world.waiting_for_locks()), "the other run to end, or to wait for a lock"
    )


# A zombie -----------------------------------------------------------------------------------------------------------


def wake_zombie(world: World, where: str) -> None:
    """It slept past its lease, and others did its work."""
    zombie = frozen_at(world, ASLEEP[where])
    world.age_leases()
    world.fetch()
    rows = snapshot(world.connection)
    zombie.wake().wait()
    assert zombie.code in (0, 75), zombie.stderr
    assert snapshot(world.connection) == rows
    world.wait_for_sessions_to_end()


def test_a_zombie_writes_nothing_wherever_it_slept(world: World) -> None:
    for where in ASLEEP:
        wake_zombie(world, where)
        world.check(at_rest=True)
    check_the_end(world, len(ASLEEP))


def test_a_zombie_writes_nothing_while_another_holds_its_batch(world: World) -> None:
    """The other has decided nothing yet: only the lease says whose the batch is."""
    zombie = frozen_at(world, ASLEEP["with decided rows"])
    world.age_leases()
    holder = world.start(ASLEEP["with decided rows"], command=COLLECT).wait_until_stopped()
    rows = snapshot(world.connection)
    zombie.wake().wait()
    assert zombie.code == 75, zombie.stderr
    assert snapshot(world.connection) == rows
    assert holder.wake().wait().code == 0, holder.stderr
    world.wait_for_sessions_to_end()
    check_the_end(world, 1)


# Others, while a collect is in the middle ----------------------------------------------------------------------------


@pytest.mark.parametrize("mid", [False, True], ids=["asleep", "in the write"])
def test_cancels_racing_a_collect_leave_each_unit_in_one_final_state(world: World, mid: bool) -> None:
    points = (
        MID_WRITE if mid else [ASLEEP["with decided rows"], ASLEEP["between two chunks"], ASLEEP["before it settles"]]
    )
    for point in points:
        run = frozen_at(world, point)
        batch = world.value("SELECT batch_id FROM rewrite_batches WHERE state IN ('submitted', 'finished')")
        cancel = world.start(command=("cancel", "--batch", str(batch), "--yes", "--json"))
        ended_or_waiting(world, cancel)
        assert run.wake().wait().code in (0, 75), run.stderr
        assert cancel.wait().code in (0, 75), cancel.stderr
        world.wait_for_sessions_to_end()
        world.fetch_again()
    canceled = world.statuses().get("canceled", 0)
    world.bring_home()
    assert canceled
    assert sum(world.statuses().values()) == 5 * len(points)


def test_stale_releases_reconciles_and_polls_racing_a_collect_change_nothing_of_its_units(world: World) -> None:
    for point in MID_WRITE:
        run = frozen_at(world, point)
        world.age(retries=False)
        others = [world.start(), world.start(command=COLLECT)]
        for other in others:
            ended_or_waiting(world, other)
        assert run.wake().wait().code == 0, run.stderr
        assert [other.wait().code for other in others] == [0, 0], [other.stderr for other in others]
        world.wait_for_sessions_to_end()
        world.check(at_rest=True)
    world.bring_home()
    assert world.statuses() == {"completed": 3 * len(MID_WRITE), "failed": 2 * len(MID_WRITE)}


# Many collectors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("collectors", [2, 8])
def test_collectors_killed_at_random_write_every_result_once(world: World, collectors: int) -> None:
    """The seed decides who dies and at which point; how the processes interleave is the machine's."""
    for locale in ("es", "de", "fr", "it", "nl", "pt", "pl", "sv")[:collectors]:
        world.enqueue(4, target_locale=locale)
    world.send()
    world.simulator.arm({"operation": "line", "kind": "http_status", "code": 500, "share": 0.2, "times": 3})
    world.simulator.finish_all()
    world.simulator.disarm()
    assert len(work(world, collectors)) >= 2
    world.check(at_rest=False)
    world.bring_home()
    assert world.statuses() == {"completed": 4 * collectors}


def work(world: World, collectors: int) -> list[str]:
    """The first so many die, and are replaced by others of whom some do; what the dead held is stale at once."""
    dice = random.Random(SEED)
    running: dict[str, Run] = {}
    dead: list[str] = []
    started = 0
    while running or open_batches(world):
        for _ in range(collectors - len(running) if len(dead) < collectors or not running else 0):
            point = Point(EFFECT, dice.choice(["before", "after"]), dice.randrange(4, 14))
            started += 1
            name = f"collector-{started}"
            dies = started <= 2 * collectors
            running[name] = world.start(*[point] * dies, command=COLLECT, REWRITE_BATCH_WORKER=name)
        world.runs.any_ended(list(running.values()))
        for name, run in [pair for pair in running.items() if pair[1].code is not None]:
            del running[name]
            assert run.was_killed or run.code in (0, 75), f"exit code {run.code}: {run.stderr}"
            if run.was_killed:
                dead.append(name)
        if running and dice.random() < 1 / 4:  # wherever it is, in the middle of a statement too
            dice.choice(list(running.values())).send(signal.SIGKILL)
        if len(dead) == collectors:
            world.age_leases()  # those that live are zombies now, and must notice
        world.age(*runs_of(world, dead), everything=False)
    world.wait_for_sessions_to_end()
    return dead


def open_batches(world: World) -> bool:
    return bool(world.rows("SELECT 1 FROM rewrite_batches WHERE state IN ('submitted', 'finished') LIMIT 1"))
