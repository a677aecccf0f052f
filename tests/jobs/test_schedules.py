"""crontab and systemd: the values of production, arguments that the commands take, and a line of cron really run."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import typer.main

from rewrite_batch.cli import app
from rewrite_batch.settings import ENVIRONMENTS, INTENT_WAIT_S
from tests.jobs.kustomize import build, pod_spec

JOBS = Path(__file__).parents[2] / "jobs"
SYSTEMD = JOBS / "systemd"
SCHEDULED = {"submit": "*/15 * * * *", "collect": "*/30 * * * *", "export": "20 1 * * *", "report": "50 2 * * *"}
CALENDARS = {"submit": "*:0/15 UTC", "collect": "*:0/30 UTC", "export": "*-*-* 01:20 UTC", "report": "*-*-* 02:50 UTC"}
LINE = re.compile(r"(?P<when>(?:\S+ ){5})(?P<what>.*rewrite-batch (?P<command>\w+)(?P<rest>.*?) 2>&1 \| logger .*)")


def crontab() -> tuple[dict[str, str], dict[str, "re.Match[str]"]]:
    """Assignments, and the lines by command."""
    lines = [line for line in (JOBS / "crontab").read_text().splitlines() if line and not line.startswith("#")]
    given = dict(line.split("=", 1) for line in lines if re.match(r"[A-Z_]+=", line))
    found = [LINE.fullmatch(line) for line in lines if not re.match(r"[A-Z_]+=", line)]
    assert all(found)
    return {name: value.strip('"') for name, value in given.items()}, {m["command"]: m for m in found if m}


def unit(name: str) -> dict[str, str]:
    """Of all its sections: no key of ours is in two of them."""
    parser: Any = RawConfigParser(strict=False, comment_prefixes="#", delimiters="=")
    parser.optionxform = str
    parser.read(SYSTEMD / name)
    return {key: value for section in parser.sections() for key, value in parser[section].items()}


def seconds_in(line: str) -> int:
    found = re.search(r"timeout --kill-after=15 ([0-9]+) ", line)
    assert found is not None
    return int(found[1])


def deadlines() -> dict[str, int]:
    found = build(JOBS / "kubernetes" / "overlays" / "prod")
    jobs = [each for each in found if each["kind"] == "CronJob"]
    return {
        each["metadata"]["name"].removeprefix("rewrite-batch-"): each["spec"]["jobTemplate"]["spec"][
            "activeDeadlineSeconds"
        ]
        for each in jobs
    }


def test_cron_and_the_timers_have_the_schedule_of_production() -> None:
    _, lines = crontab()
    assert {command: line["when"].strip() for command, line in lines.items()} == SCHEDULED
    assert {command: unit(f"rewrite-batch-{command}.timer")["OnCalendar"] for command in CALENDARS} == CALENDARS
    prod = build(JOBS / "kubernetes" / "overlays" / "prod")
    assert {
        each["metadata"]["name"].removeprefix("rewrite-batch-"): each["spec"]["schedule"]
        for each in prod
        if each["kind"] == "CronJob"
    } == SCHEDULED


def test_all_three_give_a_run_the_same_time_and_more_than_it_may_need() -> None:
    _, lines = crontab()
    wanted = deadlines()
    assert {command: seconds_in(line["what"]) for command, line in lines.items()} == wanted
    assert {c: int(unit(f"rewrite-batch-{c}.service")["TimeoutStartSec"]) for c in wanted} == wanted
    assert wanted["submit"] > 2 * ENVIRONMENTS["prod"].seconds + INTENT_WAIT_S


def test_no_line_of_cron_holds_a_percent_sign_which_it_would_cut_at() -> None:
    _, lines = crontab()
    assert [command for command, line in lines.items() if "%" in line["what"]] == []


def arguments() -> list[tuple[str, list[str]]]:
    """Every way in which a command is started here."""
    variables, lines = crontab()
    cron = [[m["command"], *shlex.split(os.path.expandvars(m["rest"]))] for m in lines.values()]
    systemd = [unit(path.name)["ExecStart"].split()[1:] for path in SYSTEMD.glob("*.service")]
    pods = [pod_spec(each) for each in build(JOBS / "kubernetes" / "base")]
    kubernetes = [pod["containers"][0]["args"] for pod in pods if pod]
    assert variables
    return [*(("cron", a) for a in cron), *(("systemd", a) for a in systemd), *(("kubernetes", a) for a in kubernetes)]


@pytest.mark.parametrize(
    ("where", "given"), arguments(), ids=lambda value: value if isinstance(value, str) else value[0]
)
def test_a_command_takes_the_arguments_that_it_is_started_with(where: str, given: list[str]) -> None:
    commands: Any = typer.main.get_command(app)
    if given[0] not in commands.commands:
        pytest.skip(f"{given[0]} is not there yet")
    commands.commands[given[0]].make_context(f"{where} {given[0]}", given[1:])


def test_a_line_of_cron_reads_its_settings_runs_and_logs(migrated_url: str, tmp_path: Path) -> None:
    """With sh, as cron does; what would go to syslog goes to a file."""
    variables, lines = crontab()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "logger").write_text(f'#!/bin/sh\nexec cat > "{tmp_path}/logged"\n')
    (programs / "logger").chmod(0o755)
    (programs / "rewrite-batch").symlink_to(Path(sys.executable).parent / "rewrite-batch")
    settings = {
        "DATABASE_URL": migrated_url,
        "OPENAI_API_KEY": "sk-cron",
        "REWRITE_BATCH_SPOOL_DIR": str(tmp_path / "spool"),
        "REWRITE_BATCH_METRICS_FILE": str(tmp_path / "x.prom"),
    }
    (tmp_path / "settings").write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in settings.items()))
    subprocess.run(
        [variables["SHELL"], "-c", lines["submit"]["what"]],
        check=True,
        cwd="/",
        env={**variables, "PATH": f"{programs}:/usr/bin:/bin", "SETTINGS": str(tmp_path / "settings")},
    )
    logged = [json.loads(line) for line in (tmp_path / "logged").read_text().splitlines()]
    assert logged[-1]["claimed"] == 0, logged
    assert "rewrite_batch_last_success" in (tmp_path / "x.prom").read_text()


def test_what_the_services_share_ends_them_gently_and_leaves_no_words_behind() -> None:
    common = unit("rewrite-batch-.service.d/common.conf")
    assert common["Type"] == "oneshot"
    assert int(common["TimeoutStopSec"]) >= 15, "a run ends within 10 seconds of SIGTERM"
    assert "75" in common["SuccessExitStatus"].split()
    assert not {"2", "70"} & set(common["SuccessExitStatus"].split())
    assert (common["LimitCORE"], common["UMask"], common["ProtectSystem"]) == ("0", "0077", "strict")
    for command in ("submit", "collect"):
        service = unit(f"rewrite-batch-{command}.service")
        assert service["RuntimeDirectoryMode"] == "0700"
        assert service["Environment"] == f"REWRITE_BATCH_SPOOL_DIR=%t/{service['RuntimeDirectory']}/spool"


def test_a_service_reads_the_settings_of_its_own_login_alone() -> None:
    """A drop-in comes after the unit itself: settings in it would win over those of the unit."""
    assert "EnvironmentFile" not in unit("rewrite-batch-.service.d/common.conf")
    files = {path.stem.removeprefix("rewrite-batch-"): unit(path.name) for path in SYSTEMD.glob("*.service")}
    assert {command: Path(each["EnvironmentFile"]).name for command, each in files.items()} == {
        "submit": "settings", "collect": "settings", "export": "analyst-settings", "report": "analyst-settings",
        "migrate": "owner-settings",
    }  # fmt: skip


def verified(directory: Path) -> str:
    """What systemd says of our units, with a program that is there."""
    for path in directory.glob("*.service"):
        path.write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", path.read_text()))
    units = sorted([*directory.glob("*.service"), *directory.glob("*.timer")])
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "SYSTEMD_UNIT_PATH": f"{directory}:"},
    )  # fmt: skip
    return "\n".join(line for line in done.stderr.splitlines() if "rewrite-batch" in line)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_itself_takes_every_unit_and_would_see_a_misspelt_one(tmp_path: Path) -> None:
    directory = Path(shutil.copytree(SYSTEMD, tmp_path / "units"))
    assert verified(directory) == ""
    with (directory / "rewrite-batch-.service.d" / "common.conf").open("a") as file:
        file.write("ProtectHoem=yes\n")
    assert "ProtectHoem" in verified(directory)
