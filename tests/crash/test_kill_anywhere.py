"""SIGKILL before and after every commit, every call of the provider and every step; then run again."""

from collections.abc import Callable

import pytest

from tests.crash.conftest import Worlds
from tests.crash.killer import EFFECT, Point
from tests.crash.points import SUBMIT_STEPS
from tests.crash.world import World, two_groups

CREATE = "rewrite_batch.provider.batches:create"


def left_behind(world: World) -> None:
    """Three runs died: with a file uploaded, right before the paid call, and after it; and the paid call has a twin."""
    for locale, point in (
        ("es", Point("call", "after", 0)),
        ("de", Point(CREATE, "before", 0)),
        ("fr", Point("call", "after", 1)),
    ):
        world.enqueue(2, target_locale=locale)
        assert world.submit(point).was_killed
    assert sorted(world.batch_states()) == ["create_sent", "create_sent", "planned"]
    (made,) = world.simulator.state()["batches"]
    with world.client() as client:
        client.batches.create(
            input_file_id=made["input_file_id"],
            endpoint="/v1/responses",
            completion_window="24h",
            metadata=made["metadata"],
        )
    world.age()


def kill_everywhere(new: Worlds, at: str, when: str, prepare: Callable[[World], None], at_most: int = 1_000) -> int:
    """Points 0, 1, 2… until a run survives; after each, the rest of the work is done once and paid once."""
    for number in range(at_most):
        point = Point(at, when, number)
        with new() as world:
            prepare(world)
            run = world.submit(point)
            if not run.was_killed:
                assert run.reached == [], f"{point} was reached and survived"
                assert run.code == 0, run.stderr
                return number
            try:
                check_that_it_recovers(world)
            except AssertionError as error:
                raise AssertionError(f"after {run.reached}: {error}") from error
    return at_most


def check_that_it_recovers(world: World) -> None:
    world.check(at_rest=False)
    world.recover()
    submitted, failed = (world.statuses().get(status, 0) for status in ("batch_submitted", "failed"))
    assert submitted + failed == world.value("SELECT count(*) FROM rewrite_jobs")
    assert world.billed()[1] == submitted
    world.check(at_rest=True)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("at", "at_least"), [("commit", 14), ("call", 4)])
def test_a_kill_around_any_commit_or_call_loses_nothing_and_pays_once(
    new: Worlds, at: str, when: str, at_least: int
) -> None:
    assert kill_everywhere(new, at, when, two_groups) >= at_least


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_around_any_step_loses_nothing_and_pays_once(new: Worlds, when: str) -> None:
    met = {step for step in SUBMIT_STEPS if kill_everywhere(new, step, when, two_groups, at_most=1)}
    assert met >= {CREATE, "rewrite_batch.provider.batches:upload", "rewrite_batch.reconcile.ledger:register"}


def test_a_kill_after_any_commit_or_call_of_a_run_that_tidies_up_after_others_pays_once(new: Worlds) -> None:
    assert kill_everywhere(new, EFFECT, "after", left_behind) >= 32
