"""Mutants, kept for ever: each is the product with one promise taken out, and each must make a named test fail."""

from collections.abc import Callable

import pytest

from tests.crash import test_collect_lines as lines
from tests.crash import test_collect_races as races
from tests.crash import test_provider_faults as faults
from tests.crash import test_zombie as zombies
from tests.crash.killer import Point
from tests.crash.mutants import MUTANTS
from tests.crash.world import World


def lost_reply(world: World) -> None:
    faults.test_a_create_whose_reply_is_lost_is_adopted_and_never_repeated(world, "reset")


CAUGHT_BY: dict[str, Callable[[World], None]] = {
    "retries left on for create": lost_reply,
    "fence of the lease removed": zombies.test_a_zombie_posts_no_create_while_another_run_holds_its_batch,
    "fence of the claim removed": zombies.test_a_zombie_writes_no_intent_for_units_that_another_run_has_claimed,
    "stale release by age only": zombies.test_a_claim_that_is_old_stays_while_its_batch_may_be_at_the_provider,
    "error file ignored": lines.test_lines_of_the_error_file_end_each_as_its_status_says,
    "status_code < 400": lines.test_a_status_that_is_not_200_is_no_answer,
    "match by position": lines.test_each_line_becomes_the_output_of_its_own_unit,
    "apply in two transactions": lines.test_a_kill_before_the_requests_are_finished_leaves_no_half,
    "completion without fence": races.test_a_zombie_writes_nothing_while_another_holds_its_batch,
}


def test_every_mutant_has_a_test_that_catches_it() -> None:
    assert CAUGHT_BY.keys() == MUTANTS.keys()


@pytest.mark.parametrize("mutant", list(CAUGHT_BY))
def test_the_named_test_fails_with_the_mutant(world: World, mutant: str) -> None:
    world.mutant = mutant
    with pytest.raises(AssertionError):
        CAUGHT_BY[mutant](world)
    assert world.history
    assert all("has nothing to remove" not in run.stderr for run in world.history)
    assert all("Traceback" not in run.stderr for run in world.history), "the mutant does not even run"


def test_with_retries_left_on_for_create_two_batches_are_bought(world: World) -> None:
    world.mutant = "retries left on for create"
    world.enqueue(3)
    with faults.fault(world, faults.CREATE, "reset_after"):
        world.submit()
    assert world.calls(faults.CREATE) == 2
    assert world.billed() == (2, 6)
    with pytest.raises(AssertionError, match=r"2: unit .* was billed 2 times for attempt 1"):
        world.check(at_rest=False)


def test_with_stale_release_by_age_only_a_unit_is_queued_while_its_batch_is_at_the_provider(world: World) -> None:
    world.mutant = "stale release by age only"
    world.enqueue(3)
    assert world.submit(Point(zombies.CREATE, "after", 0)).was_killed
    world.connection.execute("UPDATE rewrite_jobs SET claimed_at = claimed_at - interval '1 day'")
    world.submit(Point("rewrite_batch.submit.run:release_stale", "after", 0))
    with pytest.raises(AssertionError, match=r"1: unit .* is queued, and yet claimed or in a live batch"):
        world.check(at_rest=False)
