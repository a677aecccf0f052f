"""What the database refuses, whoever writes. Each test tries to break one rule, as an administrator."""

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from rewrite_batch.db import Connection
from tests.items import (
    TEXT,
    batch_submitted,
    complete,
    completed,
    enqueue_one,
    failed,
    import_request,
    item_document,
    processing,
    submit,
)


def refused_by(connection: Connection, statement: str, *parameters: Any) -> str:
    """The name of the rule that refuses a statement."""
    with pytest.raises((psycopg.errors.IntegrityError, psycopg.errors.RaiseException)) as refused:
        connection.execute(statement.encode(), parameters)
    assert TEXT not in (refused.value.diag.message_primary or "")
    return str(refused.value.diag.constraint_name)


REQUEST_COLUMNS = (
    "rewrite_request_id = gen_random_uuid()", "home_id = gen_random_uuid()", "sender_user_id = gen_random_uuid()",
    "recipient_user_id = gen_random_uuid()", "surface = 'other'", "original_text = 'x'", "source_locale = 'de'",
    "target_locale = 'de'", "lane = 'same_language'", "topics = '[\"other\"]'", "intent = 'boundary'",
    "rewrite_strength = 'light_touch'", "classifier_result = '{}'", "context_pack = '{}'", "rewrite_request = '{}'",
    "classifier_version = 'x'", "context_pack_version = 'x'", "policy_version = 'x'", "created_at = now()",
)  # fmt: skip


@pytest.mark.parametrize("change", REQUEST_COLUMNS)
def test_what_was_asked_is_immutable(connection: Connection, change: str) -> None:
    enqueue_one(connection)
    assert refused_by(connection, f"UPDATE rewrite_requests SET {change}") == "rewrite_requests_immutable"


def test_original_text_cannot_be_replaced_by_an_upsert_either(connection: Connection) -> None:
    enqueue_one(connection)
    upsert = """INSERT INTO rewrite_requests SELECT * FROM rewrite_requests
        ON CONFLICT (rewrite_request_id) DO UPDATE SET original_text = 'x'"""
    assert refused_by(connection, upsert) == "rewrite_requests_immutable"


@pytest.mark.parametrize("column", ["recipient_snapshot_id", "recipient_preference_snapshot_id"])
def test_snapshot_ids_of_a_request_are_filled_in_once(connection: Connection, column: str) -> None:
    request = item_document()["rewrite_request"]
    import_request(connection, request, **{column: None})

    connection.execute(f"UPDATE rewrite_requests SET {column} = %s".encode(), [request[column]])

    for other in ("NULL", "gen_random_uuid()"):
        rule = refused_by(connection, f"UPDATE rewrite_requests SET {column} = {other}")
        assert rule == "rewrite_requests_snapshots_once"


JOB_COLUMNS = (
    "job_id = gen_random_uuid()", "rewrite_request_id = gen_random_uuid()", "recipient_user_id = gen_random_uuid()",
    "recipient_snapshot_id = gen_random_uuid()", "recipient_preference_snapshot_id = gen_random_uuid()", "task = 'x'",
    "surface = 'other'", "rewrite_strength = 'light_touch'", "language_pair = '{}'", "lane = 'same_language'",
    "routing_decision = '{}'", "max_attempts = 5", "created_at = now()",
)  # fmt: skip


@pytest.mark.parametrize("change", JOB_COLUMNS)
def test_a_job_keeps_its_unit_its_routing_and_its_lane_across_retries(connection: Connection, change: str) -> None:
    enqueue_one(connection)
    assert refused_by(connection, f"UPDATE rewrite_jobs SET {change}") == "rewrite_jobs_immutable"


@pytest.mark.parametrize("table", ["recipient_snapshots", "recipient_preference_snapshots"])
def test_snapshots_are_immutable(connection: Connection, table: str) -> None:
    enqueue_one(connection)
    assert refused_by(connection, f"UPDATE {table} SET created_at = now()") == f"{table}_immutable"
    assert refused_by(connection, f"TRUNCATE {table} CASCADE") != "None"
    assert refused_by(connection, f"DELETE FROM {table}").endswith("_fkey")


def test_outputs_are_immutable_and_leave_only_with_their_request(connection: Connection) -> None:
    completed(connection)
    assert refused_by(connection, "UPDATE rewrite_outputs SET rewritten_text = 'x'") == "rewrite_outputs_immutable"
    assert refused_by(connection, "TRUNCATE rewrite_outputs") == "rewrite_outputs_immutable"
    assert refused_by(connection, "DELETE FROM rewrite_outputs") == "rewrite_outputs_leave_with_request"
    assert refused_by(connection, "DELETE FROM rewrite_jobs") == "rewrite_jobs_leave_with_request"


@pytest.mark.parametrize("statement", ["UPDATE {} SET reason = 'x'", "DELETE FROM {}", "TRUNCATE {}"])
def test_events_are_append_only(connection: Connection, statement: str) -> None:
    enqueue_one(connection)
    assert refused_by(connection, statement.format("rewrite_job_events")) == "rewrite_job_events_append_only"


def test_erasing_a_request_removes_its_words_and_keeps_the_account(connection: Connection) -> None:
    completed(connection)
    connection.execute("DELETE FROM rewrite_requests")

    def count(table: str) -> tuple[Any, ...] | None:
        return connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()

    assert count("rewrite_outputs") == count("rewrite_jobs") == (0,)
    assert count("rewrite_job_events") == (4,)


def test_an_execution_unit_has_one_job(connection: Connection) -> None:
    enqueue_one(connection)
    twin = """INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
        recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
        max_attempts)
        SELECT gen_random_uuid(), rewrite_request_id, recipient_user_id, recipient_snapshot_id,
        recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
        max_attempts
        FROM rewrite_jobs"""
    assert refused_by(connection, twin) == "rewrite_jobs_one_per_execution_unit"


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"source_locale": "unknown"}, "locale_is_a_primary_language"),
        ({"target_locale": "und"}, "locale_is_a_primary_language"),
        ({"target_locale": "en-US"}, "locale_is_a_primary_language"),
        ({"target_locale": ""}, "locale_is_a_primary_language"),
        ({"lane": "same_language"}, "rewrite_requests_lane"),
        ({"target_locale": "en"}, "rewrite_requests_lane"),
        ({"surface": "bulletin"}, "rewrite_requests_surface"),
        ({"intent": "revenge"}, "rewrite_requests_intent"),
        ({"topics": []}, "rewrite_requests_topics"),
        ({"topics": ["noise", "guests", "privacy", "other"]}, "rewrite_requests_topics"),
        ({"rewrite_strength": "brutal"}, "rewrite_requests_strength"),
        ({"status": "done"}, "rewrite_requests_status"),
        ({"status": "completed"}, "rewrite_requests_completed_has_time"),
        ({"original_text": "other words"}, "rewrite_requests_mirror"),
    ],
)
def test_a_request_outside_the_contract_is_refused(connection: Connection, columns: dict[str, Any], rule: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        import_request(connection, item_document()["rewrite_request"], **columns)
    assert refused.value.diag.constraint_name == rule


def test_a_request_does_not_begin_as_completed_without_its_job_and_output(connection: Connection) -> None:
    request = item_document()["rewrite_request"]
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        import_request(connection, request, status="completed", rewrite_completed_at="2026-11-18T10:00:00Z")
    assert refused.value.diag.constraint_name == "rewrite_requests_follow_jobs"


def test_a_request_holds_no_routing_hint(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        request = item_document()["rewrite_request"]
        import_request(connection, request, rewrite_request={**request, "model": "gpt-5.2"})
    assert refused.value.diag.constraint_name == "rewrite_requests_mirror"


def test_weekly_harmony_is_stored_as_weekly_feedback(connection: Connection) -> None:
    import_request(connection, item_document(surface="weekly_harmony")["rewrite_request"])
    stored = connection.execute("SELECT surface, rewrite_request ->> 'surface' FROM rewrite_requests").fetchone()
    assert stored == ("weekly_feedback",) * 2

    raw = item_document(surface="weekly_harmony")  # past our models, as another service may call the function
    connection.execute("SELECT enqueue_rewrites(%s)", [json.dumps([raw])])
    assert connection.execute("SELECT surface FROM rewrite_jobs").fetchone() == ("weekly_feedback",)


def test_completed_without_an_output_is_refused(connection: Connection) -> None:
    batch_submitted(connection)
    rule = refused_by(connection, "UPDATE rewrite_jobs SET status = 'completed', finished_at = now()")
    assert rule == "rewrite_jobs_completed_has_output"


INSERT_OUTPUT = """INSERT INTO rewrite_outputs SELECT rewrite_request_id, recipient_user_id, 'hello there', {language},
    {target}, 'gpt-5.2', 'openai', 'v1', '{policy}', 'none', '{{}}' FROM rewrite_jobs"""


def output(language: str = "'es'", target: str = "'es'", policy: str = "v1") -> str:
    return INSERT_OUTPUT.format(language=language, target=target, policy=policy)


def test_an_output_without_a_completed_job_is_refused_in_every_other_state(connection: Connection) -> None:
    for make in (enqueue_one, processing, batch_submitted, failed):
        with pytest.raises(psycopg.errors.CheckViolation) as refused, connection.transaction():
            make(connection)
            connection.execute(output().encode())
        assert refused.value.diag.constraint_name == "rewrite_outputs_completed"


def test_output_and_completion_in_two_statements_are_refused(connection: Connection) -> None:
    """One statement writes both, so no commit can ever show one without the other."""
    batch_submitted(connection)
    assert refused_by(connection, output()) == "rewrite_outputs_completed"


def test_an_output_is_in_the_target_locale_under_the_requests_policy(connection: Connection) -> None:
    job = batch_submitted(connection)
    with_completion = "WITH o AS ({}) UPDATE rewrite_jobs SET status = 'completed', finished_at = now()"

    assert refused_by(connection, output(language="'en'")) == "rewrite_outputs_in_target_locale"
    both_wrong = with_completion.format(output(language="'en'", target="'en'"))
    assert refused_by(connection, both_wrong) == "rewrite_outputs_completed"
    assert refused_by(connection, with_completion.format(output(policy="v2"))) == "rewrite_outputs_completed"

    complete(connection, job)
    assert connection.execute("SELECT output_language FROM rewrite_outputs").fetchone() == ("es",)


@pytest.mark.parametrize(
    "change",
    [
        {"recipient_snapshot_id": None},
        {"home_id": None},
    ],
)
def test_a_job_whose_snapshot_belongs_to_others_is_refused(connection: Connection, change: dict[str, None]) -> None:
    """The snapshot id is taken by another home's recipients."""
    first = item_document()
    enqueue_one(connection, first)
    request = first["rewrite_request"]
    reuse = {"recipient_snapshot_id": request["recipient_snapshot_id"]}
    second = item_document(**reuse)
    if "home_id" in change:
        second = item_document(**reuse, recipient_user_id=request["recipient_user_id"])

    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        enqueue_one(connection, second)
    assert refused.value.diag.constraint_name == "rewrite_jobs_mirror"


def test_a_preference_snapshot_of_another_recipient_is_refused(connection: Connection) -> None:
    first = item_document()
    enqueue_one(connection, first)
    taken = first["rewrite_request"]["recipient_preference_snapshot_id"]
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        enqueue_one(connection, item_document(recipient_preference_snapshot_id=taken))
    assert refused.value.diag.constraint_name == "rewrite_jobs_mirror"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"note": "Turn it down"}, "rewrite_jobs_mirror"),
        ({"policy_version": "v2"}, "rewrite_jobs_mirror"),
        ({"model": None}, "enqueue_documents"),
    ],
)
def test_a_routing_decision_outside_the_contract_is_refused(
    connection: Connection, change: dict[str, Any], rule: str
) -> None:
    document = item_document()
    document["routing_decision"] = {
        key: value
        for key, value in {**document["routing_decision"], **change}.items()
        if key == "base_url" or value is not None
    }
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        connection.execute("SELECT enqueue_rewrites(%s)", [json.dumps([document])])
    assert refused.value.diag.constraint_name == rule


def test_a_request_is_final_only_when_its_jobs_are(connection: Connection) -> None:
    enqueue_one(connection)
    for change in ("status = 'failed'", "status = 'canceled'", "status = 'completed', rewrite_completed_at = now()"):
        assert refused_by(connection, f"UPDATE rewrite_requests SET {change}") == "rewrite_requests_follow_jobs"


def test_a_final_request_never_changes(connection: Connection) -> None:
    failed(connection)
    connection.execute("UPDATE rewrite_requests SET status = 'failed'")
    for change in ("status = 'queued'", "status = 'completed', rewrite_completed_at = now()"):
        assert refused_by(connection, f"UPDATE rewrite_requests SET {change}") == "rewrite_requests_final"


ITEM = """INSERT INTO rewrite_batch_items (batch_id, batch_item_index, job_id, rewrite_request_id, recipient_user_id,
    batch_group_key, source_locale, target_locale, attempt, input_chars, estimated_input_tokens,
    estimated_output_tokens)
    SELECT %s, %s, job_id, rewrite_request_id, recipient_user_id, 'k', 'en', 'es', 1, 1, 1, 1 FROM rewrite_jobs"""


def test_a_unit_is_in_one_live_batch_at_most(connection: Connection) -> None:
    job = processing(connection)
    first, second = submit(connection, job), uuid4()
    connection.execute(
        """INSERT INTO rewrite_batches (batch_id, run_id, environment, batch_group_key, provider, model, endpoint,
            item_count, estimated_input_tokens, estimated_output_tokens)
        VALUES (%s, gen_random_uuid(), 'test', 'k', 'openai', 'm', '/v1/responses', 1, 1, 1)""",
        [second],
    )
    assert refused_by(connection, ITEM, second, 0) == "rewrite_batch_items_one_live_batch"

    connection.execute("UPDATE rewrite_batch_items SET outcome = 'transient', decided_at = now()")
    connection.execute(ITEM, [second, 0])
    again = "UPDATE rewrite_batch_items SET outcome = 'kept', decided_at = now() WHERE batch_id = %s"
    assert refused_by(connection, again, first) == "rewrite_batch_items_decided_once"
    remap = "UPDATE rewrite_batch_items SET job_id = gen_random_uuid()"
    assert refused_by(connection, remap) == "rewrite_batch_items_immutable"


def test_a_batch_only_moves_forward_and_keeps_its_provider_batch(connection: Connection) -> None:
    submit(connection, processing(connection))
    change = "UPDATE rewrite_batches SET provider_batch_id = 'another'"
    assert refused_by(connection, change) == "rewrite_batches_forward"
    assert refused_by(connection, "UPDATE rewrite_batches SET state = 'uploaded'") == "rewrite_batches_forward"
    assert refused_by(connection, "UPDATE rewrite_batches SET model = 'x'") == "rewrite_batches_immutable"
    abandon = "UPDATE rewrite_batches SET state = 'abandoned', abandoned_at = now()"
    assert refused_by(connection, abandon) == "rewrite_batches_forward"


def test_a_reservation_is_closed_once(connection: Connection) -> None:
    batch = submit(connection, processing(connection))
    reserve = "INSERT INTO token_reservations (batch_id, model, reserved_tokens, reserved_usd) VALUES (%s, 'm', 10, 1)"
    connection.execute(reserve, [batch])
    more = "UPDATE token_reservations SET reserved_usd = 0"
    assert refused_by(connection, more) == "token_reservations_amounts_immutable"
    connection.execute("UPDATE token_reservations SET state = 'released', closed_at = now()")
    settle = "UPDATE token_reservations SET state = 'settled', settled_tokens = 1, settled_usd = 1"
    assert refused_by(connection, settle) == "token_reservations_closed_once"


def test_the_registry_of_provider_batches_never_goes_back(connection: Connection) -> None:
    def advance(status: str) -> bool:
        row = connection.execute("SELECT advance_provider_batch('batch_1', %s, 'file_out', '')", [status]).fetchone()
        assert row is not None
        return row[0]

    connection.execute("SELECT register_provider_batch('batch_1', '/v1/responses', 'file_1', 1)")
    assert advance("processing")
    assert advance("completed")
    assert not advance("processing")
    assert refused_by(connection, "UPDATE rewrite_provider_batches SET status = 'pending'") == (
        "rewrite_provider_batches_forward"
    )
    row = connection.execute("SELECT status, output_file_id, error_file_id FROM rewrite_provider_batches").fetchone()
    assert row == ("completed", "file_out", None)
    late = connection.execute("SELECT advance_provider_batch('batch_1', 'completed', '', 'file_err')").fetchone()
    assert late == (True,)
    assert connection.execute("SELECT error_file_id FROM rewrite_provider_batches").fetchone() == ("file_err",)
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        advance("done")


def test_a_job_is_submitted_only_as_an_item_of_its_batch(connection: Connection) -> None:
    job = processing(connection)
    other = submit(connection, processing(connection), provider_batch_id="batch_9")
    move = """UPDATE rewrite_jobs SET status = 'batch_submitted', attempt_count = attempt_count + 1,
        submitted_at = now(), provider_batch_id = 'batch_9', batch_id = %s WHERE job_id = %s"""
    assert refused_by(connection, move, other, job) == "rewrite_jobs_transition"
    assert refused_by(connection, move, None, job) == "rewrite_jobs_submitted_has_batch"


def test_a_batch_is_closed_only_when_nothing_of_it_is_open(connection: Connection) -> None:
    batch = submit(connection, processing(connection))
    settle = "UPDATE rewrite_batches SET state = 'settled', finished_at = now(), settled_at = now()"
    assert refused_by(connection, settle) == "rewrite_batches_closed"
    connection.execute("UPDATE rewrite_batch_items SET outcome = 'kept', decided_at = now()")
    assert refused_by(connection, settle) == "rewrite_batches_closed"
    connection.execute(
        "UPDATE rewrite_jobs SET status = 'failed', finished_at = now(), last_error = 'x', last_error_at = now()"
    )
    reserve = "INSERT INTO token_reservations (batch_id, model, reserved_tokens, reserved_usd) VALUES (%s, 'm', 10, 1)"
    connection.execute(reserve, [batch])
    assert refused_by(connection, settle) == "rewrite_batches_closed"
    connection.execute("UPDATE token_reservations SET state = 'released', closed_at = now()")
    connection.execute(settle.encode())


CALL = """INSERT INTO provider_calls (batch_id, batch_item_index, job_id, rewrite_request_id, attempt, provider, model,
    source_locale, target_locale, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens)
    SELECT batch_id, batch_item_index, job_id, rewrite_request_id, attempt, 'openai', 'm', 'en', 'es', 1, 0, 0, 1, 0
    FROM rewrite_batch_items"""


def test_an_attempt_that_was_paid_is_never_given_back(connection: Connection) -> None:
    batch_submitted(connection)
    connection.execute(CALL)
    give_back = """UPDATE rewrite_jobs SET status = 'queued', attempt_count = attempt_count - 1, claimed_by = NULL,
        claimed_at = NULL, batch_id = NULL"""
    assert refused_by(connection, give_back) == "rewrite_jobs_transition"


@pytest.mark.parametrize("statement", ["UPDATE {} SET input_tokens = 0", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_ledger_is_append_only(connection: Connection, statement: str) -> None:
    batch_submitted(connection)
    connection.execute(CALL)
    assert refused_by(connection, statement.format("provider_calls")) == "provider_calls_append_only"


@pytest.mark.parametrize("table", ["rewrite_requests", "rewrite_jobs"])
def test_nobody_empties_a_table_at_once(connection: Connection, table: str) -> None:
    enqueue_one(connection)
    connection.execute("ALTER TABLE rewrite_outputs DISABLE TRIGGER USER")
    if table == "rewrite_requests":
        connection.execute("ALTER TABLE rewrite_jobs DISABLE TRIGGER USER")
    assert refused_by(connection, f"TRUNCATE {table} CASCADE") == f"{table}_no_truncate"


@pytest.mark.parametrize(
    "change",
    [
        {"recipient_user_id": "gen_random_uuid()"},
        {"surface": "'other'"},
        {"rewrite_strength": "'light_touch'"},
        {"lane": "'same_language'"},
        {"language_pair": '\'{"from": "en", "to": "de"}\'::jsonb'},
        {"routing_decision": 'routing_decision || \'{"model": "a few words"}\''},
        {"max_attempts": "21"},
    ],
)
def test_a_job_that_does_not_mirror_its_request_is_refused(connection: Connection, change: dict[str, str]) -> None:
    columns = [
        "job_id",
        "rewrite_request_id",
        "recipient_user_id",
        "recipient_snapshot_id",
        "recipient_preference_snapshot_id",
        "task",
        "surface",
        "rewrite_strength",
        "language_pair",
        "lane",
        "routing_decision",
        "max_attempts",
    ]
    enqueue_one(connection)
    with pytest.raises(psycopg.errors.CheckViolation) as refused, connection.transaction():
        connection.execute("CREATE TEMP TABLE old ON COMMIT DROP AS SELECT * FROM rewrite_jobs")
        connection.execute("ALTER TABLE rewrite_jobs DISABLE TRIGGER rewrite_jobs_leave_with_request")
        connection.execute("DELETE FROM rewrite_jobs")
        values = ", ".join(change.get(column, column) for column in columns)
        connection.execute(f"INSERT INTO rewrite_jobs ({', '.join(columns)}) SELECT {values} FROM old".encode())
    assert refused.value.diag.constraint_name in {"rewrite_jobs_mirror", "rewrite_jobs_attempts"}


IDS = (
    "rewrite_request_id", "home_id", "sender_user_id", "recipient_user_id", "recipient_snapshot_id",
    "recipient_preference_snapshot_id",
)  # fmt: skip


@pytest.mark.parametrize("key", IDS)
@pytest.mark.parametrize("other", ["0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b", "somebody else", None])
def test_a_serialised_request_of_another_unit_is_refused(connection: Connection, key: str, other: str | None) -> None:
    request = item_document()["rewrite_request"]
    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        import_request(connection, request, rewrite_request={**request, key: other})
    assert refused.value.diag.constraint_name == "rewrite_requests_mirror"


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("surface", "other"), ("original_text", "other words"), ("topics", ["guests"]), ("intent", "boundary"),
        ("rewrite_strength", "light_touch"), ("source_locale", "de"), ("target_locale", "de"),
        ("lane", "same_language"), ("classifier_result", {}), ("context_pack", {}), ("classifier_version", "c2"),
        ("context_pack_version", "p2"), ("policy_version", "v2"),
    ],
)  # fmt: skip
def test_a_serialised_request_says_what_its_columns_say(connection: Connection, key: str, other: Any) -> None:
    """What is rendered comes from the document, and what is judged and reported from the columns."""
    request = item_document()["rewrite_request"]
    for document in ({**request, key: other}, {name: value for name, value in request.items() if name != key}):
        with pytest.raises(psycopg.errors.CheckViolation) as refused, connection.transaction():
            import_request(connection, request, rewrite_request=document)
        assert refused.value.diag.constraint_name == "rewrite_requests_mirror"
    import_request(connection, {**request, "home_id": request["home_id"].upper()})


@pytest.mark.parametrize("status", ["failed", "canceled"])
def test_no_job_begins_under_a_request_that_is_over(connection: Connection, status: str) -> None:
    document = item_document()
    import_request(connection, document["rewrite_request"], status=status)
    begin = """INSERT INTO rewrite_jobs (job_id, rewrite_request_id, recipient_user_id, recipient_snapshot_id,
        recipient_preference_snapshot_id, task, surface, rewrite_strength, language_pair, lane, routing_decision,
        max_attempts, {columns})
        SELECT gen_random_uuid(), rewrite_request_id, recipient_user_id, recipient_snapshot_id,
        recipient_preference_snapshot_id, 'complaint_rewrite', surface, rewrite_strength,
        jsonb_build_object('from', source_locale, 'to', target_locale), lane, %s::jsonb, 2, {values}
        FROM rewrite_requests"""
    route = json.dumps(document["routing_decision"])
    queued = begin.format(columns="status", values="'queued'")
    assert refused_by(connection, queued, route) == "rewrite_jobs_begin_under_open_request"
    over = begin.format(
        columns="status, last_error, last_error_at, finished_at", values=f"'{status}', 'imported', now(), now()"
    )
    connection.execute(over.encode(), [route])


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO rewrite_alerts (kind, codes) VALUES ('twin', ARRAY['Turn the music down'])",
        "INSERT INTO outbox_events (event_key, kind, payload) VALUES ('k', 'x', '{\"a\": [{\"b\": \"two words\"}]}')",
        "INSERT INTO outbox_events (event_key, kind, payload) VALUES ('k', 'x', '{\"two words\": 1}')",
        "INSERT INTO worker_runs (run_id, command, worker, environment, version, counts) "
        "VALUES (gen_random_uuid(), 'submit', 'w', 'e', 'v', '{\"a\": \"two words\"}')",
        "INSERT INTO worker_runs (run_id, command, worker, environment, version) "
        "VALUES (gen_random_uuid(), 'two words', 'w', 'e', 'v')",
        'INSERT INTO routing_decisions VALUES (gen_random_uuid(), gen_random_uuid(), \'{"model": "two words"}\')',
    ],
)
def test_tables_without_text_take_no_words(connection: Connection, statement: str) -> None:
    assert refused_by(connection, statement)


def test_two_batches_never_share_a_provider_batch(connection: Connection) -> None:
    submit(connection, processing(connection))
    twin = """INSERT INTO rewrite_batches
        SELECT (jsonb_populate_record(b, jsonb_build_object('batch_id', gen_random_uuid()))).* FROM rewrite_batches b"""
    assert refused_by(connection, twin) == "rewrite_batches_provider_batch_id_key"


def test_an_output_comes_from_where_the_job_was_routed(connection: Connection) -> None:
    batch_submitted(connection)
    both = "WITH o AS ({}) UPDATE rewrite_jobs SET status = 'completed', finished_at = now()"
    for wrong in (output().replace("'gpt-5.2'", "'other'"), output().replace("'openai'", "'google'")):
        assert refused_by(connection, both.format(wrong)) == "rewrite_outputs_completed"
    worded = output().replace("'{}'", '\'{"note": "kind words"}\'')
    assert refused_by(connection, both.format(worded)) == "rewrite_outputs_completed"
