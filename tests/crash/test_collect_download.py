"""A download that is cut anywhere: the file is whole, or there is none; nothing is applied from a part."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any
from uuid import UUID

import pytest
from openai import OpenAI

from rewrite_batch.collect.download import TRIES, ResultFile, download
from rewrite_batch.errors import ProviderUnavailable
from tests.crash.conftest import Worlds
from tests.crash.world import World

UNITS = 5
BATCH = UUID(int=1)
HOW = ("close", "chunked", "short_length")  # the last one lies: the length that it announces is that of the part


@pytest.fixture
def world(new: Worlds) -> Iterator[World]:
    with new() as made:
        made.simulator.settings(bad_share=0)
        made.enqueue(UNITS)
        made.send()
        made.simulator.finish_all()
        yield made


def output_file(world: World) -> tuple[str, bytes]:
    (file_id,) = [file["id"] for file in world.simulator.state()["files"] if file["purpose"] == "batch_output"]
    with world.client() as client:
        return file_id, client.files.content(file_id).content


def cuts(content: bytes) -> list[tuple[int, str]]:
    """Every percent of the file, one way after the other; and before, at and after each end of a line, every way."""
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    near = {place for end in ends for place in (end - 1, end, end + 1)} - {len(content)}
    percents = [(len(content) * percent // 100, how) for percent, how in zip(range(100), cycle(HOW), strict=False)]
    return [*percents, *((place, how) for place in sorted(near) for how in HOW)]


def fetch_file(world: World, client: OpenAI, file_id: str) -> ResultFile | None:
    return download(
        client,
        file_id,
        batch_id=BATCH,
        kind="output",
        spool_dir=world.spool,
        base_s=0.0,
        on_bytes=lambda _count: None,
        on_disk=[],
    )


def cut_at(world: World, cut: int, how: str, times: int | None) -> int:
    fault: dict[str, Any] = {"operation": "files.content", "kind": "truncate", "bytes": cut, "how": how, "times": times}
    return world.simulator.arm(fault)


def test_a_download_that_is_cut_at_every_try_leaves_no_file_wherever_the_cut_is(world: World) -> None:
    file_id, content = output_file(world)
    with world.client() as client:
        for cut, how in cuts(content):
            cut_at(world, cut, how, TRIES)
            with pytest.raises(ProviderUnavailable):
                fetch_file(world, client, file_id)
            assert list(world.spool.iterdir()) == [], f"cut at {cut}, {how}"
    assert {fault["fired"] for fault in world.simulator.faults()} == {TRIES}


def test_a_download_that_is_cut_once_is_made_again_from_its_first_byte(world: World) -> None:
    file_id, content = output_file(world)
    with world.client() as client:
        for cut, how in cuts(content)[::5]:
            cut_at(world, cut, how, 1)
            file = fetch_file(world, client, file_id)
            assert file is not None
            assert file.path.suffix == ".jsonl"
            assert file.path.read_bytes() == content
            file.remove()
    assert list(world.spool.iterdir()) == []
    assert {fault["fired"] for fault in world.simulator.faults()} == {1}


@pytest.mark.parametrize("how", HOW)
def test_a_collect_whose_downloads_are_cut_at_line_ends_applies_nothing(world: World, how: str) -> None:
    """Where a part looks most like a whole file."""
    _, content = output_file(world)
    ends = [place + 1 for place, byte in enumerate(content) if byte == ord("\n")]
    for cut in (0, *ends[:-1]):
        fault = cut_at(world, cut, how, None)
        run = world.collect()
        assert world.simulator.fired(fault)
        assert run.code == 75, run.stderr
        assert world.statuses() == {"batch_submitted": UNITS}
        assert world.value("SELECT count(*) FROM provider_calls") == 0
        world.check(at_rest=True)
        world.simulator.disarm(fault)
    world.bring_home()
    assert world.statuses() == {"completed": UNITS}
