"""The database leaves a collect alone in the middle of its work: a session ended, a server stopped and started again,
an answer that never arrived. The next run does the rest, once."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.migrate import migrate
from rewrite_batch.simulator.process import Simulator
from tests.crash.conftest import Worlds
from tests.crash.killer import Point
from tests.crash.points import CUT
from tests.crash.runs import Run, Runs
from tests.crash.test_collect_kill import check_the_end, results_wait
from tests.crash.world import COLLECT, World, wait_until

WRITE = "rewrite_batch.collect.apply:write"
DECIDE = "rewrite_batch.collect.apply:decide"


@pytest.fixture
def world(new: Worlds) -> Iterator[World]:
    with new() as made:
        made.simulator.settings(bad_share=0)
        made.chunk = 3
        yield made


def stopped_at(world: World, point: Point) -> Run | None:
    """A collect that is frozen there; None: it ended without coming to it."""
    results_wait(world)
    run = world.start(point, command=COLLECT).wait_until_stopped_or_ended()
    assert run.code is None or (run.code == 0 and not run.reached), run.stderr
    return None if run.code is not None else run


def ends_as_a_passing_condition(world: World, run: Run) -> None:
    run.wake().wait()
    world.wait_for_sessions_to_end()
    assert run.code == 75, f"after {run.reached}: exit code {run.code}, {run.stderr}"


def end_sessions(world: World, condition: str) -> None:
    ended = [row[0] for row in world.sessions(condition)]
    assert ended
    for pid in ended:
        world.connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    wait_until(lambda: not any(row[0] in ended for row in world.sessions()), "the sessions to end")


def test_a_session_that_ends_between_any_two_statements_of_a_transaction_leaves_no_half(world: World) -> None:
    world.chunk = 0  # one transaction writes all of them
    number = 0
    while run := stopped_at(world, Point("statement", "after", number, "SIGSTOP")):
        end_sessions(world, "state = 'idle in transaction'")
        ends_as_a_passing_condition(world, run)
        world.fetch_again()
        number += 1
    assert number >= 11
    check_the_end(world, number + 1)


def test_a_session_that_ends_in_the_middle_of_the_copy_leaves_nothing(world: World) -> None:
    run = stopped_at(world, Point("row", "after", 1, "SIGSTOP"))
    assert run is not None
    end_sessions(world, "state = 'active'")
    ends_as_a_passing_condition(world, run)
    world.fetch_again()
    check_the_end(world, 1)


def test_the_session_that_reads_ahead_may_end_too(world: World) -> None:
    run = stopped_at(world, Point(DECIDE, "before", 0, "SIGSTOP"))  # the first stretch is read, the second is not
    assert run is not None
    end_sessions(world, "query LIKE '%original_text%'")
    ends_as_a_passing_condition(world, run)
    world.fetch_again()
    check_the_end(world, 1)


def test_a_commit_whose_acknowledgement_is_lost_happened_and_is_not_repeated(world: World) -> None:
    """Any of them: each statement by itself, and each transaction."""
    number = 0
    while True:
        results_wait(world)
        run = world.collect(Point("commit", "after", number, CUT))
        if not run.reached:
            assert run.code == 0, run.stderr
            break
        assert run.code == 75, f"after {run.reached}: exit code {run.code}, {run.stderr}"
        world.fetch_again()
        number += 1
    assert number >= 9
    check_the_end(world, number + 1)


# A server of its own ------------------------------------------------------------------------------------------------

MID_WRITE = (
    Point("row", "after", 1, "SIGSTOP"),
    *(Point("statement", "after", number, "SIGSTOP") for number in (4, 7, 8)),
    Point(WRITE, "after", 0, "SIGSTOP"),
)


def fill_server(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE house")
    with db.connect(SecretStr(make_conninfo(server, dbname="house")), purpose="tests") as connection:
        migrate(connection)


@contextmanager
def world_on(server: str, simulator: Simulator, runs: Runs, spool: Path) -> Generator[World]:
    url = make_conninfo(server, dbname="house")
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        yield World(url, connection, simulator, runs, spool, chunk=3)


def test_a_server_stopped_at_once_and_started_again_has_all_of_a_chunk_or_nothing(
    provider: Simulator, killer: Runs, tmp_path: Path
) -> None:
    """`immediate`: no session is told, nothing is written out, and the next start recovers from the log."""
    provider.reset()
    provider.settings(bad_share=0)
    spool = tmp_path / "spool"
    with private_directory("crash") as directory:
        run: Run | None = None
        for point in (*MID_WRITE, None):
            with running_postgres(directory / "postgres") as server:  # a private server always stops at once
                if run is None:
                    fill_server(server)
                with world_on(server, provider, killer, spool) as world:
                    if run is not None:
                        world.fetch_again()
                    if point is None:
                        check_the_end(world, len(MID_WRITE))
                    else:
                        run = stopped_at(world, point)
                        assert run is not None, f"{point} was not reached"
            if point is not None:
                assert run is not None
                run.wake().wait()
                assert run.code == 75, f"after {run.reached}: exit code {run.code}, {run.stderr}"
