"""`rewrite-batch check`: a connection comes in; the rules that the rows break go out, with the rows.

Each file of `sql/check/` is a rule; its first sentence says it. Read-only, and one consistent look however many runs
are at work: a state between two transactions is never seen, and every state that a run can leave by dying is healthy.
"""

from dataclasses import asdict, dataclass
from typing import Any

from rewrite_batch.db import Connection
from rewrite_batch.queries import query, sql_dir

ONE_LOOK = b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
# Every rule reads whole tables. Without statistics (right after a bulk load) the planner would take row after row.
READ_IN_BULK = b"SELECT set_config('enable_nestloop', 'off', true), set_config('work_mem', '128MB', true)"


@dataclass(frozen=True)
class Broken:
    """`sample` holds at most 20 ids: of jobs, requests or batches, or an item's batch_id/index."""

    rule: str
    sentence: str
    count: int
    sample: list[str]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def rules() -> list[str]:
    return sorted(path.stem for path in (sql_dir() / "check").glob("*.sql"))


def sentence_of(rule: str) -> str:
    lines = query(f"check/{rule}").decode().splitlines()
    header = " ".join(line.removeprefix("--").strip() for line in lines if line.startswith("--"))
    return header.partition(". ")[0].removesuffix(".") + "."


def check(connection: Connection) -> list[Broken]:
    with connection.transaction():
        connection.execute(ONE_LOOK)
        connection.execute(READ_IN_BULK)
        return [found for rule in rules() if (found := _judge(connection, rule)).count]


def _judge(connection: Connection, rule: str) -> Broken:
    row = connection.execute(query(f"check/{rule}")).fetchone()
    assert row is not None
    return Broken(rule, sentence_of(rule), row[0], row[1])
