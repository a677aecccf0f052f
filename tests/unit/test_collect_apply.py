"""How a batch is cut into stretches, who waits for whom, and what is made ready when. No database is asked."""

import threading
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, cast
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.collect import fetch
from rewrite_batch.collect.apply import STRETCH, Applier, stretches_of
from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.batch import Absent, Ending, Held, Waits
from rewrite_batch.collect.fetch import Fetched, Fetcher, Waiting
from rewrite_batch.collect.match import Matched, Place, Places
from rewrite_batch.collect.write import MAX_CHUNK
from rewrite_batch.evaluate import run
from rewrite_batch.evaluate.matcher import matcher_of
from rewrite_batch.evaluate.packs import load_lexicon
from rewrite_batch.prices import price_book
from rewrite_batch.settings import load_settings

NOBODY = cast("Any", None)


def applier() -> Applier:
    return Applier(NOBODY, NOBODY, uuid4(), 60.0, price_book(None), Backoff(), None, lambda: False, lambda _s, _n: None)


def held(items: int) -> Held:
    now = datetime(2026, 11, 18, tzinfo=UTC)
    return Held(
        uuid4(), "finished", "m", "openai", None, "batch_1", None, items, "in", "out", None, now, 0.0, 0.0, None
    )


@given(st.integers(1, 200_000))
def test_stretches_are_whole_chunks_without_a_gap_and_the_first_is_a_single_one(items: int) -> None:
    stretches = stretches_of(items)
    assert stretches[0] == range(MAX_CHUNK)
    assert all(one.stop == other.start for one, other in pairwise(stretches))
    assert all(len(each) % MAX_CHUNK == 0 and len(each) <= STRETCH for each in stretches)
    assert stretches[-1].start < items <= stretches[-1].stop


def test_whoever_leaves_waits_for_the_stretch_that_reads_his_files(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def stretch(_self: Applier, _held: Held, which: range, *_: Any) -> list[tuple[int]]:
        if which.start:
            begun.set()
            assert go_on.wait(10)
            ended.set()
        return [(index,) for index in which]

    monkeypatch.setattr(Applier, "_stretch", stretch)
    chunks = applier().decided(held(5_000), Matched(Places(5_000)), None)
    assert next(cast("Any", chunks))[0] == 0
    assert begun.wait(10)
    leaving = threading.Thread(target=cast("Any", chunks).close)
    leaving.start()
    leaving.join(0.05)
    assert leaving.is_alive()
    go_on.set()
    leaving.join(10)
    assert ended.is_set()


def test_packs_are_made_ready_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Held] = []

    def get_ready(_: Applier, batch: Held) -> None:
        made.append(batch)

    monkeypatch.setattr(Applier, "_get_ready", get_ready)
    one, first = applier(), held(1)
    one.get_ready(first)
    one.get_ready(held(1))
    one.checker.shutdown()
    assert made == [first]


def test_nothing_more_is_made_ready_for_a_run_that_is_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "matcher_of", lambda _: pytest.fail("it was told to stop"))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    run.prepare([("en", "es")], None, lambda: True)


def test_only_the_languages_of_a_batch_are_made_ready() -> None:
    lexicon = load_lexicon()
    run.prepare([("en", "es"), ("tlh", "de")], lexicon, lambda: False)
    built = matcher_of(lexicon)._built  # pyright: ignore[reportPrivateUsage]
    assert set(built) == {"es", "de"}


@pytest.mark.parametrize("over", [False, True])
def test_only_a_batch_that_is_over_makes_anything_ready(monkeypatch: pytest.MonkeyPatch, *, over: bool) -> None:
    ending = Ending("completed", None, None, Absent("missing")) if over else Waits("in_progress")
    monkeypatch.setattr(fetch.provider, "retrieve", lambda *_, **__: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(fetch, "read_ending", lambda *_: ending)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    asked: list[Held] = []
    fetcher = Fetcher(NOBODY, load_settings({}), 0.0, lambda _: None, [], asked.append)
    batch = held(1)
    assert isinstance(fetcher.fetch(batch), Fetched if over else Waiting)
    assert asked == [batch] * over


def test_places_know_the_items_of_the_batch_and_no_others() -> None:
    places = Places(2)
    places[1] = Place(3, 1 << 40, 7, 1)
    assert dict(places) == {1: Place(3, 1 << 40, 7, 1)}
    assert (places.get(0), places.get(2), places.get(-1)) == (None, None, None)
    del places[1]
    assert len(places) == 0
