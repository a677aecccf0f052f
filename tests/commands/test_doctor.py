"""Doctor: one line a check, ok or what to do; every check against the real thing."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from rewrite_batch.db import Connection
from rewrite_batch.doctor import skew_of, version_of
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.errors import ConfigurationError
from rewrite_batch.simulator.process import running_simulator
from rewrite_batch.submit.spool import SpoolWriter
from tests.commands.conftest import Run

KEY = "sk-doctor-canary"
CHECKS = ["settings", "database", "migrations", "role", "clock", "server log", "certificates", "spool", "provider"]


def checks(output: str) -> dict[str, dict[str, Any]]:
    return {check["check"]: check for check in json.loads(output)["checks"]}


def test_everything_in_order_is_ok_line_by_line(run: Run, migrated: dict[str, str], tmp_path: Path) -> None:
    with running_simulator(tmp_path / "simulator", KEY) as simulator:
        settings = {
            **migrated,
            "OPENAI_API_KEY": KEY,
            "REWRITE_BATCH_PROVIDER_BASE_URL": simulator.base_url,
            "REWRITE_BATCH_SPOOL_DIR": str(tmp_path / "spool"),
        }
        done = run("doctor", **settings)
        as_json = run("doctor", "--json", **settings)
    assert done.returncode == as_json.returncode == 0, done.stdout
    assert [line[5:18].strip() for line in done.stdout.splitlines()] == CHECKS
    assert {name for name, check in checks(as_json.stdout).items() if check["state"] == "fail"} == set()
    assert KEY not in done.stdout + as_json.stdout
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700


def test_nothing_set_says_what_to_set(run: Run) -> None:
    done = run("doctor")
    assert done.returncode == 2
    assert "DATABASE_URL is not set" in done.stdout
    assert "OPENAI_API_KEY is not set" in done.stdout


def test_a_bad_setting_is_one_failed_line_and_the_rest_still_runs(run: Run) -> None:
    done = run("doctor", "--json", REWRITE_BATCH_SPOLDIR="x")
    found = checks(done.stdout)
    assert list(found) == CHECKS
    assert "did you mean REWRITE_BATCH_SPOOL_DIR" in found["settings"]["says"]


def test_pending_migrations_are_named(run: Run, empty_database: SecretStr) -> None:
    done = run("doctor", "--json", DATABASE_URL=empty_database.get_secret_value())
    assert "rewrite-batch migrate" in checks(done.stdout)["migrations"]["says"]
    assert checks(done.stdout)["migrations"]["state"] == "fail"


def test_a_login_without_a_role_is_told_which_to_grant(run: Run, server: str, database: SecretStr) -> None:
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE doctor_login LOGIN PASSWORD 'x'"))
        try:
            url = make_conninfo(database.get_secret_value(), user="doctor_login", password="x")
            without = checks(run("doctor", "--json", DATABASE_URL=url).stdout)
            admin.execute("GRANT rewrite_worker TO doctor_login")
            with_role = checks(run("doctor", "--json", DATABASE_URL=url).stdout)
        finally:
            admin.execute("DROP ROLE doctor_login")
    assert "GRANT rewrite_worker TO doctor_login" in without["role"]["says"]
    assert with_role["role"] | {"state": "ok", "says": "doctor_login has rewrite_worker"} == with_role["role"]
    assert with_role["migrations"]["state"] == "ok"


LOGS = "log_error_verbosity = 'default'"
ROWS = "set log_error_verbosity = terse"
PARAMETERS = "set log_parameter_max_length and log_parameter_max_length_on_error = 0"


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (["log_min_duration_statement = 0"], []),
        ([LOGS], [ROWS]),
        ([LOGS, "log_parameter_max_length_on_error = 80"], [ROWS, PARAMETERS]),
        ([LOGS, "log_min_duration_statement = '1s'"], [ROWS, PARAMETERS]),
        ([LOGS, "log_min_duration_sample = '1s'"], [ROWS, PARAMETERS]),
        ([LOGS, "log_transaction_sample_rate = 0.01"], [ROWS, PARAMETERS]),
        ([LOGS, "log_statement = 'all'"], [ROWS, PARAMETERS]),
        ([LOGS, "log_statement = 'all'", "log_parameter_max_length = 0"], [ROWS]),
    ],
)
def test_a_server_that_would_log_words_is_a_warning_with_what_to_set(
    run: Run, connection: Connection, migrated: dict[str, str], settings: list[str], advice: list[str]
) -> None:
    for setting in ["log_error_verbosity = terse", *settings]:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET {setting}".encode())
    found = checks(run("doctor", "--json", **migrated).stdout)["server log"]
    assert found["state"] == ("warn" if advice else "ok")
    assert [line for line in (ROWS, PARAMETERS, "log_destination") if line in found["says"]] == advice


def test_a_log_in_csv_keeps_rows_however_terse_it_is(run: Run) -> None:
    with private_directory("log") as directory, running_postgres(directory / "postgres") as url:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("ALTER SYSTEM SET log_destination = 'stderr,csvlog'")
            admin.execute("SELECT pg_reload_conf()")
            while admin.execute("SHOW log_destination").fetchone() != ("stderr,csvlog",):
                pass
        found = checks(run("doctor", "--json", DATABASE_URL=url).stdout)["server log"]
    assert found["state"] == "warn"
    assert "set log_destination = stderr" in found["says"]
    assert ROWS not in found["says"]


def test_a_spool_that_others_can_enter_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir(mode=0o755)
    done = run("doctor", "--json", REWRITE_BATCH_SPOOL_DIR=str(tmp_path / "spool"))
    assert "closed to others" in checks(done.stdout)["spool"]["says"]
    (tmp_path / "file").write_text("")
    done = run("doctor", "--json", REWRITE_BATCH_SPOOL_DIR=str(tmp_path / "file"))
    assert "set REWRITE_BATCH_SPOOL_DIR" in checks(done.stdout)["spool"]["says"]


def test_a_spool_that_is_a_link_is_refused_as_its_writer_does(run: Run, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "private")
    done = run("doctor", "--json", REWRITE_BATCH_SPOOL_DIR=str(tmp_path / "link"))
    found = checks(done.stdout)["spool"]
    assert (found["state"], found["exit_code"], "is a link" in found["says"]) == ("fail", 2, True)
    with pytest.raises(ConfigurationError):
        SpoolWriter(tmp_path / "link", uuid4())


def test_missing_certificates_are_told_with_the_package_to_install(run: Run, tmp_path: Path) -> None:
    missing = {"SSL_CERT_FILE": str(tmp_path / "none.pem"), "SSL_CERT_DIR": str(tmp_path / "none")}
    assert "ca-certificates" in checks(run("doctor", "--json", **missing).stdout)["certificates"]["says"]


def test_the_provider_is_asked_for_real(run: Run, tmp_path: Path) -> None:
    with running_simulator(tmp_path / "simulator", KEY) as simulator:
        reach = {"REWRITE_BATCH_PROVIDER_BASE_URL": simulator.base_url}
        wrong = checks(run("doctor", "--json", OPENAI_API_KEY="sk-wrong-canary", **reach).stdout)["provider"]
        simulator.arm({"operation": "batches.list", "kind": "html"})
        html = checks(run("doctor", "--json", OPENAI_API_KEY=KEY, **reach).stdout)["provider"]
        fault = simulator.arm({"operation": "batches.list", "kind": "status", "code": 503})
        busy = checks(run("doctor", "--json", OPENAI_API_KEY=KEY, **reach).stdout)["provider"]
        assert simulator.fired(fault) == 1
    gone = checks(run("doctor", "--json", OPENAI_API_KEY=KEY, **reach).stdout)["provider"]
    assert (wrong["exit_code"], "check OPENAI_API_KEY" in wrong["says"]) == (2, True)
    assert html["state"] == "fail"
    assert (busy["exit_code"], busy["says"]) == (75, "the provider answered 503")
    assert (gone["exit_code"], "cannot be reached" in gone["says"]) == (75, True)
    assert "sk-wrong" not in str(wrong)


@pytest.mark.parametrize("seconds", [-5.1, 5.1, 3_600.0])
def test_clocks_that_differ_are_a_warning_with_what_to_do(seconds: float) -> None:
    said = skew_of(seconds)
    assert said[0] == "warn"
    assert "set up time synchronisation" in said[1]


@pytest.mark.parametrize("seconds", [-4.9, 0.0, 4.9])
def test_clocks_that_agree_are_ok(seconds: float) -> None:
    assert skew_of(seconds) == f"this machine and the database differ by {abs(seconds):.3f} s"


def test_a_server_of_another_age_is_told() -> None:
    assert [version_of(number) for number in (150_017, 180_001)] == ["PostgreSQL 15.17", "PostgreSQL 18.1"]
    with pytest.raises(ConfigurationError, match=r"PostgreSQL 14\.9 is too old: 15 or newer"):
        version_of(140_009)
    newer = version_of(190_000)
    assert newer[0] == "warn"
    assert "newer than what this release was tested with" in newer[1]
