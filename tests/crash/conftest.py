"""One killer and one simulator a worker process; a database and a spool of its own for each test."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from rewrite_batch.simulator.process import Simulator, running_simulator
from tests.crash.runs import Runs, running_killer
from tests.crash.world import API_KEY, World, new_world

Worlds = Callable[..., AbstractContextManager[World]]


@pytest.fixture(scope="session")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with running_killer(tmp_path_factory.mktemp("runs")) as runs:
        yield runs


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """Its clock stands still unless pushed."""
    state = tmp_path_factory.mktemp("provider") / "state"
    with running_simulator(state, API_KEY, time_scale=0, seed=7) as running:
        yield running


@pytest.fixture(autouse=True)
def no_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The provider here speaks plain HTTP; to read the system's certificates takes a run longer than its work."""
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


@pytest.fixture
def new(server: str, template: str, provider: Simulator, killer: Runs, tmp_path: Path) -> Worlds:
    """For tests that need one world after the other."""
    return partial(new_world, server, template, provider, killer, tmp_path)


@pytest.fixture
def world(new: Worlds) -> Iterator[World]:
    with new() as made:
        yield made
