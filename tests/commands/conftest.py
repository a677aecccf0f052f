"""The program as people start it: a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from pydantic import SecretStr

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**settings: str) -> dict[str, str]:
    """Nothing of ours is set but what a test sets."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("REWRITE_BATCH_")}
    return {**kept, **settings}


@pytest.fixture
def run() -> Run:
    def start(*arguments: str, stdin: str | None = None, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rewrite_batch", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=environment(**settings),
        )

    return start


@pytest.fixture
def migrated(database: SecretStr) -> dict[str, str]:
    """Settings that name this test's database."""
    return {"DATABASE_URL": database.get_secret_value()}
