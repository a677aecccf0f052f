"""Report, as one paragraph: the period, the source, the question, the answer, its form."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Group, RenderableType

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.export.tables import BY_NAME
from rewrite_batch.output import table
from rewrite_batch.report.ask import Answer, answer_question, answer_report
from rewrite_batch.report.catalog import REPORTS, report_named
from rewrite_batch.report.period import Period, period
from rewrite_batch.report.show import FORMATS, MAKERS, json_bytes, people_table
from rewrite_batch.report.source import Source, source
from rewrite_batch.settings import Settings


@dataclass(frozen=True)
class Asked:
    """A report by name, or a question in SQL."""

    name: str | None
    question: str | None
    since: str | None
    until: str | None
    format: str
    directory: Path | None

    @property
    def is_binary(self) -> bool:
        return self.format == "parquet"


def run_report(settings: Settings, asked: Asked) -> RenderableType | bytes:
    if asked.format not in FORMATS:
        raise ConfigurationError(f"there is no format {asked.format}; there are {', '.join(FORMATS)}")
    span = period(asked.since, asked.until, datetime.now(UTC).date())
    if asked.name == "html":
        from rewrite_batch.report.page import write_page  # noqa: PLC0415  only this report draws

        return write_page(settings, asked.directory, span)
    report = report_named(asked.name) if asked.name else None
    with source(settings, asked.directory, span, report.tables if report else BY_NAME) as opened:
        answer = answer_report(opened.duck, report) if report else answer_question(opened.duck, asked.question or "")
        return _formed(answer, asked.format, span, opened)


def _formed(answer: Answer, kind: str, span: Period, opened: Source) -> RenderableType | bytes:
    if kind == "table":
        more = f". Not shown: {', '.join(answer.hidden)}; --format csv has all" if answer.hidden else ""
        below = f"{span}, from {opened.says} as of {opened.as_of:%Y-%m-%d %H:%M} UTC{more}"
        return Group(people_table(answer), "", below)
    if kind == "json":
        about = {"since": str(span.since), "until": str(span.until), "as_of": opened.as_of.isoformat()}
        return json_bytes(answer, **about)
    return MAKERS[kind](answer)


def listing() -> RenderableType:
    rows = [[report.name, report.says] for report in REPORTS] + [["html", "all of it as one page with pictures"]]
    return table("Reports: rewrite-batch report NAME", ["name", "answers"], rows, numbers_from=9)
