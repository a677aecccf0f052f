"""The database ends sessions of a run after any commit or call: a failover, an administrator, a restart."""

import pytest

from tests.crash.conftest import Worlds
from tests.crash.killer import EFFECT, Point
from tests.crash.world import World, two_groups, wait_until

WHICH = {"all": slice(None), "the first": slice(1), "the last": slice(-1, None)}


def end_sessions(world: World, which: slice) -> None:
    """Of the runs of this world alone: they are looked up first, and then ended one by one."""
    ended = [row[0] for row in sorted(world.sessions())[which]]
    assert ended
    for pid in ended:
        world.connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    wait_until(lambda: not any(row[0] in ended for row in world.sessions()), "the sessions to end")


@pytest.mark.parametrize("which", list(WHICH))
def test_sessions_that_end_after_any_commit_or_call_lose_nothing_and_pay_once(new: Worlds, which: str) -> None:
    number = 0
    while True:
        with new() as world:
            two_groups(world)
            run = world.start(Point(EFFECT, "after", number, "SIGSTOP")).wait_until_stopped_or_ended()
            if run.code is not None:
                assert run.code == 0, run.stderr
                break
            end_sessions(world, WHICH[which])
            run.wake().wait()
            world.wait_for_sessions_to_end()
            assert run.code in (0, 75), f"after {run.reached}: exit code {run.code}, {run.stderr}"
            world.check(at_rest=False)
            world.recover()
            assert world.billed() == (2, 4)
        number += 1
    assert number >= 14
