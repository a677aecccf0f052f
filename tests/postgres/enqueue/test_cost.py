"""What a call of enqueue_rewrites costs: in proportion to its items, whatever was there before.

The statements are taken out of the functions as they are in the database, and run with EXPLAIN.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from rewrite_batch.db import Connection
from tests.items import enqueue_many, item_document, item_line

ITEMS = 400


def body_of(connection: Connection, function: str) -> str:
    row = connection.execute("SELECT prosrc FROM pg_proc WHERE proname = %s", [function]).fetchone()
    assert row is not None
    return row[0]


def plan_of(connection: Connection, statement: str, *values: Any) -> list[dict[str, Any]]:
    row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}".encode(), values).fetchone()
    assert row is not None
    return list(nodes_of(row[0][0]["Plan"]))


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from nodes_of(inner)


@pytest.fixture
def items() -> str:
    return "[" + ",".join(item_line(item_document()) for _ in range(ITEMS)) + "]"


def test_a_call_touches_each_of_its_items_a_few_times_and_no_item_for_each_other(
    connection: Connection, items: str
) -> None:
    found = re.search(r"WITH item AS .*? FROM job(?=;)", body_of(connection, "enqueue_rewrites"), re.DOTALL)
    assert found is not None
    statement = found[0].replace("INTO made", "").replace("(listed)", "(%s::text::jsonb)")
    with connection.transaction(force_rollback=True):
        nodes = plan_of(connection, statement, items)
    seen = [(node["Actual Rows"] + node.get("Rows Removed by Join Filter", 0)) * node["Actual Loops"] for node in nodes]
    assert ITEMS in seen
    assert max(seen) <= 2 * ITEMS


def test_what_is_new_is_told_from_what_was_there_by_hashing(connection: Connection, items: str) -> None:
    found = re.search(r"WITH asked AS .*? ORDER BY a\.item(?=;)", body_of(connection, "enqueue_rewrites"), re.DOTALL)
    assert found is not None
    rows = connection.execute("SELECT job_id FROM enqueue_rewrites(%s)", [items]).fetchall()
    assert len(rows) == ITEMS
    made = "ARRAY(SELECT rewrite_request_id FROM rewrite_requests)"
    statement = found[0].replace("(made)", f"({made})").replace("(listed)", "(%s::text::jsonb)")
    plan = connection.execute(f"EXPLAIN (VERBOSE) {statement}".encode(), [items]).fetchall()
    assert any("hashed SubPlan" in line for (line,) in plan)


@pytest.mark.parametrize("table", ["rewrite_requests", "recipient_snapshots", "recipient_preference_snapshots"])
def test_a_new_job_looks_its_request_and_snapshots_up_by_key(connection: Connection, table: str) -> None:
    enqueue_many(connection, ITEMS)
    connection.execute("ANALYZE")
    connection.execute("CREATE TEMP TABLE new_rows AS SELECT * FROM rewrite_jobs LIMIT 100")
    found = re.search(r"EXECUTE \$query\$(.*?)\$query\$", body_of(connection, "check_job_insert"), re.DOTALL)
    assert found is not None
    (scan,) = [node for node in plan_of(connection, found[1]) if node.get("Relation Name") == table]
    assert scan["Node Type"] == "Index Scan"
    assert scan["Actual Rows"] * scan["Actual Loops"] == 100


def test_one_call_takes_thousands(connection: Connection) -> None:
    """As an orchestrator may send them; the server stops what would take a minute and more."""
    many = "[" + ",".join(item_line(item_document()) for _ in range(3_000)) + "]"
    connection.execute("SET statement_timeout = '60s'")
    outcomes = connection.execute("SELECT outcome, count(*) FROM enqueue_rewrites(%s) GROUP BY 1", [many]).fetchall()
    assert outcomes == [("enqueued", 3_000)]
    again = connection.execute("SELECT outcome, count(*) FROM enqueue_rewrites(%s) GROUP BY 1", [many]).fetchall()
    assert again == [("exists", 3_000)]
