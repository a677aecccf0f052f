"""Enqueue: one idempotent function, and the loader around it."""

import io
import json
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from rewrite_batch import db
from rewrite_batch.db import Connection
from rewrite_batch.enqueue.check import Refusal
from rewrite_batch.enqueue.run import CHUNK, EnqueueResult, enqueue
from rewrite_batch.errors import RewriteBatchError
from rewrite_batch.samples import fixture_items, generate
from tests.items import enqueue_one, import_request, item_document, item_line

CANARY = "zanahoria-canary-7731"


def load(connection: Connection, *documents: dict[str, Any] | str) -> EnqueueResult:
    lines = [d if isinstance(d, str) else json.dumps(d) for d in documents]
    return enqueue(io.BytesIO("\n".join(lines).encode()), connection, on_refusal=lambda _: None)


def count(connection: Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return row[0]


def everything(connection: Connection) -> list[tuple[Any, ...]]:
    tables = (
        "rewrite_requests",
        "rewrite_jobs",
        "recipient_snapshots",
        "recipient_preference_snapshots",
        "rewrite_job_events",
    )
    statements = [f"SELECT t::text FROM {table} t ORDER BY 1".encode() for table in tables]
    return [row for statement in statements for row in connection.execute(statement).fetchall()]


def test_a_unit_gets_its_request_snapshots_job_and_event(connection: Connection) -> None:
    document = item_document()
    assert load(connection, document).enqueued == 1

    request = document["rewrite_request"]
    row = connection.execute(
        """SELECT r.original_text, r.source_locale, r.target_locale, r.lane, j.language_pair, j.status, j.max_attempts,
            r.status, j.task, j.routing_decision, r.rewrite_request
        FROM rewrite_jobs j JOIN rewrite_requests r USING (rewrite_request_id)"""
    ).fetchone()
    assert row is not None
    assert row[:9] == (
        request["original_text"], "en", "es", "cross_language", {"from": "en", "to": "es"}, "queued", 2, "queued",
        "complaint_rewrite",
    )  # fmt: skip
    assert row[9] == document["routing_decision"]
    assert row[10]["original_text"] == request["original_text"]
    assert [
        count(connection, t) for t in ("recipient_snapshots", "recipient_preference_snapshots", "rewrite_job_events")
    ] == [1, 1, 1]


def test_a_repeat_returns_the_existing_job_and_changes_nothing(connection: Connection) -> None:
    document = item_document()
    first = enqueue_one(connection, document)
    before = everything(connection)
    assert enqueue_one(connection, document) == first
    assert load(connection, document).exists == 1
    assert everything(connection) == before


def test_the_same_id_with_other_words_is_reported_and_changes_nothing(connection: Connection) -> None:
    document = item_document()
    load(connection, document)
    before = everything(connection)
    other = {**document, "rewrite_request": {**document["rewrite_request"], "original_text": CANARY}}

    result = load(connection, other)

    assert (result.enqueued, result.exists, result.refused) == (0, 0, 1)
    assert "other content" in result.refusals[0].reason
    assert everything(connection) == before


def test_twenty_connections_that_race_with_one_unit_make_one_job(database: SecretStr, connection: Connection) -> None:
    items = f"[{item_line(item_document())}]"

    def one(_: int) -> tuple[UUID, str]:
        with psycopg.connect(database.get_secret_value(), autocommit=True) as mine:
            row = mine.execute("SELECT job_id, outcome FROM enqueue_rewrites(%s)", [items]).fetchone()
            assert row is not None
            return row[0], row[1]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    assert len({job for job, _ in answers}) == 1
    assert sorted(outcome for _, outcome in answers) == ["enqueued"] + ["exists"] * 19
    assert [
        count(connection, t) for t in ("rewrite_jobs", "rewrite_requests", "recipient_snapshots", "rewrite_job_events")
    ] == [1] * 4


def test_connections_that_send_the_same_units_in_other_orders_do_not_deadlock(
    database: SecretStr, connection: Connection
) -> None:
    lines = [item_line(item_document()) for _ in range(200)]

    def one(turn: int) -> int:
        turned = lines[turn * 25 :] + lines[: turn * 25]
        with psycopg.connect(database.get_secret_value(), autocommit=True) as mine:
            rows = mine.execute("SELECT outcome FROM enqueue_rewrites(%s)", [f"[{','.join(turned)}]"]).fetchall()
        return [row[0] for row in rows].count("enqueued")

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(8))) == 200
    assert count(connection, "rewrite_jobs") == 200


def test_a_unit_named_twice_in_one_file_goes_in_once(connection: Connection) -> None:
    document = item_document()
    result = load(connection, document, document)
    assert (result.lines, result.enqueued, result.exists) == (2, 1, 1)


def test_bad_lines_are_reported_with_their_place_and_good_ones_go_in(connection: Connection) -> None:
    bad_intent = item_document(intent="revenge")
    no_text = item_document(text="   ")
    unknown = item_document(target_locale="es")
    unknown["rewrite_request"]["target_locale"] = "unknown"
    result = load(connection, item_document(), "{not json " + CANARY, bad_intent, "", item_document(), no_text, unknown)

    assert (result.lines, result.enqueued, result.refused) == (6, 2, 4)
    assert [(refusal.line, refusal.field) for refusal in result.refusals] == [
        (2, "line"),
        (3, "rewrite_request.intent"),
        (6, "rewrite_request.original_text"),
        (7, "rewrite_request.target_locale"),
    ]
    assert CANARY not in str(result.refusals)
    assert count(connection, "rewrite_jobs") == 2


def test_an_item_that_only_the_database_refuses_stands_alone_and_its_neighbours_go_in(
    connection: Connection,
) -> None:
    """Its snapshot id is taken by another home: no check of the line itself can know."""
    taken = item_document()
    enqueue_one(connection, taken)
    snapshot = taken["rewrite_request"]["recipient_snapshot_id"]
    documents = [item_document() for _ in range(30)]
    documents[17] = item_document(text=CANARY, recipient_snapshot_id=snapshot)

    result = load(connection, *documents)

    assert (result.enqueued, result.refused) == (29, 1)
    assert result.refusals == [Refusal(18, "item", "the database refuses it by its rule rewrite_jobs_mirror")]


def test_the_function_answers_in_order_and_errors_name_the_rule_and_no_words(connection: Connection) -> None:
    documents = [item_document() for _ in range(5)]
    rows = connection.execute("SELECT item, outcome FROM enqueue_rewrites(%s)", [json.dumps(documents)]).fetchall()
    assert rows == [(n, "enqueued") for n in range(1, 6)]

    for change in (
        {"source_locale": "unknown"},
        {"home_id": None},
        {"home_id": CANARY},
        {"lane": "same_language"},
    ):
        broken = item_document(text=CANARY, **change)
        with pytest.raises(psycopg.Error, match="enqueue refused: rule") as refused:
            connection.execute("SELECT enqueue_rewrites(%s)", [json.dumps([broken])])
        shown = (
            "".join(traceback.format_exception(refused.value))
            + str(vars(refused.value.diag))
            + str(refused.value.diag.message_detail)
        )
        assert CANARY not in shown


def test_our_errors_carry_no_row_values(database: SecretStr) -> None:
    with pytest.raises(RewriteBatchError) as raised, db.connect(database, purpose="test") as connection:
        connection.execute("SELECT %s::int", [CANARY])
    assert CANARY not in "".join(traceback.format_exception(raised.value))
    assert "22P02" in str(raised.value)


def test_the_words_are_not_in_what_other_sessions_see(database: SecretStr, connection: Connection) -> None:
    with psycopg.connect(database.get_secret_value(), autocommit=True) as loader:
        load(loader, item_document(text=CANARY))
        rows = connection.execute(
            "SELECT query FROM pg_stat_activity WHERE pid = %s", [loader.info.backend_pid]
        ).fetchall()
    assert "enqueue_rewrites" in str(rows)
    assert CANARY not in str(rows)


def test_every_fixture_goes_in_word_for_word(connection: Connection) -> None:
    items = fixture_items()
    result = load(connection, *(item.to_json() for item in items))
    assert (result.enqueued, result.refused) == (len(items), 0)
    stored = dict(connection.execute("SELECT rewrite_request_id, original_text FROM rewrite_requests").fetchall())
    assert stored == {i.rewrite_request.rewrite_request_id: i.rewrite_request.original_text for i in items}


def test_many_chunks_add_up(connection: Connection) -> None:
    wanted = 2 * CHUNK + 7
    lines = [item.to_json() for item in generate(wanted, seed=5)]
    assert load(connection, *lines).enqueued == wanted
    again = load(connection, *lines, json.dumps(item_document()))
    assert (again.exists, again.enqueued) == (wanted, 1)
    assert count(connection, "rewrite_jobs") == count(connection, "rewrite_job_events") == wanted + 1


def test_check_needs_no_database() -> None:
    source = io.BytesIO(json.dumps(item_document()).encode() + b"\nnonsense\n")
    refused: list[Refusal] = []
    result = enqueue(source, None, on_refusal=refused.append)
    assert (result.lines, result.enqueued, len(refused)) == (2, 1, 1)


def test_a_unit_named_twice_with_other_words_is_its_first_line_in_all_its_parts(connection: Connection) -> None:
    for _ in range(10):
        first = item_document()
        second = {
            **first,
            "routing_decision": {**first["routing_decision"], "model": "other-model"},
            "preference_payload": {"version": "other"},
        }
        result = load(connection, first, second)
        assert (result.enqueued, result.refused) == (1, 1)
    assert connection.execute("SELECT DISTINCT routing_decision ->> 'model' FROM rewrite_jobs").fetchall() == [
        ("gpt-5.2",)
    ]
    payloads = connection.execute(
        "SELECT DISTINCT preference_payload ->> 'version' FROM recipient_preference_snapshots"
    )
    assert payloads.fetchall() == [("v1",)]


def test_a_request_that_somebody_stored_without_a_job_is_reported(connection: Connection) -> None:
    document = item_document()
    import_request(connection, document["rewrite_request"])
    result = load(connection, document)
    assert (result.enqueued, result.refused) == (0, 1)


def test_what_only_the_function_sees_is_refused_too(connection: Connection) -> None:
    """Past our models, as another service may call it."""
    changes: list[dict[str, Any]] = [
        {"original_text": "  "},
        {"topics": ["two words"]},
        {"policy_version": "two words"},
        {"extra": 1},
    ]
    for change in changes:
        with pytest.raises(psycopg.Error, match="enqueue refused"):
            connection.execute("SELECT enqueue_rewrites(%s)", [json.dumps([item_document(**change)])])
    worded = item_document()
    worded["rewrite_request"]["classifier_result"]["note"] = "two words"
    with pytest.raises(psycopg.Error, match="enqueue refused"):
        connection.execute("SELECT enqueue_rewrites(%s)", [json.dumps([worded])])
    assert count(connection, "rewrite_requests") == 0


@pytest.mark.parametrize("name", ["classifier_result", "context_pack", "policy"])
@pytest.mark.parametrize("other", ["words", ["words"], None, 7])
def test_the_function_refuses_a_document_of_another_shape(connection: Connection, name: str, other: Any) -> None:
    with pytest.raises(psycopg.Error, match="enqueue refused"):
        connection.execute("SELECT enqueue_rewrites(%s)", [json.dumps([item_document(**{name: other})])])
    assert count(connection, "rewrite_requests") == 0


@pytest.mark.parametrize("name", ["provider", "adapter_kind", "model", "prompt_version", "execution_mode"])
@pytest.mark.parametrize("other", [7, None, ["gpt-5.2"], {"a": "b"}])
def test_the_function_refuses_a_route_of_another_shape(connection: Connection, name: str, other: Any) -> None:
    document = item_document()
    document["routing_decision"][name] = other
    with pytest.raises(psycopg.Error, match="enqueue refused: rule enqueue_documents"):
        connection.execute("SELECT enqueue_rewrites(%s)", [json.dumps([document])])
    assert count(connection, "rewrite_requests") == 0


def test_the_old_name_of_a_surface_is_folded_before_it_is_stored_and_compared(connection: Connection) -> None:
    """Whoever calls, under either name: the same unit, and the stored document under the name of today."""
    old = item_document(surface="weekly_harmony")
    new = {**old, "rewrite_request": {**old["rewrite_request"], "surface": "weekly_feedback"}}
    enqueue_both = "SELECT outcome FROM enqueue_rewrites(%s)"
    other = item_document(text="They said weekly_harmony")

    assert connection.execute(enqueue_both, [json.dumps([old, other])]).fetchall() == [("enqueued",), ("enqueued",)]
    assert connection.execute(enqueue_both, [json.dumps([old, new])]).fetchall() == [("exists",), ("exists",)]
    assert load(connection, old, new).exists == 2
    stored = connection.execute("SELECT surface, rewrite_request ->> 'surface' FROM rewrite_requests ORDER BY 1")
    assert stored.fetchall() == [("direct_message",) * 2, ("weekly_feedback",) * 2]


def test_large_lines_go_in_small_chunks(connection: Connection) -> None:
    documents = [{**item_document(), "preference_payload": {"filler": "x" * 900_000}} for _ in range(12)]
    calls: list[int] = []
    lines = "\n".join(json.dumps(document) for document in documents)
    result = enqueue(io.BytesIO(lines.encode()), connection, on_refusal=lambda _: None, on_bytes=calls.append)
    assert result.enqueued == 12
