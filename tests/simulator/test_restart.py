"""A killed simulator comes back with everything it had answered, and bills nothing twice."""

import contextlib
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from openai import NotFoundError, OpenAI, RateLimitError

from rewrite_batch.errors import ConfigurationError, ProviderUnavailable
from rewrite_batch.simulator.process import Simulator, running_simulator
from tests.simulator.conftest import API_KEY
from tests.simulator.household import completed, create, download, jsonl, line, results, upload


def restart(simulator: Simulator) -> None:
    before = simulator.pid
    simulator.kill()
    simulator.start()
    assert simulator.pid != before


def test_a_kill_loses_nothing(simulator: Simulator, client: OpenAI) -> None:
    done = completed(simulator, client, jsonl(line(1), line(2)))
    kept, dropped = upload(client, b"kept"), upload(client, b"dropped")
    client.files.delete(dropped.id)
    simulator.settings(creations_an_hour=1)
    simulator.arm({"operation": "files.list", "kind": "status", "times": 3, "skip": 1, "code": 503})
    before = (
        simulator.now(),
        simulator.ledger(),
        simulator.faults(),
        simulator.settings(),
        simulator.state(),
    )
    restart(simulator)
    assert before == (
        simulator.now(),
        simulator.ledger(),
        simulator.faults(),
        simulator.settings(),
        simulator.state(),
    )
    assert download(client, kept.id) == b"kept"
    assert client.batches.retrieve(done.id) == done
    with pytest.raises(NotFoundError):
        client.files.content(dropped.id)
    with pytest.raises(RateLimitError):
        create(client, jsonl(line(1)))


def test_a_kill_in_every_state_of_a_batch_changes_nothing(simulator: Simulator, client: OpenAI) -> None:
    batch = create(client, jsonl(*(line(number) for number in range(10))))
    statuses: list[str] = []
    for seconds in (5, 30, 30, 5):
        simulator.advance(seconds)
        restart(simulator)
        statuses.append(client.batches.retrieve(batch.id).status)
    assert statuses == ["in_progress", "in_progress", "finalizing", "completed"]
    assert sorted(row["custom_id"] for row in simulator.ledger()) == [f"line_{number}" for number in range(10)]


@pytest.mark.timeout(60)
def test_a_kill_while_results_are_written_bills_each_line_once(simulator: Simulator, client: OpenAI) -> None:
    bodies = simulator.state_dir / "files"
    batch = create(client, jsonl(*(line(number) for number in range(6_000))))
    simulator.arm({"operation": "line", "index": 3, "kind": "refusal"})
    simulator.advance(5)
    pushing = threading.Thread(target=_push, args=(simulator,))
    pushing.start()
    _wait_for_half_written(bodies)
    simulator.kill()
    pushing.join()
    assert list(bodies.glob("*.tmp"))
    simulator.start()
    assert client.batches.retrieve(batch.id).status == "completed"
    rows = [row["custom_id"] for row in simulator.ledger()]
    assert (len(rows), len(set(rows))) == (6_000, 6_000)
    assert len(results(client, client.batches.retrieve(batch.id)).by_id()) == 6_000
    assert [fault["fired"] for fault in simulator.faults()] == [1]
    assert not list(bodies.glob("*.tmp"))


def _push(simulator: Simulator) -> None:
    with pytest.raises(OSError):
        simulator.advance(100)


def _wait_for_half_written(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while not any(path.stat().st_size for path in folder.glob("*.tmp")):
        assert time.monotonic() < deadline


def test_a_batch_ends_and_is_billed_in_one_transaction(simulator: Simulator, client: OpenAI) -> None:
    """A bill that cannot be written keeps the batch from ending, and leaves no other bill behind."""
    batch = create(client, jsonl(*(line(number) for number in range(10))))
    _write(
        simulator,
        "INSERT INTO ledger (provider_batch_id, custom_id, response_id, model, input_tokens, cached_tokens,"
        " cache_write_tokens, output_tokens, reasoning_tokens, billed_at, key_fingerprint, response_status)"
        f" VALUES ('{batch.id}', 'line_5', '', '', 0, 0, 0, 0, 0, 0, '', '')",
    )
    with pytest.raises(ConfigurationError):
        simulator.advance(100)
    assert [row["custom_id"] for row in simulator.ledger()] == ["line_5"]
    _write(simulator, "DELETE FROM ledger")
    ended = client.batches.retrieve(batch.id)
    assert (ended.status, len(simulator.ledger())) == ("completed", 10)


def _write(simulator: Simulator, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(simulator.state_dir / "state.sqlite3")) as state, state:
        state.execute(statement)


def test_the_clock_goes_on_and_never_back(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running_simulator(state, API_KEY, time_scale=1000, clock_start=1.0e9) as first:
        first.advance(500)
        seen = first.now()
    assert seen > 1.0e9 + 500
    with running_simulator(state, API_KEY, time_scale=0) as second:
        stopped = second.now()
        assert stopped >= seen
        assert second.now() == stopped


def test_options_of_a_restart_win_and_absent_ones_keep_what_was(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running_simulator(state, API_KEY, seed=5, bad_share=0.5) as first:
        first.settings(validating_s=1)
    with running_simulator(state, API_KEY, bad_share=0.25) as second:
        settings = second.settings()
    assert (settings["seed"], settings["bad_share"], settings["validating_s"]) == (5, 0.25, 1)


def test_two_simulators_never_share_a_state(simulator: Simulator) -> None:
    with pytest.raises(ProviderUnavailable), running_simulator(simulator.state_dir, API_KEY):
        pass
