"""A simulator in a process of its own, as if new for each test; its clock stands still unless pushed."""

from collections.abc import Iterator

import pytest
from openai import OpenAI

from rewrite_batch.simulator.process import Simulator, running_simulator

API_KEY = "sk-test-simulator"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    state = tmp_path_factory.mktemp("simulator") / "state"
    with running_simulator(state, API_KEY, time_scale=0, seed=7) as running:
        yield running


@pytest.fixture
def simulator(process: Simulator) -> Simulator:
    if not process.is_running:
        process.start()
    process.reset()
    process.settings(split_message_share=0.0, legacy_usage_share=0.0)
    return process


@pytest.fixture
def client(simulator: Simulator) -> Iterator[OpenAI]:
    with OpenAI(base_url=simulator.base_url, api_key=API_KEY, max_retries=0, timeout=20) as opened:
        yield opened
