"""Whether a batch is over, and what it means that an item has no line."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from rewrite_batch.collect.batch import WINDOW_S, Absent, Ending, Held, Quota, Waits
from rewrite_batch.collect.ending import late, read_ending
from rewrite_batch.outcomes import BY_REASON
from rewrite_batch.provider.limits import stated_token_limit
from rewrite_batch.provider.results import BatchError, Standing

GRACE = 3_600.0


def held(**changes: Any) -> Held:
    usual: dict[str, Any] = {
        "batch_id": uuid4(),
        "state": "submitted",
        "model": "gpt-5.2",
        "provider": "openai",
        "base_url": None,
        "provider_batch_id": "batch_1",
        "provider_status": "in_progress",
        "item_count": 5,
        "input_file_id": "file_1",
        "output_file_id": None,
        "error_file_id": None,
        "submitted_at": datetime(2026, 11, 1, tzinfo=UTC),
        "since_submitted_s": 60.0,
        "since_finished_s": None,
        "since_overdue_s": None,
    }
    return Held(**{**usual, **changes})


def said(status: str, **more: Any) -> Standing:
    return Standing(status=status, **more)


def over(ending: Ending | Waits) -> Ending:
    assert isinstance(ending, Ending)
    return ending


def waits(ending: Ending | Waits) -> Waits:
    assert isinstance(ending, Waits)
    return ending


@pytest.mark.parametrize("status", ["validating", "in_progress", "finalizing", "cancelling"])
def test_a_batch_under_way_waits_and_that_is_no_trouble(status: str) -> None:
    found = waits(read_ending(held(), said(status), GRACE))
    assert (found.reason, found.put_off, found.cancel, found.alerts) == (status, False, False, ())


def test_a_status_that_nobody_knows_waits_and_warns() -> None:
    found = waits(read_ending(held(), said("paused"), GRACE))
    assert (found.reason, found.put_off) == ("unknown_status", False)
    assert [(alert.kind, alert.codes) for alert in found.alerts] == [("unknown_status", ("paused",))]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("completed", "missing"),
        ("expired", "batch_expired"),
        ("cancelled", "batch_cancelled"),
        ("failed", "batch_failed"),
    ],
)
def test_each_ending_says_what_silence_means(status: str, reason: str) -> None:
    ending = over(read_ending(held(), said(status, output_file_id="o", error_file_id="e"), GRACE))
    assert ending.absent == Absent(reason)
    assert (ending.output_file_id, ending.error_file_id) == ("o", "e")
    assert reason in BY_REASON


def test_a_status_that_goes_back_after_the_end_is_no_news() -> None:
    found = waits(read_ending(held(state="finished", provider_status="completed"), said("in_progress"), GRACE))
    assert found.reason == "status_went_back"
    assert found.put_off


def test_file_ids_that_were_known_are_not_forgotten() -> None:
    known = held(state="finished", provider_status="completed", output_file_id="o")
    assert over(read_ending(known, said("completed"), GRACE)).output_file_id == "o"


@pytest.mark.parametrize(
    ("counts", "ids"), [({"completed": 3}, {}), ({"failed": 2}, {"output_file_id": "o"}), ({}, {})]
)
def test_a_file_that_should_be_there_is_waited_for_and_only_so_long(
    counts: dict[str, int], ids: dict[str, str]
) -> None:
    standing = said("completed", **counts, **ids)
    assert waits(read_ending(held(), standing, GRACE)).put_off
    assert over(read_ending(held(since_finished_s=GRACE + 1), standing, GRACE)).absent == Absent("missing")


def test_a_batch_that_vanished_may_be_in_another_account_so_its_units_wait() -> None:
    found = waits(read_ending(held(), None, GRACE))
    assert found.put_off
    assert found.alerts[0].kind == "batch_vanished"
    long_ago = held(since_submitted_s=WINDOW_S + GRACE + 1)
    assert over(read_ending(long_ago, None, GRACE)).absent == Absent("batch_vanished")


def test_an_overdue_batch_is_cancelled_first_and_given_up_later() -> None:
    overdue = waits(read_ending(held(since_submitted_s=WINDOW_S + GRACE + 1), said("in_progress"), GRACE))
    assert overdue.cancel
    assert overdue.alerts[0].kind == "batch_overdue"
    asked = waits(read_ending(held(since_submitted_s=WINDOW_S + GRACE + 1), said("cancelling"), GRACE))
    assert not asked.cancel
    for status in ("in_progress", "cancelling", "paused"):
        asked_long_ago = held(since_submitted_s=WINDOW_S + 2 * GRACE + 2, since_overdue_s=GRACE + 1)
        assert over(read_ending(asked_long_ago, said(status), GRACE)).absent == Absent("batch_overdue")


@pytest.mark.parametrize("since_overdue_s", [None, GRACE - 1])
def test_a_batch_that_nobody_looked_at_for_days_is_cancelled_before_it_is_given_up(
    since_overdue_s: float | None,
) -> None:
    long_ago = held(since_submitted_s=WINDOW_S + 50 * GRACE, since_overdue_s=since_overdue_s)
    assert waits(read_ending(long_ago, said("in_progress"), GRACE)).cancel


def test_somebody_hears_of_a_batch_that_cannot_be_read_when_it_must_be_over() -> None:
    assert not late(held(since_submitted_s=WINDOW_S + GRACE - 1), GRACE)
    assert late(held(since_submitted_s=WINDOW_S + GRACE + 1), GRACE)
    assert not late(held(since_submitted_s=WINDOW_S + GRACE + 1, since_finished_s=GRACE - 1), GRACE)
    assert late(held(since_finished_s=GRACE + 1), GRACE)


def test_named_lines_are_poison_and_the_others_go_back() -> None:
    errors = (BatchError("invalid_json_line", 2), BatchError("mismatched_model", 5), BatchError("odd", 77))
    ending = over(read_ending(held(), said("failed", errors=errors), GRACE))
    assert [ending.absent.of(i) for i in range(5)] == [
        "batch_refused", "poison_line", "batch_refused", "batch_refused", "poison_line",
    ]  # fmt: skip
    assert ending.quota is None
    assert BY_REASON["batch_refused"].kind == "returned"


def test_a_stated_limit_pauses_the_model_and_is_learned() -> None:
    errors = (BatchError("token_limit_exceeded", None, 2_000_000),)
    ending = over(read_ending(held(), said("failed", errors=errors), GRACE))
    assert ending.quota == Quota("token_limit_exceeded", 2_000_000)
    assert ending.absent == Absent("token_limit_exceeded")
    assert BY_REASON["token_limit_exceeded"].kind == "quota"


def test_a_model_that_is_not_there_is_no_poison_of_its_first_line() -> None:
    errors = (BatchError("model_not_found", 1),)
    ending = over(read_ending(held(), said("failed", errors=errors), GRACE))
    assert ending.absent == Absent("model_not_found")
    assert ending.quota is not None


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (
            "Enqueued token limit reached for gpt-5.2 in organization org-x. Limit: 2,000,000 enqueued tokens. Try",
            2_000_000,
        ),
        ("… Limit: 90000 enqueued tokens.", 90_000),
        ("limit: 1 000 000 enqueued tokens", 1_000_000),
        ("Limit: 0 enqueued tokens", None),
        ("Limit: a few enqueued tokens", None),
        ("Limit: 5 enqueued tokens. Limit: 6 enqueued tokens", None),
        ("Limit: 99999999999999999999 enqueued tokens", None),
        ("", None),
    ],
)
def test_the_limit_is_read_from_the_providers_words(message: str, limit: int | None) -> None:
    assert stated_token_limit(message) == limit
