"""SQL comes from files, one statement each: `query("submit/claim")` is `sql/submit/claim.sql`.

The wheel carries `sql/` inside the package; a checkout has it beside the package.
"""

from functools import lru_cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


def sql_dir() -> Path:
    packaged = _PACKAGE / "sql"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "sql"


@lru_cache
def query(name: str) -> bytes:
    """Bytes, so that psycopg takes it as a query that no caller put together from strings."""
    return (sql_dir() / f"{name}.sql").read_bytes()
