"""Clauses of the contract that no other test of collect looks at: what it must leave to others."""

from collections import Counter

from psycopg.rows import dict_row

from tests.items import enqueue_one, item_document
from tests.postgres.collect_house import House, house, provider

__all__ = ["house", "provider"]


def test_when_the_sender_may_see_it_is_never_computed_here(house: House) -> None:
    house.enqueue(3)
    house.connection.execute(
        """UPDATE rewrite_requests SET sender_reveal_at = '2031-01-01T00:00:00Z'
        WHERE rewrite_request_id = (SELECT rewrite_request_id FROM rewrite_requests LIMIT 1)"""
    )
    before = house.rows("SELECT rewrite_request_id, sender_reveal_at FROM rewrite_requests ORDER BY 1")
    assert house.tick().completed == 3
    assert house.rows("SELECT rewrite_request_id, sender_reveal_at FROM rewrite_requests ORDER BY 1") == before


def test_an_output_is_for_the_recipient_of_its_job_and_snapshots_stay_as_they_were(house: House) -> None:
    house.enqueue(3)
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 500, "index": 0})
    snapshots = house.rows("SELECT t::text FROM recipient_snapshots AS t ORDER BY 1")
    house.tick()
    house.tick()
    assert house.states() == {"completed": 3}
    assert (
        house.rows(
            """SELECT rewrite_request_id, recipient_user_id FROM rewrite_outputs
        EXCEPT SELECT rewrite_request_id, recipient_user_id FROM rewrite_jobs"""
        )
        == []
    )
    assert house.rows("SELECT t::text FROM recipient_snapshots AS t ORDER BY 1") == snapshots


def test_a_failed_unit_is_not_run_again_however_often_it_is_enqueued(house: House) -> None:
    document = item_document()
    job = enqueue_one(house.connection, document)
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 400, "index": 0})
    assert house.tick().failed == Counter(bad_request=1)
    before = house.snapshot()
    assert enqueue_one(house.connection, document) == job
    house.tick()
    assert house.snapshot() == before
    assert len(house.simulator.calls("batches.create")) == 1


def test_a_completed_unit_is_not_run_again_however_often_it_is_enqueued(house: House) -> None:
    document = item_document()
    job = enqueue_one(house.connection, document)
    assert house.tick().completed == 1
    before = house.snapshot()
    assert enqueue_one(house.connection, document) == job
    house.tick()
    assert house.snapshot() == before
    assert len(house.simulator.calls("batches.create")) == 1


def test_one_item_that_fails_ends_its_own_request_and_no_other(house: House) -> None:
    """One item's failure touches its own request; the request beside it in the file is completed at its own time."""
    house.enqueue(2)
    house.submit()
    house.simulator.arm({"operation": "line", "kind": "refusal", "index": 1})
    house.simulator.finish_all()
    house.collect()
    assert house.rows("SELECT status, rewrite_completed_at IS NOT NULL FROM rewrite_requests ORDER BY status") == [
        ("completed", True),
        ("failed", False),
    ]


AUDIT = """
    SELECT
        r.rewrite_request_id, j.job_id, r.home_id, r.sender_user_id, r.recipient_user_id, r.recipient_snapshot_id,
        r.recipient_preference_snapshot_id, r.source_locale, r.target_locale, r.lane, r.classifier_version,
        r.classifier_result ->> 'detected_language' AS detected_language,
        r.classifier_result #>> '{confidence,language_confidence}' AS language_confidence,
        j.routing_decision ->> 'provider' AS provider, j.routing_decision ->> 'model' AS model,
        j.routing_decision ->> 'prompt_version' AS prompt_version,
        j.routing_decision ->> 'policy_version' AS policy_version,
        j.routing_decision ->> 'execution_mode' AS execution_mode,
        j.provider_batch_id, i.batch_group_key, i.batch_id, i.batch_item_index, j.attempt_count, j.status,
        ARRAY(
            SELECT e.to_status FROM rewrite_job_events AS e
            WHERE e.job_id = j.job_id AND e.occurred_at IS NOT NULL ORDER BY e.event_id
        ) AS states_with_their_times
    FROM rewrite_requests AS r
    INNER JOIN rewrite_jobs AS j ON r.rewrite_request_id = j.rewrite_request_id
    INNER JOIN rewrite_batch_items AS i ON j.job_id = i.job_id"""


def test_all_that_an_audit_asks_for_is_on_record_for_the_analyst(house: House) -> None:
    document = item_document()
    document["rewrite_request"]["classifier_result"]["confidence"]["language_confidence"] = "high"
    enqueue_one(house.connection, document)
    assert house.tick().completed == 1
    with house.connection.transaction():
        house.connection.execute("SET LOCAL ROLE rewrite_analyst")
        with house.connection.cursor(row_factory=dict_row) as cursor:
            (record,) = cursor.execute(AUDIT).fetchall()
    assert [name for name, value in record.items() if value is None] == []
    assert record["states_with_their_times"] == ["queued", "processing", "batch_submitted", "completed"]
    request = document["rewrite_request"]
    assert {name: str(value) for name, value in record.items() if name in request} == {
        name: str(value) for name, value in request.items() if name in record
    }
