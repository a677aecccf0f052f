"""Each clause of the contract that this program answers for has a test, and the test is there."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
SECTIONS = {"6.1", "6.2.1", "6.2.2", "6.2.3", "6.2.4", "6.3", "6.4", "7", "8", "8.4", "9", "10", "12", "17"}
GROUND = (
    {f"jobs {section}" for section in ("3", "4.1.2", "5", "9", "11")}
    | {f"storage {section}" for section in range(1, 12)}
    | {f"lanes {section}" for section in (3, 5, 6, 8, 13)}
    | {"types"}
)
ROW = re.compile(r"^\| ((?:(?:jobs|storage|lanes) )?[0-9.]+|types) [^|]+ \| (.+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, list[str]]]:
    return [
        (section, re.findall("`(.+?)`", names)) for section, names in ROW.findall((TESTS / "README.md").read_text())
    ]


def test_every_section_has_its_tests() -> None:
    assert {section for section, names in rows() if names} == SECTIONS | GROUND


def test_every_test_that_is_named_exists_once() -> None:
    there = re.findall(
        r"^def (test_\w+)", "\n".join(file.read_text() for file in TESTS.rglob("test_*.py")), re.MULTILINE
    )
    named = {name for _, names in rows() for name in names}
    assert [name for name in sorted(named) if there.count(name) != 1] == []
