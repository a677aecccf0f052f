"""budget, export, report and sql as people start them."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import duckdb
import polars as pl
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.report.catalog import BY_NAME
from rewrite_batch.report.run import Asked, run_report
from rewrite_batch.report.show import plain
from rewrite_batch.settings import Settings
from tests.commands.conftest import Run, environment
from tests.conftest import new_database
from tests.ledger import CANARY, fill

PERIOD = ("--since", "2026-10-10", "--until", "2026-11-10")


@pytest.fixture(scope="module")
def url(server: str, template: str) -> Iterator[str]:
    with new_database(server, template) as name:
        made = make_conninfo(server, dbname=name)
        with db.connect(SecretStr(made), purpose="tests") as connection:
            fill(connection, jobs=40)
        yield made


@pytest.fixture(scope="module")
def exported(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("exported") / "not" / "there" / "yet"
    command = [sys.executable, "-m", "rewrite_batch", "export", str(directory), "--verify"]
    done = subprocess.run(command, env=environment(DATABASE_URL=url), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["verify"]["problems"] == []
    assert {table["table"] for table in result["tables"]} >= {
        "calls",
        "items",
        "jobs",
        "batches",
        "events",
        "runs",
        "alerts",
    }
    return directory


def asked(exported: Path, name: str, form: str) -> bytes:
    answer = run_report(Settings(), Asked(name, None, PERIOD[1], PERIOD[3], form, exported))
    assert isinstance(answer, bytes)
    return answer


def test_a_report_comes_in_five_formats_with_the_same_figures(run: Run, exported: Path, tmp_path: Path) -> None:
    base = ("report", "cost-by-language-pair", *PERIOD, "--from", str(exported))
    document = json.loads(run(*base).stdout)
    costs = [row["cost_usd"] for row in document["rows"]]
    assert len(costs) >= 4
    assert (document["since"], document["until"]) == ("2026-10-10", "2026-11-10")
    assert Decimal(document["total"]["cost_usd"]) == sum(Decimal(cost) for cost in costs if cost)
    rows = list(csv.DictReader(io.StringIO(asked(exported, base[1], "csv").decode())))
    assert [row["cost_usd"] or None for row in rows] == costs
    frame = pl.read_parquet(io.BytesIO(asked(exported, base[1], "parquet")))
    assert [str(value) if value is not None else None for value in frame["cost_usd"]] == costs
    assert frame["items"].to_list() == [row["items"] for row in document["rows"]]
    markdown = asked(exported, base[1], "md").decode().splitlines()
    assert markdown[0].startswith("| source locale | target locale |")
    assert len(markdown) == len(costs) + 3
    table = run(*base, "--format", "table").stdout
    kept = tmp_path / "table.txt"
    run(*base, "--format", "table", "--out", str(kept))
    assert kept.read_text() == table
    first = document["rows"][0]
    assert f"{first['source_locale']} → {first['target_locale']}" in table
    assert f"{Decimal(first['cost_usd']):.6f}"[:6] in table
    assert "…" not in table
    assert "2026-10-10 to 2026-11-09, UTC" in table


@pytest.mark.parametrize("name", BY_NAME)
def test_every_report_has_every_format(run: Run, exported: Path, name: str) -> None:
    """The same figures in each, to the last digit where a program reads them."""
    document = json.loads(asked(exported, name, "json"))
    columns, expected = document["columns"], [list(row.values()) for row in document["rows"]]
    assert expected
    head, *rows = csv.reader(io.StringIO(asked(exported, name, "csv").decode()))
    assert head == columns
    assert rows == [[flat(value) for value in row] for row in expected]
    frame = pl.read_parquet(io.BytesIO(asked(exported, name, "parquet")))
    assert frame.columns == columns
    assert [[flat(plain(value)) for value in row] for row in frame.rows()] == rows
    title, rule, *lines = asked(exported, name, "md").decode().splitlines()
    assert title.count("|") == rule.count("|") == len(columns) + 1
    assert len(lines) == len(rows) + ("total" in document)
    table = run("report", name, *PERIOD, "--from", str(exported), "--format", "table")
    assert table.returncode == 0, table.stderr
    assert len(table.stdout.splitlines()) > len(rows)


def flat(value: Any) -> str:
    """As CSV has it: a list is joined already, nothing is empty."""
    return "" if value is None else ",".join(cast("list[str]", value)) if isinstance(value, list) else str(value)


def test_postgres_is_asked_when_there_is_no_export(run: Run, exported: Path, url: str) -> None:
    live = run("report", "reliability", *PERIOD, DATABASE_URL=url)
    assert json.loads(live.stdout)["rows"] == json.loads(asked(exported, "reliability", "json"))["rows"] != []


def test_the_page_is_one_file_without_words(run: Run, exported: Path, tmp_path: Path) -> None:
    done = run("report", "html", *PERIOD, "--from", str(exported), "--out", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert CANARY not in page
    assert page.count("<svg") == page.count("<desc") == 7


def test_a_question_of_one_s_own(run: Run, exported: Path) -> None:
    question = "SELECT status, count(*) AS n FROM jobs GROUP BY ALL ORDER BY ALL"
    done = [
        run("report", "--sql", question, "--from", str(exported)),
        run("sql", "--from", str(exported), stdin=question + ";"),
    ]
    answers = [json.loads(each.stdout)["rows"] for each in done]
    assert answers[0] == answers[1]
    assert sum(row["n"] for row in answers[0]) == 40


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("report", "cache", "--from", "/nowhere"), "rewrite-batch export"),
        (
            ("report", "--sql", "SELECT * FROM read_text('/etc/passwd')", "--from", "EXPORT"),
            "rewrite-batch sql --views",
        ),
    ],
)
def test_a_mistake_is_explained(run: Run, exported: Path, arguments: tuple[str, ...], says: str) -> None:
    done = run(*(str(exported) if word == "EXPORT" else word for word in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"name": "cost-by-mood"}, "cost-by-language-pair"),
        ({"format": "xml"}, "csv"),
        ({"since": "yesterday"}, "2026-11-01"),
        ({"since": "2026-11-02", "until": "2026-11-02"}, "not before"),
        ({"name": None, "question": "DELETE FROM calls"}, "only reads"),
        ({"directory": None}, "DATABASE_URL is not set"),
    ],
)
def test_what_cannot_be_answered_is_explained(exported: Path, wrong: dict[str, Any], says: str) -> None:
    right = Asked("cache", None, None, None, "csv", exported)
    with pytest.raises(ConfigurationError, match=says):
        run_report(Settings(), replace(right, **wrong))


def test_without_a_name_the_reports_are_listed(run: Run) -> None:
    listed = run("report").stdout
    for name in (
        "cost-by-language-pair",
        "cost-by-model",
        "cost-by-day",
        "reliability",
        "quality",
        "batches",
        "cache",
        "html",
    ):
        assert name in listed


def test_verify_says_which_file_and_column_and_exits_70(run: Run, exported: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(exported), str(copy)], check=True)
    file = min((copy / "calls").rglob("*.parquet"))
    with duckdb.connect() as duck:
        duck.execute(
            f"""CREATE TABLE t AS SELECT * REPLACE ('so very loud' AS model)
            FROM read_parquet('{file}', hive_partitioning = false)"""
        )
        duck.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    done = run("export", str(copy), "--verify-only")
    assert done.returncode == 70
    assert f"{file.relative_to(copy)}: model" in done.stderr
    assert "loud" not in done.stdout + done.stderr


def test_the_statements_that_it_prints_open_the_views_elsewhere(run: Run, exported: Path) -> None:
    statements = run("sql", "--how", "--from", str(exported)).stdout
    with duckdb.connect() as duck:
        duck.execute(statements)
        assert duck.execute("SELECT count(*) FROM jobs").fetchone() == (40,)


def test_the_prompt_answers_and_survives_a_mistake(exported: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "rewrite_batch", "sql", "--from", str(exported)],
        env=environment(), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"SELECT nonsense;\nSELECT count(*) AS jobs\nFROM jobs;\nDROP VIEW jobs;\n\x04")
    out, err = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0, err
    assert "40" in out
    assert err.count("error:") == 2


def test_budget_shows_spent_in_flight_and_left(run: Run, url: str) -> None:
    settings = {"DATABASE_URL": url, "REWRITE_BATCH_DAILY_BUDGET_USD": "10"}
    shown = json.loads(run("budget", **settings).stdout)
    day, month = shown["spans"]
    assert Decimal(day["left_usd"]) == 10 - Decimal(day["spent_usd"]) - Decimal(day["in_flight_usd"])
    assert Decimal(day["in_flight_usd"]) > 0
    assert month["cap_usd"] is None
    assert month["left_usd"] is None
    assert {model["model"] for model in shown["models"]} <= {"gpt-5.2", "gpt-5-mini", "homegrown-1"}
