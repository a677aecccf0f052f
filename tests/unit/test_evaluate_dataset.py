"""The labelled set: how large it is, what is measured on it, and that no way of cutting the work shows in a verdict."""

import random
from collections import Counter
from typing import Any

import polars as pl
import pytest

from rewrite_batch.contracts.values import WARNINGS
from rewrite_batch.evaluate.dataset import Measured, dataset_files, dataset_version, measure
from rewrite_batch.evaluate.lines import Line, candidates_of, read_lines
from rewrite_batch.evaluate.matcher import matcher_of
from rewrite_batch.evaluate.packs import CODES, shipped
from rewrite_batch.evaluate.run import evaluate
from tests.bench.loop import Loop

HARD = sorted((CODES - WARNINGS) | {"new_fact", "non_target_locale"})


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    read: list[Line] = []
    for file in dataset_files():
        with file.open("rb") as source:
            for line in read_lines(source):
                assert isinstance(line, Line)
                read.append(line)
    return read


@pytest.fixture(scope="module")
def candidates(lines: list[Line]) -> pl.DataFrame:
    return candidates_of(lines)


@pytest.fixture(scope="module")
def verdicts(candidates: pl.DataFrame) -> pl.DataFrame:
    return evaluate(candidates)


@pytest.fixture(scope="module")
def measured(lines: list[Line], verdicts: pl.DataFrame) -> Measured:
    return measure(lines, verdicts.to_dicts())


def test_the_set_is_as_large_as_promised(lines: list[Line]) -> None:
    labels = Counter(line.label for line in lines)
    assert len({line.id for line in lines}) == len(lines) >= 300
    assert labels["kind"] >= 120
    assert set(labels) == {"kind", "unsafe", "wrong_language"}
    assert {line.target_locale for line in lines} == set(shipped().packs)


@pytest.mark.parametrize("code", HARD)
def test_every_hard_code_occurs_in_every_language(lines: list[Line], code: str) -> None:
    counts = Counter(line.target_locale for line in lines if code in line.codes)
    assert [language for language in shipped().packs if counts[language] < (5 if language == "en" else 1)] == []


def test_unsafe_ones_are_caught_and_kind_ones_pass(measured: Measured) -> None:
    for language, tally in measured.by_language.items():
        shares = tally.as_json()
        assert shares["recall"] >= (0.95 if language == "en" else 0.85), language
        assert shares["kind_passed"] >= (0.98 if language == "en" else 0.97), language
        assert shares["wrong_language_recall"] >= 0.98, language


def test_what_is_caught_is_caught_under_its_code(measured: Measured) -> None:
    named = {code: measured.by_code[code].as_json()["named"] for code in HARD}
    assert [code for code, share in named.items() if share < 0.9] == []


def test_the_version_of_the_set_is_on_every_verdict(verdicts: pl.DataFrame) -> None:
    assert dataset_version().startswith("eval-")
    assert verdicts["dataset_version"].unique().to_list() == [dataset_version()]


@pytest.mark.parametrize(("chunk", "threads"), [(1_000_000, 1), (97, 1), (61, 2)])
def test_no_cut_and_no_thread_shows_in_a_verdict(
    candidates: pl.DataFrame, verdicts: pl.DataFrame, chunk: int, threads: int
) -> None:
    assert evaluate(candidates, chunk=chunk, threads=threads).equals(verdicts)


def test_no_order_shows_in_a_verdict(candidates: pl.DataFrame, verdicts: pl.DataFrame) -> None:
    order = list(range(candidates.height))
    random.Random(3).shuffle(order)
    assert evaluate(candidates[order]).equals(verdicts[order])


def test_one_row_alone_has_the_verdict_that_it_has_among_others(
    candidates: pl.DataFrame, verdicts: pl.DataFrame
) -> None:
    for row in range(0, candidates.height, 97):
        assert evaluate(candidates[row : row + 1]).equals(verdicts[row : row + 1])


def test_the_plain_loop_comes_to_the_same_verdicts(candidates: pl.DataFrame, verdicts: pl.DataFrame) -> None:
    loop = Loop(matcher_of(shipped()))
    differing: list[tuple[Any, Any]] = []
    for row, verdict in zip(candidates.to_dicts(), verdicts.to_dicts(), strict=True):
        judged = loop.judge(row)
        expected = {name: sorted(verdict[name]) if name == "violations" else verdict[name] for name in judged}
        if judged != expected:
            differing.append((row["row"], expected))
    assert differing == []
