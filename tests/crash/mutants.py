"""The product with one promise taken out, kept for ever. A mutant that changes nothing is an error, not a pass."""

import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from openai import OpenAI

from rewrite_batch import queries


def retries_left_on_for_create() -> None:
    copy: Any = OpenAI.copy

    def with_options(self: OpenAI, **options: Any) -> OpenAI:
        return copy(self, **{**options, "max_retries": 2})

    setattr(OpenAI, "with_options", with_options)  # noqa: B010


def _rewrite_code(name: str, before: str, after: str) -> None:
    """The module with some of its text replaced, and whatever others had imported from it."""
    module = sys.modules[name]
    source = inspect.getsource(module)
    if source.count(before) != 1:
        raise AssertionError(f"{name} has nothing to remove")
    old = dict(vars(module))
    exec(compile(source.replace(before, after), str(module.__file__), "exec"), vars(module))
    for other in [each for key, each in sys.modules.items() if key.startswith("rewrite_batch.")]:
        for key, value in list(vars(other).items()):
            if old.get(key) is value and getattr(value, "__module__", None) == name:
                vars(other)[key] = vars(module)[key]


def _rewrite_sql(pattern: str, *names: str) -> None:
    """The SQL files, without what matches; a mutant that changes nothing would prove nothing."""
    changed = Path(tempfile.mkdtemp(prefix="mutant-")) / "sql"
    shutil.copytree(queries.sql_dir(), changed)
    for name in names:
        file = changed / f"{name}.sql"
        before = file.read_text()
        after = re.sub(pattern, "", before)
        if after == before:
            raise AssertionError(f"{name}.sql has nothing to remove")
        file.write_text(after)
    queries.query.cache_clear()
    queries.sql_dir = lambda: changed


LEASE = r"AND lease_(token = %\(lease_token\)s|expires_at > [^\n]*)"
CLAIM = r"AND j\.claimed_(by = %\(claim_token\)s|at > [^\n]*)"
IN_NO_BATCH = r"AND NOT EXISTS \(SELECT FROM rewrite_batch_items[^\n]*\)"

FINISH = 'connection.execute(query("collect/finish_requests"))'


def two_transactions() -> None:
    """What was held is kept for a second transaction, which finishes the requests."""
    _rewrite_sql(" ON COMMIT DROP", "collect/create_units")
    second = f"    with connection.transaction():\n        {FINISH}"
    _rewrite_code("rewrite_batch.collect.write", f"        {FINISH}", second)


MUTANTS: dict[str, Callable[[], None]] = {
    "retries left on for create": retries_left_on_for_create,
    "fence of the lease removed": partial(_rewrite_sql, LEASE, "submit/holds_lease", "reconcile/register"),
    "fence of the claim removed": partial(_rewrite_sql, CLAIM, "submit/insert_items"),
    "stale release by age only": partial(_rewrite_sql, IN_NO_BATCH, "submit/release_stale"),
    "error file ignored": partial(
        _rewrite_code, "rewrite_batch.collect.fetch", ', "error": ending.error_file_id}', "}"
    ),
    "status_code < 400": partial(
        _rewrite_code, "rewrite_batch.collect.parse", "if status != 200:", "if status is None or status >= 400:"
    ),
    "match by position": partial(
        _rewrite_code,
        "rewrite_batch.collect.match",
        "index = _item(line, batch_id, item_count)",
        "index = matched.lines - 1",
    ),
    "apply in two transactions": two_transactions,
    "completion without fence": partial(_rewrite_sql, LEASE, "collect/hold"),
}
