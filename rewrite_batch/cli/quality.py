"""Commands about quality: evaluate judges candidates offline, lexicon lists and checks packs."""

import os
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from rewrite_batch.cli.app import AsJson, app, begin, emit
from rewrite_batch.errors import ConfigurationError, InputRefused
from rewrite_batch.output import print_for_people, print_json, say, table, wants_json

if TYPE_CHECKING:
    from rewrite_batch.evaluate.dataset import Measured
    from rewrite_batch.evaluate.judge import Summary
    from rewrite_batch.evaluate.packs import Pack


@app.command()
def evaluate(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="JSON lines: id, target_locale, source_locale, original_text, intent, power_mode, rewritten_text, and "
            "if you like output_language and topics; - reads stdin."
        ),
    ] = None,
    explain: Annotated[str | None, typer.Option(help="Show which rule fired where in the line with this id.")] = None,
    dataset: Annotated[
        bool,
        typer.Option("--dataset", help="Measure recall and false alarms on labelled lines; without FILE, our own."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Judge rewrites offline: one verdict a line to stdout, in the order of the file; a summary to stderr.

    Needs no database and no network. A line that cannot be read is reported by number and reason; exit code 65.
    """
    if file is None and not dataset:
        raise ConfigurationError(
            "name a FILE of JSON lines, - for stdin, or --dataset for the labelled set of this project"
        )
    from rewrite_batch.evaluate.judge import Summary, find_line, judge  # noqa: PLC0415  loads the model of languages
    from rewrite_batch.evaluate.judge import as_json as shown  # noqa: PLC0415
    from rewrite_batch.evaluate.packs import load_lexicon  # noqa: PLC0415

    lexicon = load_lexicon(begin("evaluate").lexicon_dir)
    summary = Summary()
    with ExitStack() as opened:
        sources = [opened.enter_context(_open(each)) for each in _files(file)]
        if explain is not None:
            from rewrite_batch.evaluate.explain import explain as reasons_of  # noqa: PLC0415

            candidate = next((found for source in sources if (found := find_line(source, explain)) is not None), None)
            if candidate is None:
                raise ConfigurationError("no line that can be read has this id")
            _show_reasons([asdict(reason) for reason in reasons_of(candidate, lexicon)], as_json=as_json)
            return
        judged = (
            pair for source in sources for pair in judge(source, lexicon, summary, lambda it: say(f"refused: {it}"))
        )
        if dataset:
            _measure(judged, as_json=as_json)
        else:
            for line, verdict in judged:
                print_json(shown(line, verdict))
    _say_summary(summary)
    if summary.refused:
        raise InputRefused(f"{summary.refused} of {summary.lines} lines were refused, see above")


def _files(file: Path | None) -> list[Path]:
    from rewrite_batch.evaluate.dataset import dataset_files  # noqa: PLC0415

    return dataset_files() if file is None else [file]


def _open(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    try:
        return file.open("rb")
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {os.strerror(error.errno or 0)}") from None


def _show_reasons(reasons: list[dict[str, Any]], *, as_json: bool) -> None:
    rows = [
        [each["code"], each["rule"], "" if each["start"] is None else str(each["start"]), each["words"]]
        for each in reasons
    ]
    people = table("What fired", ["code", "rule", "at", "words"], rows, numbers_from=9) if rows else "no rule fired"
    emit({"fired": reasons}, people, as_json=as_json)


def _measure(judged: Iterable[tuple[Any, dict[str, Any]]], *, as_json: bool) -> None:
    from rewrite_batch.evaluate.dataset import dataset_version, measure  # noqa: PLC0415

    pairs = list(judged)
    found = measure([line for line, _ in pairs], [verdict for _, verdict in pairs])
    if wants_json(as_json):
        print_json(
            {
                "dataset_version": dataset_version(),
                "languages": {name: tally.as_json() for name, tally in sorted(found.by_language.items())},
                "codes": {name: tally.as_json() for name, tally in sorted(found.by_code.items())},
                "otherwise_than_labelled": found.missed,
            }
        )
        return
    for each in _dataset_tables(found):
        print_for_people(each)
    for each in found.missed:
        say(f"{each['id']}: labelled {each['label']}, codes {', '.join(each['codes']) or 'none'}")


def _dataset_tables(found: "Measured") -> list[Any]:
    def cell(value: Any) -> str:
        return "" if value is None else f"{value:.1%}" if isinstance(value, float) else str(value)

    def made(title: str, first: str, tallies: dict[str, Any]) -> Any:
        rows = [[name, *map(cell, tally.as_json().values())] for name, tally in sorted(tallies.items())]
        names = ["unsafe", "recall", "named", "wrong language", "recall", "kind", "passed", "false alarms"]
        return table(title, [first, *names], rows)

    return [made("By language", "language", found.by_language), made("By code", "code", found.by_code)]


def _say_summary(summary: "Summary") -> None:
    say(f"{summary.lines} lines: {summary.judged} judged, {summary.refused} refused")
    for language, counts in sorted(summary.languages.items()):
        say(f"{language}: " + ", ".join(f"{name} {count}" for name, count in counts.items() if count))


@app.command()
def lexicon(
    check: Annotated[
        Path | None, typer.Option(help="A pack file to check: form, and every row's two sentences.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the lexicon packs with versions and counts; or check a pack that you edit (exit code 65 on mistakes)."""
    from rewrite_batch.evaluate.pack_check import check_file  # noqa: PLC0415  polars takes a moment to load
    from rewrite_batch.evaluate.packs import load_lexicon  # noqa: PLC0415

    settings = begin("lexicon")
    if check is None:
        packs = load_lexicon(settings.lexicon_dir).packs.values()
        rows = [[pack.language, pack.version, *map(str, _counts(pack).values())] for pack in packs]
        listed = table("Lexicon packs", ["language", "version", "rules", "terms", "vocabulary"], rows, numbers_from=2)
        emit(
            {"packs": [{"language": p.language, "version": p.version, **_counts(p)} for p in packs]},
            listed,
            as_json=as_json,
        )
        return
    pack, mistakes = check_file(check)
    for mistake in mistakes:
        say(f"{check.name} {mistake}")
    people = f"{check.name}: {len(pack.rules)} rules, {len(mistakes)} mistakes"
    emit({"version": pack.version, **_counts(pack), "mistakes": mistakes}, people, as_json=as_json)
    if mistakes:
        raise InputRefused(f"{len(mistakes)} mistakes in {check.name}, see above; correct them and check it again")


def _counts(pack: "Pack") -> dict[str, int]:
    terms = sum(not rule.code.startswith("@") for rule in pack.rules)
    return {"rules": len(pack.rules), "terms": terms, "vocabulary": len(pack.rules) - terms}
