"""Eight submitters at once over one queue, killed at random (from a seed) and started again: each unit goes out once.

CRASH_TEST_JOBS and CRASH_TEST_SEED change the size and the dice. The seed decides who dies and at which point; how the
processes interleave is the machine's.
"""

import io
import os
import random
import signal
from collections.abc import Iterator

from rewrite_batch.enqueue.run import enqueue
from rewrite_batch.samples import generate
from tests.crash.conftest import Worlds
from tests.crash.killer import EFFECT, Point
from tests.crash.runs import Run
from tests.crash.world import World

JOBS = int(os.environ.get("CRASH_TEST_JOBS", "20000"))
SEED = int(os.environ.get("CRASH_TEST_SEED", "20261118"))
SUBMITTERS = 8


def points(dice: random.Random) -> Iterator[tuple[Point, ...]]:
    """Two of three runs die: at any moment of the claims, of the intents and of the paid calls."""
    while True:
        yield (Point(EFFECT, dice.choice(["before", "after"]), dice.randrange(20)),) if dice.random() < 2 / 3 else ()


def fill(world: World, jobs: int) -> None:
    lines = "".join(item.to_json() + "\n" for item in generate(jobs, SEED)).encode()
    result = enqueue(io.BytesIO(lines), world.connection, on_refusal=lambda _refusal: None)
    assert result.enqueued == jobs


def work(world: World, *, age_the_living: bool = False) -> int:
    """Until nothing waits; how many runs were killed. What a dead run held is stale at once.

    All the dead are aged each time, not only the one just seen to end: the server may still be at its last statement.
    """
    dice = random.Random(SEED)
    plan, number = points(dice), 0
    running: dict[str, Run] = {}
    dead: list[str] = []
    while running or waits(world):
        while len(running) < SUBMITTERS and waits(world):
            number += 1
            running[f"submitter-{number}"] = world.start(*next(plan), REWRITE_BATCH_WORKER=f"submitter-{number}")
        world.runs.any_ended(list(running.values()))
        for worker, run in [pair for pair in running.items() if pair[1].code is not None]:
            del running[worker]
            assert run.was_killed or run.code in (0, 75), f"exit code {run.code}: {run.stderr}"
            if run.was_killed:
                dead.append(worker)
                if age_the_living and len(dead) % 4 == 0:
                    world.age()
        world.age(*runs_of(world, dead), everything=False)
        if running and dice.random() < 1 / 4:  # wherever it is, in the middle of a statement too
            dice.choice(list(running.values())).send(signal.SIGKILL)
    return len(dead)


def runs_of(world: World, workers: list[str]) -> list[str]:
    query = "SELECT run_id FROM worker_runs WHERE worker = ANY(%s)"
    return [str(row[0]) for row in world.connection.execute(query, [workers])]


def waits(world: World) -> bool:
    return bool(world.rows("SELECT 1 FROM rewrite_jobs WHERE status IN ('queued', 'processing') LIMIT 1"))


def test_eight_submitters_killed_at_random_send_every_unit_once(new: Worlds) -> None:
    with new(REWRITE_BATCH_GROUPING="packed", REWRITE_BATCH_JOBS_PER_RUN="500") as world:
        fill(world, JOBS)
        killed = work(world)
        assert killed >= JOBS // 1000
        world.recover()
        assert world.statuses() == {"batch_submitted": JOBS}
        assert world.billed()[1] + never_ran(world) == JOBS
        world.check(at_rest=True)


def test_submitters_that_take_over_from_others_still_alive_send_every_unit_once(new: Worlds) -> None:
    """Now and then everybody's claims and leases lapse: those that go on are zombies and must notice."""
    with new(REWRITE_BATCH_GROUPING="packed", REWRITE_BATCH_JOBS_PER_RUN="200") as world:
        fill(world, JOBS // 10)
        assert work(world, age_the_living=True) >= 4
        world.recover()
        submitted, poison = world.statuses()["batch_submitted"], poisoned(world)
        assert submitted + len(poison) == JOBS // 10
        assert all(claims >= 10 for claims in poison), "a unit is poison after ten claims in vain, not before"
        assert world.billed()[1] + never_ran(world) == submitted
        world.check(at_rest=True)


def never_ran(world: World) -> int:
    """Units of batches that came to the provider after a run, killed since, had deleted their file.

    Here no grace lies between a create and the look for it, so this can happen. Such a batch fails as a whole, and
    collect sends its units again: `test_provider_faults` has it as a test of its own.
    """
    state = world.simulator.state()
    gone = {file["id"]: int(file["gone_at"]) for file in state["files"] if file["gone"] is not None}
    failed = [b for b in state["batches"] if b["status"] == "failed" and b["input_file_id"] in gone]
    early = [b["id"] for b in failed if b["created_at"] < gone[b["input_file_id"]]]
    assert not early, "a file was deleted while a batch at the provider needed it"
    query = "SELECT coalesce(sum(item_count), 0)::int FROM rewrite_batches WHERE provider_batch_id = ANY(%s)"
    row = world.connection.execute(query, [[b["id"] for b in failed]]).fetchone()
    assert row is not None
    return row[0]


def poisoned(world: World) -> list[int]:
    """How often each was claimed in vain. How many there are is up to the dice and the machine's speed."""
    return [
        row[0]
        for row in world.rows(
            """SELECT claim_count - attempt_count FROM rewrite_jobs
            WHERE status = 'failed' AND last_error = 'poison'"""
        )
    ]
