"""Evaluate over candidates in all pack languages, beside a plain Python loop that comes to the same verdicts on some
of them in the same run, and beside the step of collect that parses their lines.

The candidates are the labelled set, and pairs of kind rewrites of a language put together to longer ones.
"""

import json
import resource
import time
from itertools import cycle, islice
from tempfile import TemporaryFile
from typing import Annotated, Any

import polars as pl
import typer

from rewrite_batch.collect.apply import line_of
from rewrite_batch.collect.match import match
from rewrite_batch.evaluate.dataset import dataset_files
from rewrite_batch.evaluate.lines import Line, candidates_of, read_lines
from rewrite_batch.evaluate.matcher import matcher_of
from rewrite_batch.evaluate.packs import shipped
from rewrite_batch.evaluate.run import evaluate as judge
from rewrite_batch.submit.prompts import prompts
from rewrite_batch.submit.render import ANSWER_FORMAT
from tests.bench.loop import Loop
from tests.unit import collect_lines

COMPARED = ("violations", "schema_valid", "intent_preserved", "kept")
ROUNDS = 3


def evaluate(
    items: Annotated[int, typer.Option(help="Candidates to judge.")] = 200_000,
    loop_items: Annotated[int, typer.Option(help="How many of them the loop judges too.")] = 5_000,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    made = candidates(items)
    judge(made[:100])  # packs and model are loaded once a process, not once a batch
    before = _peak_mb()
    seconds, verdicts = _best(made)
    peak = _peak_mb()
    some = made.sample(min(loop_items, items), seed=1)
    same, loop_seconds = _loop(some, verdicts)
    lines_per_s = _parse_rate(some)
    result: dict[str, Any] = {
        "items": items,
        "items_per_s": round(items / seconds),
        "loop_items": some.height,
        "loop_items_per_s": round(some.height / loop_seconds),
        "times_loop": round((items / seconds) / (some.height / loop_seconds), 1),
        "same_verdicts": same,
        "parse_lines_per_s": round(lines_per_s),
        "times_parse": round((items / seconds) / lines_per_s, 3),
        "kept_share": round(verdicts["kept"].sum() / items, 3),
        "peak_mb": round(peak),
        "peak_mb_before": round(before),
    }
    if as_json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:<18}{value}")
    if not same:
        raise typer.Exit(1)


def candidates(items: int) -> pl.DataFrame:
    """Three in four are put together from kind texts; the others are the set as it is."""
    lines: list[Line] = []
    for file in dataset_files():
        with file.open("rb") as source:
            lines += [line for line in read_lines(source) if isinstance(line, Line)]
    kind = [line for line in lines if line.label == "kind"]
    by_language: dict[str, list[Line]] = {}
    for line in kind:
        by_language.setdefault(line.target_locale, []).append(line)
    made: list[Line] = []
    for turn, line in enumerate(islice(cycle(lines), items)):
        if turn % 4 == 0:
            made.append(line)
            continue
        others = by_language[line.target_locale]
        one, other = others[turn % len(others)], others[(turn * 7 + turn // len(others)) % len(others)]
        made.append(
            Line(
                id=str(turn),
                target_locale=one.target_locale,
                source_locale=one.source_locale,
                original_text=f"{one.original_text} {other.original_text}",
                intent=one.intent,
                power_mode=one.power_mode,
                rewritten_text=f"{one.rewritten_text} {other.rewritten_text}",
                topics=one.topics,
            )
        )
    return candidates_of(made)


def _best(made: pl.DataFrame) -> tuple[float, pl.DataFrame]:
    times: list[float] = []
    verdicts = made
    for _ in range(ROUNDS):
        began = time.monotonic()
        verdicts = judge(made)
        times.append(time.monotonic() - began)
    return min(times), verdicts


def _loop(some: pl.DataFrame, verdicts: pl.DataFrame) -> tuple[bool, float]:
    loop = Loop(matcher_of(shipped()))
    rows: list[dict[str, Any]] = some.to_dicts()
    for row in rows[:50]:
        loop.judge(row)
    began = time.monotonic()
    judged = [loop.judge(row) for row in rows]
    seconds = time.monotonic() - began
    wanted = some.select("row").join(verdicts, on="row", how="left", maintain_order="left")
    same = all(
        {name: sorted(other[name]) if name == "violations" else other[name] for name in COMPARED} == one
        for one, other in zip(judged, wanted.iter_rows(named=True), strict=True)
    )
    return same, seconds


def _parse_rate(some: pl.DataFrame) -> float:
    """Lines a second of the step of collect that comes before: result lines that hold these rewrites, as long as the
    provider writes them, matched to their items, read and parsed."""
    answers = some.select("rewritten_text", "target_locale").drop_nulls().rows()
    times: list[float] = []
    with TemporaryFile() as file:
        file.writelines(_result(n, *answer) for n, answer in enumerate(answers))
        file.flush()
        for _ in range(ROUNDS):
            began = time.monotonic()
            matched = match({"output": file.fileno()}, collect_lines.BATCH, len(answers))
            parsed = [line_of(index, matched, None) for index in range(len(answers))]
            times.append(time.monotonic() - began)
            assert not any(row is None or row.reason for row in parsed)
    return len(answers) / min(times)


def _result(index: int, text: str, language: str) -> bytes:
    """The provider repeats the request's instructions and format in each answer."""
    said = collect_lines.message(collect_lines.answer(text, language))
    instructions = prompts()["v1"].instructions(language)
    repeated: dict[str, Any] = {"instructions": instructions, "text": ANSWER_FORMAT, "tools": [], "metadata": {}}
    return collect_lines.raw(collect_lines.line(index, output=[said], http=200, **repeated))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
