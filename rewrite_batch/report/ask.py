"""Ask: a report, or a question in SQL, comes in; columns and rows go out. A question may only read."""

from dataclasses import dataclass, replace
from typing import Any

import duckdb

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.report.catalog import Report


@dataclass(frozen=True)
class Answer:
    """`keys` leading columns are words; `totals` add up; `hidden` are left out on a terminal."""

    title: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    keys: int = 0
    totals: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def total(self) -> list[Any] | None:
        """The sum of each column that adds up; None where one row is all there is."""
        if not self.totals or len(self.rows) < 2:
            return None
        sums = {
            name: sum((row[i] for row in self.rows if row[i] is not None), start=0)
            for i, name in enumerate(self.columns)
            if name in self.totals and any(row[i] is not None for row in self.rows)
        }
        return ["all", *(sums.get(name) for name in self.columns[1:])]


def answer_report(duck: duckdb.DuckDBPyConnection, report: Report) -> Answer:
    answer = _answer(duck, report.statement, report.name)
    return replace(answer, keys=report.keys, totals=report.totals, hidden=report.hidden)


def answer_question(duck: duckdb.DuckDBPyConnection, question: str) -> Answer:
    """One statement that reads. The files and the configuration are out of its reach anyway; this says so kindly."""
    try:
        statements = duckdb.extract_statements(question)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise ConfigurationError(
                "ask one question that only reads: SELECT, WITH, FROM, DESCRIBE, SUMMARIZE or SHOW TABLES"
            )
        return _answer(duck, question, "answer")
    except duckdb.Error as error:
        said = str(error)
    raise ConfigurationError(f"{said}\nThe views and their columns: rewrite-batch sql --views")


def _answer(duck: duckdb.DuckDBPyConnection, statement: str, title: str) -> Answer:
    done = duck.execute(statement)
    described = done.description or []
    return Answer(
        title,
        columns=tuple(column[0] for column in described),
        types=tuple(str(column[1]) for column in described),
        rows=done.fetchall(),
    )
