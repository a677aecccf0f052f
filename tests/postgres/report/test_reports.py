"""Every figure of every report agrees with PostgreSQL, asked in other words."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.budget import read_budget
from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.export.run import export
from rewrite_batch.prices import Usage, price_book
from rewrite_batch.report.ask import Answer, answer_question, answer_report
from rewrite_batch.report.catalog import BY_NAME, REPORTS
from rewrite_batch.report.dictionary import dictionary
from rewrite_batch.report.period import Period
from rewrite_batch.report.source import Source, source
from rewrite_batch.settings import Settings
from tests.conftest import new_database
from tests.ledger import BEGIN, DAYS, Past, fill, write
from tests.postgres.report.questions import QUESTIONS
from tests.postgres.test_budget import call

FIRST = BEGIN.date()
EVERYTHING = Period(FIRST - timedelta(days=9), FIRST + timedelta(days=DAYS + 9))
PERIODS = [
    EVERYTHING,
    Period(FIRST + timedelta(days=2), FIRST + timedelta(days=4)),
    Period(FIRST + timedelta(days=3), FIRST + timedelta(days=4)),
    Period(date(2020, 1, 1), date(2020, 1, 3)),
]


class World:
    """A past, its export, and one DuckDB a period that stays open."""

    def __init__(self, connection: Connection, settings: Settings, directory: Path, open_ones: ExitStack) -> None:
        self.connection, self.settings, self.directory = connection, settings, directory
        self.open_ones = open_ones
        self.sources: dict[Period, Source] = {}

    def at(self, period: Period) -> Source:
        if period not in self.sources:
            made = source(self.settings, self.directory, period, ())
            self.sources[period] = self.open_ones.enter_context(made)
        return self.sources[period]

    def answer(self, name: str, period: Period) -> Answer:
        return answer_report(self.at(period).duck, BY_NAME[name])

    def postgres(self, name: str, period: Period) -> list[tuple[Any, ...]]:
        days = {"since": period.since, "until": period.until, "before": period.previous_since}
        bounds = {name: datetime.combine(day, time(), UTC) for name, day in days.items()}
        return self.connection.execute(QUESTIONS[name].encode(), bounds).fetchall()


@pytest.fixture(scope="module", params=[1, 2])
def world(
    server: str, template: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[World]:
    with new_database(server, template) as name:
        url = SecretStr(make_conninfo(server, dbname=name))
        directory = tmp_path_factory.mktemp("export")
        with db.connect(url, purpose="tests") as connection, ExitStack() as open_ones:
            fill(connection, seed=request.param, jobs=200)
            export(connection, directory)
            connection.execute("SET timezone = 'UTC'")
            yield World(connection, Settings(database_url=url), directory, open_ones)


def comparable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A float is a ratio or a time: six digits of it. Everything else as it is, to the last digit."""
    return tuple(
        round(float(value), 6) if isinstance(value, float) else Decimal(value) if isinstance(value, int) else value
        for value in row
    )


def agree(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]], name: str) -> None:
    left, right = (sorted(rows, key=lambda row: [str(v) for v in row[:5]]) for rows in (found, expected))
    assert len(left) == len(right), name
    for one, other in zip(map(comparable, left), map(comparable, right), strict=True):
        for position, (a, b) in enumerate(zip(one, other, strict=True)):
            if isinstance(a, float) or isinstance(b, float):
                assert a == pytest.approx(None if b is None else float(b), abs=2e-3 if abs(a or 0) > 10 else 2e-6), (
                    name,
                    position,
                    one,
                    other,
                )
            else:
                assert a == b, (name, position, one, other)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_figure_agrees_with_postgres(world: World, name: str) -> None:
    rows = 0
    for period in PERIODS:
        answer = world.answer(name, period)
        expected = world.postgres(name, period)
        agree(answer.rows, expected, f"{name} {period}")
        rows += len(expected)
    assert rows >= 4


def test_every_report_has_a_question_or_a_test_of_its_own() -> None:
    assert {report.name for report in REPORTS} - set(QUESTIONS) == {"cache", "spending"}


@pytest.mark.parametrize("period", PERIODS)
def test_straight_from_postgres_gives_the_same_rows(world: World, period: Period) -> None:
    """Each report with the tables that it says it reads, as the command does, and no others."""
    for report in REPORTS:
        with source(world.settings, None, period, report.tables) as live:
            assert answer_report(live.duck, report).rows == world.answer(report.name, period).rows, report.name


def test_the_cache_saved_what_the_same_calls_would_have_cost_without_it(world: World) -> None:
    answer = world.answer("cache", EVERYTHING)
    saved = {row[1]: row[answer.columns.index("saved_usd")] for row in answer.rows}
    expected: dict[str, Decimal | None] = {}
    calls = world.connection.execute(
        """SELECT model, created_at::date, input_tokens, cached_tokens, cache_write_tokens, output_tokens, cost_usd
        FROM provider_calls"""
    ).fetchall()
    for model, day, tokens, cached, written, output, cost in calls:
        if cost is None:
            expected.setdefault(model, None)
            continue
        plain = price_book().price(model, Usage(tokens, 0, 0, output), day)
        assert price_book().price(model, Usage(tokens, cached, written, output), day) == cost
        assert plain is not None
        expected[model] = (expected.get(model) or Decimal(0)) + plain - cost
    assert saved == expected
    assert len([value for value in saved.values() if value]) >= 2


def test_spending_counts_as_submit_does(world: World) -> None:
    settings = world.settings.model_copy(update={"daily_budget_usd": Decimal(50), "monthly_budget_usd": None})
    open_usd = world.connection.execute(
        "SELECT sum(reserved_usd) FROM token_reservations WHERE state = 'open'"
    ).fetchone()
    assert open_usd is not None
    with source(settings, world.directory, EVERYTHING, ()) as opened:
        day, month = answer_report(opened.duck, BY_NAME["spending"]).rows
    assert day == ("day", 0, open_usd[0], 50, 50 - open_usd[0])
    assert month[0] == "month"
    assert month[3:] == (None, None)


def test_spending_of_today_and_this_month_is_the_budget_s_in_both_modes(
    connection: Connection, database: SecretStr, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    month = datetime.combine(now.date().replace(day=1), time(), UTC)
    past = Past(1)
    for at, usd in ((now, "1.000000000001"), (month, "0.25"), (month - timedelta(microseconds=1), "1000"), (now, None)):
        call(past, at, usd)
    write(connection, past)
    fill(connection)
    export(connection, tmp_path)
    settings = Settings(database_url=database, daily_budget_usd=Decimal(5), monthly_budget_usd=Decimal(7))
    expected = [
        (each.span, each.spent_usd, each.in_flight_usd, each.cap_usd, each.left_usd)
        for each in read_budget(connection, settings).spans
    ]
    assert expected[1][1] == Decimal("1.250000000001")
    for directory in (tmp_path, None):
        with source(settings, directory, EVERYTHING, BY_NAME["spending"].tables) as opened:
            assert answer_report(opened.duck, BY_NAME["spending"]).rows == expected


@pytest.mark.parametrize("name", ["cost-by-language-pair", "cost-by-model"])
def test_what_was_paid_for_before_and_is_called_no_more_cost_nothing_now(world: World, name: str) -> None:
    """Nothing is not unknown: unknown is what has calls without a price."""
    later = Period(FIRST + timedelta(days=20), FIRST + timedelta(days=40))
    answer = world.answer(name, later)
    agree(answer.rows, world.postgres(name, later), name)
    place = answer.columns.index
    assert answer.rows
    assert {row[place("cost_usd")] for row in answer.rows} == {0}
    assert {float(row[place("change")]) for row in answer.rows if row[place("previous_cost_usd")]} == {-1.0}


def test_a_word_list_is_compared_with_the_one_before_it_of_its_own_language(world: World) -> None:
    answer = world.answer("quality", EVERYTHING)
    place = answer.columns.index
    before = [row for row in answer.rows if row[place("previous_lexicon_version")] is not None]
    assert all(row[place("previous_lexicon_version")].startswith(row[place("target_locale")]) for row in before)
    assert any(row[place("regression")] is not None for row in before)


def test_a_total_is_the_sum_of_its_column(world: World) -> None:
    answer = world.answer("cost-by-language-pair", EVERYTHING)
    total = answer.total()
    whole = world.connection.execute("SELECT sum(cost_usd), sum(input_tokens) FROM provider_calls").fetchone()
    assert total is not None
    assert (total[answer.columns.index("cost_usd")], total[answer.columns.index("input_tokens")]) == whole


WRITES = [
    "DELETE FROM calls",
    "CREATE TABLE x AS SELECT 1",
    "COPY calls TO '/tmp/x.csv'",
    "ATTACH '/tmp/x.db'",
    "INSTALL httpfs",
    "SET enable_external_access = true",
    "EXPLAIN ANALYZE DELETE FROM prices",
    "SELECT 1; DROP VIEW calls",
    "INSERT INTO prices SELECT * FROM prices",
    "PRAGMA database_list; DELETE FROM prices",
    "",
    ";",
]
ELSEWHERE = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_parquet('https://example.com/x.parquet')",
]


def test_a_question_reads_the_views_and_nothing_else(world: World) -> None:
    with source(world.settings, world.directory, EVERYTHING, ()) as opened:
        count = world.connection.execute("SELECT count(*) FROM provider_calls").fetchone()
        assert answer_question(opened.duck, "FROM calls SELECT count(*)").rows == [count]
        for question in [*WRITES, *ELSEWHERE]:
            with pytest.raises(ConfigurationError):
                answer_question(opened.duck, question)
        # The lock holds even for a statement that slips past the check above.
        for statement in [*WRITES[2:6], *ELSEWHERE]:
            with pytest.raises(Exception, match=r"Permission|configuration|exist|[Ee]xtension"):
                opened.duck.execute(statement)
        assert answer_question(opened.duck, "SELECT count(*) FROM calls").rows == [count]


def test_the_dictionary_names_every_column_of_every_view(world: World) -> None:
    written = dictionary()
    views = answer_question(
        world.at(EVERYTHING).duck, "SELECT table_name, column_name FROM information_schema.columns"
    ).rows
    assert len(views) > 100
    assert {view for view, _ in views} == {line[3:] for line in written.splitlines() if line.startswith("## ")}
    for view, column in views:
        part = written.split(f"## {view}\n")[1].split("\n## ")[0]
        names = {
            name.strip()
            for line in part.splitlines()
            if line.startswith("| ")
            for name in line[2:].split("|")[0].split(",")
        }
        assert column in names, (view, column)


def test_the_committed_dictionary_is_the_printed_one() -> None:
    assert (Path(__file__).parents[3] / "sql" / "report" / "README.md").read_text() == dictionary()
