"""Clauses of the contract that no other test of collect looks at: what it must leave to others."""

from collections import Counter

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
