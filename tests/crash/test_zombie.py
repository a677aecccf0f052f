"""A run that sleeps past its lease (SIGSTOP), while another does its work, and then wakes: it writes nothing and pays
nothing."""

import pytest

from tests.crash.killer import Point
from tests.crash.oracle import posts, snapshot
from tests.crash.runs import Run
from tests.crash.world import World, wait_until

CREATE = "rewrite_batch.provider.batches:create"
UPLOAD = "rewrite_batch.provider.batches:upload"
LIST = "rewrite_batch.provider.batches:list_since"
INTENT = "rewrite_batch.submit.deliver:write_intent"
# Where a run may fall asleep without holding a transaction.
BEFORE_THE_PAID_CALL = {
    "claimed, nothing written": Point(INTENT, "before", 0, "SIGSTOP"),
    "intent written": Point(INTENT, "after", 0, "SIGSTOP"),
    "before the upload": Point(UPLOAD, "before", 0, "SIGSTOP"),
    "after the upload": Point(UPLOAD, "after", 0, "SIGSTOP"),
    "in the call that uploads": Point("call", "before", 0, "SIGSTOP"),
    "create_sent noted": Point("rewrite_batch.submit.send:_still_held", "before", 0, "SIGSTOP"),
}


def asleep(world: World, point: Point) -> Run:
    world.enqueue(3)
    return world.start(point).wait_until_stopped()


def others_do_the_work(world: World) -> None:
    world.age()
    for _ in range(2):
        assert world.start().wait().code == 0
        world.age()
    assert world.statuses() == {"batch_submitted": 3}


def wake_and_compare(world: World, run: Run, *, creates: int, others_running: bool = False) -> None:
    """Nothing changes in the database; what is at the provider stays what it was."""
    rows, live, made = snapshot(world.connection), world.live_at_provider(), posts(world.simulator)["batches.create"]
    run.wake().wait()
    assert run.code in (0, 75), run.stderr
    assert snapshot(world.connection) == rows
    assert posts(world.simulator)["batches.create"] - made == creates
    if not creates:
        assert world.live_at_provider() == live
    if not others_running:
        world.wait_for_sessions_to_end()


@pytest.mark.parametrize("where", list(BEFORE_THE_PAID_CALL))
def test_a_zombie_writes_nothing_and_posts_no_create(world: World, where: str) -> None:
    run = asleep(world, BEFORE_THE_PAID_CALL[where])
    others_do_the_work(world)
    wake_and_compare(world, run, creates=0)
    assert len(world.live_at_provider()) == 1
    assert world.billed() == (1, 3)
    world.recover()


def test_a_zombie_that_wakes_between_its_last_look_and_the_paid_call_buys_nothing(world: World) -> None:
    """Nobody can take the call back at this point; but its file is gone by then, so that it fails and bills nothing."""
    run = asleep(world, Point(CREATE, "before", 0, "SIGSTOP"))
    assert world.batch_states() == ["create_sent"]
    others_do_the_work(world)
    wake_and_compare(world, run, creates=1)
    assert world.billed() == (1, 3)
    assert sorted(batch["status"] for batch in world.simulator.state()["batches"]) == ["completed", "failed"]
    world.recover()


def test_a_batch_that_a_zombie_made_is_cancelled_by_the_next_run(world: World) -> None:
    run = asleep(world, Point(CREATE, "before", 0, "SIGSTOP"))
    others_do_the_work(world)
    wake_and_compare(world, run, creates=1)
    world.recover()
    assert world.alerts() == ["orphan_cancelled"]
    assert len(world.live_at_provider()) == 1
    assert world.billed() == (1, 3)


def test_a_zombie_that_wakes_with_the_provider_s_answer_in_hand_registers_nothing(world: World) -> None:
    """Its batch is at the provider: the others adopt it, and pay nothing more."""
    run = asleep(world, Point(CREATE, "after", 0, "SIGSTOP"))
    others_do_the_work(world)
    wake_and_compare(world, run, creates=0)
    assert world.calls("batches.create") == 1
    assert world.billed() == (1, 3)
    world.recover()


def test_a_zombie_that_reconciles_registers_nothing_after_others_did(world: World) -> None:
    world.enqueue(3)
    fault = world.simulator.arm({"operation": "batches.create", "kind": "reset_after"})
    assert world.submit().code == 75
    assert world.simulator.fired(fault) == 1
    run = world.start(Point("rewrite_batch.reconcile.ledger:register", "before", 0, "SIGSTOP")).wait_until_stopped()
    others_do_the_work(world)
    wake_and_compare(world, run, creates=0)
    assert world.billed() == (1, 3)
    world.recover()


def test_a_zombie_that_gives_a_batch_up_gives_nothing_up_after_others_did(world: World) -> None:
    world.enqueue(3)
    assert world.submit(Point("call", "after", 0)).was_killed
    world.age()
    run = world.start(Point("rewrite_batch.reconcile.ledger:abandon", "before", 0, "SIGSTOP")).wait_until_stopped()
    others_do_the_work(world)
    wake_and_compare(world, run, creates=0)
    assert world.billed() == (1, 3)
    world.recover()


def test_a_zombie_posts_no_create_while_another_run_holds_its_batch(world: World) -> None:
    """The other has looked at the provider's list, found nothing, and has decided nothing yet."""
    zombie = asleep(world, Point("rewrite_batch.submit.send:_still_held", "before", 0, "SIGSTOP"))
    world.age()
    holder = world.start(Point(LIST, "after", 0, "SIGSTOP")).wait_until_stopped()
    wake_and_compare(world, zombie, creates=0, others_running=True)
    assert holder.wake().wait().code == 0
    world.wait_for_sessions_to_end()
    assert world.billed() == (1, 3)
    world.recover()


def test_a_zombie_writes_no_intent_for_units_that_another_run_has_claimed(world: World) -> None:
    zombie = asleep(world, Point(INTENT, "before", 0, "SIGSTOP"))
    world.age()
    holder = world.start(Point(INTENT, "before", 0, "SIGSTOP")).wait_until_stopped()
    wake_and_compare(world, zombie, creates=0, others_running=True)
    assert holder.wake().wait().code == 0
    world.wait_for_sessions_to_end()
    assert world.statuses() == {"batch_submitted": 3}
    assert world.billed() == (1, 3)
    world.recover()


def test_a_claim_that_is_old_stays_while_its_batch_may_be_at_the_provider(world: World) -> None:
    """Its run died after the paid call; nobody may touch the batch yet, and age alone says nothing."""
    world.enqueue(3)
    assert world.submit(Point(CREATE, "after", 0)).was_killed
    world.connection.execute("UPDATE rewrite_jobs SET claimed_at = claimed_at - interval '1 day'")
    rows = snapshot(world.connection)
    assert world.submit().code == 0
    assert snapshot(world.connection) == rows
    world.check(at_rest=False)
    world.recover()
    assert world.calls("batches.create") == 1
    assert world.billed() == (1, 3)


def test_a_run_frozen_inside_the_intent_and_another_that_took_its_units_end_with_one_batch(world: World) -> None:
    """The frozen run has written its items and not committed: nobody sees them, and its claims look stale."""
    frozen = asleep(world, Point("rewrite_batch.submit.intent:_insert_items", "after", 0, "SIGSTOP"))
    world.age()
    other = world.start()
    waits = "wait_event_type = 'Lock'"
    wait_until(lambda: other.has_ended() or bool(world.sessions(waits)), "the other run to end, or to wait for a lock")
    frozen.wake().wait()
    other.wait()
    world.wait_for_sessions_to_end()
    world.check(at_rest=False)
    assert (frozen.code, other.code) in {(0, 0), (75, 0), (0, 75)}, other.stderr
    world.recover()
    assert world.billed() == (1, 3)
