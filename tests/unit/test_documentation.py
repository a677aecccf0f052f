"""Documentation can fail: what is not in the README does not exist for a stranger."""

import subprocess
from pathlib import Path

import pytest

from rewrite_batch import errors
from rewrite_batch.cli import app
from rewrite_batch.errors import RewriteBatchError
from rewrite_batch.migrate import known_migrations
from rewrite_batch.samples import fixture_items
from rewrite_batch.settings import Settings, variable_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_every_command_is_in_the_readme() -> None:
    names = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
    assert len(names) >= 7
    assert [name for name in names if f"`rewrite-batch {name}" not in README] == []


def test_every_setting_is_in_the_readme() -> None:
    assert [variable_of(f) for f in Settings.model_fields if f"| `{variable_of(f)}` |" not in README] == []


def test_every_setting_of_the_readme_exists() -> None:
    known = {variable_of(field) for field in Settings.model_fields}
    rows = {
        line.split("`")[1]
        for line in README.splitlines()
        if line.startswith(("| `DATABASE", "| `OPENAI", "| `REWRITE"))
    }
    assert rows == known


def test_every_exit_code_is_in_the_readme() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RewriteBatchError)]
    assert [kind.__name__ for kind in kinds if f"\n| {kind.exit_code} |" not in README] == []
    assert [kind.__name__ for kind in kinds if kind.__name__ not in (errors.__doc__ or "")] == []
    assert [kind.__name__ for kind in kinds if not kind.__doc__] == []


def test_the_two_commands_come_first() -> None:
    first_screen = "\n".join(README.splitlines()[:30])
    assert "pip install uv && uv run rewrite-batch demo" in first_screen
    assert "pip install uv && uv run pytest" in first_screen


def test_what_the_demo_prints_is_still_so() -> None:
    """How many complaints end well differs from run to run; these figures do not."""
    count = len(fixture_items())
    assert f"\nmigrating: {len(known_migrations())} migrations\n" in README
    assert f"\nenqueued {count} complaints\ntick 1: submitted {count} in 2 batches\n" in README
    assert f"\nall {count:>15}" in README


@pytest.mark.parametrize("folder", ["sql", "jobs", "fixtures", "tests"])
def test_every_folder_has_a_readme(folder: str) -> None:
    assert (ROOT / folder / "README.md").stat().st_size > 200


def test_every_statement_file_says_why_it_may_run_twice() -> None:
    files = [file for file in (ROOT / "sql").rglob("*.sql") if file.name != "schema.sql"]
    assert len(files) > 8
    assert [file.name for file in files if not file.read_text().startswith("-- ")] == []


def test_no_tracked_file_names_a_registry_or_is_a_lock() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout")
    assert [name for name in tracked if name.endswith(("uv.lock", ".env", ".parquet", ".duckdb"))] == []
