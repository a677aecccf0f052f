"""A prompt for questions, and how to open the same views elsewhere."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.export.manifest import Manifest, load
from rewrite_batch.export.parquet import literal
from rewrite_batch.export.tables import BY_NAME
from rewrite_batch.output import print_for_people, say
from rewrite_batch.report.ask import answer_question
from rewrite_batch.report.period import period
from rewrite_batch.report.show import people_table
from rewrite_batch.report.source import BY_FOLDER, source, view_statements
from rewrite_batch.settings import Settings

HOW = """-- In the DuckDB shell:    duckdb -init views.sql          (this output saved as views.sql)
-- In a notebook:          import duckdb; duck = duckdb.connect(); duck.execute(open("views.sql").read())
--                         duck.sql("SELECT target_locale, sum(cost_usd) FROM calls GROUP BY ALL").pl()
-- New days appear by themselves. What each column means: rewrite-batch sql --views
"""


def prompt(settings: Settings, directory: Path | None, since: str | None, until: str | None) -> None:
    """Each question ends with a semicolon; Ctrl-D leaves."""
    span = period(since, until, datetime.now(UTC).date())
    with source(settings, directory, span, BY_NAME) as opened:
        say(
            f"{', '.join([*BY_NAME, 'prices'])}: views over {opened.says}. End a question with ; and leave with Ctrl-D."
        )
        asked = ""
        while line := _line("... " if asked else "sql> "):
            asked += line
            if not asked.strip():
                asked = ""
            elif asked.rstrip().endswith(";"):
                try:
                    print_for_people(people_table(answer_question(opened.duck, asked)), whole=True)
                except ConfigurationError as error:
                    say(f"error: {error}")
                asked = ""
        say("")


def _line(mark: str) -> str:
    sys.stderr.write(mark)
    sys.stderr.flush()
    return sys.stdin.readline()


def how_to_open(directory: Path) -> str:
    manifest = load(directory)
    if manifest is None:
        raise ConfigurationError(f"there is no export in {directory}: run `rewrite-batch export {directory}` first")
    statements = ";\n".join(_by_glob(directory, manifest)) + ";\n"
    return HOW + statements


def _by_glob(directory: Path, manifest: Manifest) -> list[str]:
    """A glob instead of a list of files: it finds the days of later exports too. An empty table keeps its columns."""
    listed = view_statements(directory, manifest)
    return [
        f"CREATE OR REPLACE VIEW {name} AS SELECT * "  # noqa: S608  the path is the reader's own
        f"FROM read_parquet({literal(directory.absolute() / name / '*' / '*.parquet')}, {BY_FOLDER})"
        if manifest.tables.get(name)
        else statement
        for name, statement in zip(BY_NAME, listed, strict=True)
    ]
