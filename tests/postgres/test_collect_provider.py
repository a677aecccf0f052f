"""How batches end, and what provider and network do to their files: nothing is lost, guessed or half applied."""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from openai import OpenAI

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.submit.run import submit
from tests.postgres.collect_house import House, house, provider

__all__ = ["house", "provider"]


def age(house: House, column: str, hours: float) -> None:
    house.connection.execute(
        f"UPDATE rewrite_batches SET {column} = now() - make_interval(secs => %s)",  # pyright: ignore[reportArgumentType]
        [hours * 3_600],
    )


# How a batch ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "reason"), [("expired", "batch_expired"), ("cancelled", "batch_cancelled"), ("failed", "batch_failed")]
)
def test_a_batch_that_ended_halfway_keeps_every_paid_line_and_tries_the_rest_again(
    house: House, status: str, reason: str
) -> None:
    provider_batch_id = house.sent(10)
    house.simulator.end_batch(provider_batch_id, status, share=0.4)
    result = house.collect()
    assert (result.completed, result.retried) == (4, Counter({reason: 6}))
    assert house.states() == {"completed": 4, "queued": 6}
    assert house.value("SELECT provider_status FROM rewrite_batches") == status
    house.check_bill()
    assert house.tick().completed == 6


@pytest.mark.parametrize(
    ("status", "reason"), [("expired", "batch_expired"), ("cancelled", "batch_cancelled"), ("failed", "batch_failed")]
)
def test_a_batch_that_ended_before_anything_ran_is_tried_again_and_costs_nothing(
    house: House, status: str, reason: str
) -> None:
    provider_batch_id = house.sent(3)
    house.simulator.end_batch(provider_batch_id, status, **({} if status == "failed" else {"share": 0.0}))
    assert house.collect().retried == Counter({reason: 3})
    assert house.rows("SELECT state, settled_tokens FROM token_reservations") == [("released", None)]
    assert house.value("SELECT count(*) FROM provider_calls") == 0


def test_a_completed_batch_in_which_all_lines_failed_has_no_output_file(house: House) -> None:
    house.simulator.settings(bad_shares={"http_400": 1.0})
    house.over(3)
    result = house.collect()
    assert (result.completed, result.failed) == (0, Counter(bad_request=3))
    assert house.rows("SELECT output_file_id, error_file_id IS NULL FROM rewrite_batches") == [(None, False)]
    assert house.files_at_provider() == []


def test_poison_lines_fail_alone_and_the_others_go_out_again_with_nothing_spent(house: House) -> None:
    provider_batch_id = house.sent(5)
    poison = house.job_of(1)
    errors = [{"code": "invalid_json_line", "line": 2, "message": "This line is not JSON", "param": None}]
    house.simulator.end_batch(provider_batch_id, "failed", errors=errors)
    result = house.collect()
    assert (result.failed, result.returned) == (Counter(poison_line=1), Counter(batch_refused=4))
    assert house.rows(f"SELECT status, last_error FROM rewrite_jobs WHERE job_id = '{poison}'") == [
        ("failed", "poison_line")
    ]
    assert house.rows("SELECT DISTINCT attempt_count, claim_count FROM rewrite_jobs WHERE status = 'queued'") == [
        (0, 0)
    ]
    assert house.rows("SELECT kind, codes::text FROM rewrite_alerts") == [("poison_line", "{invalid_json_line}")]
    assert house.tick().completed == 4


def test_the_enqueued_token_limit_is_learned_the_model_pauses_and_no_attempt_is_spent(house: House) -> None:
    house.simulator.settings(enqueued_token_limit=500)
    house.over(3)
    result = house.collect()
    assert (result.returned, result.exit_code) == (Counter(token_limit_exceeded=3), 0)
    assert house.rows("SELECT DISTINCT status, attempt_count, claim_count FROM rewrite_jobs") == [("queued", 0, 0)]
    assert house.rows(
        "SELECT model, enqueued_tokens, learned_at IS NOT NULL, pause_reason, paused_until > now() FROM model_limits"
    ) == [("gpt-5.2", 500, True, "token_limit_exceeded", True)]
    assert house.alerts() == ["token_limit_exceeded"]
    assert "Enqueued" not in json.dumps(house.snapshot())
    house.submit()
    assert house.states() == {"queued": 3}


def test_lines_that_say_the_account_is_out_of_money_pause_the_model(house: House) -> None:
    house.sent(3)
    fault = {"operation": "line", "kind": "http_status", "code": 429, "error_code": "insufficient_quota", "index": 0}
    house.simulator.arm(fault)
    house.simulator.finish_all()
    result = house.collect()
    assert (result.completed, result.returned) == (2, Counter(insufficient_quota=1))
    assert house.value("SELECT pause_reason FROM model_limits") == "insufficient_quota"
    assert house.rows("SELECT attempt_count FROM rewrite_jobs WHERE status = 'queued'") == [(0,)]
    assert house.alerts() == ["insufficient_quota"]


def test_an_unknown_status_waits_and_warns(house: House) -> None:
    house.over(2)
    house.simulator.arm({"operation": "batches.retrieve", "kind": "unknown_status", "status": "paused"})
    result = house.collect()
    assert (dict(result.waiting), result.exit_code) == ({"unknown_status": 1}, 0)
    assert house.alerts() == ["unknown_status"]
    assert house.collect().completed == 2


def test_a_status_never_goes_back_in_our_records(house: House) -> None:
    provider_batch_id = house.sent(2)
    house.simulator.advance(10)
    house.collect()
    assert house.value("SELECT provider_status FROM rewrite_batches") == "in_progress"
    fault = house.simulator.arm({"operation": "batches.retrieve", "kind": "regress_status", "to": "validating"})
    house.collect()
    assert house.simulator.fired(fault)
    assert house.value("SELECT provider_status FROM rewrite_batches") == "in_progress"
    assert house.value("SELECT status FROM rewrite_provider_batches") == "processing"
    house.simulator.end_batch(provider_batch_id, "completed")
    assert house.collect().completed == 2


def test_a_batch_that_is_not_there_waits_for_a_person_until_it_cannot_be_running_any_more(house: House) -> None:
    house.sent(2)
    house.simulator.arm({"operation": "batches.retrieve", "kind": "status", "code": 404, "times": None})
    result = house.collect()
    assert (result.exit_code, dict(result.put_off)) == (75, {"batch_vanished": 1})
    assert house.states() == {"batch_submitted": 2}
    assert house.alerts() == ["batch_vanished"]
    age(house, "submitted_at", 26)
    assert house.collect().retried == Counter(batch_vanished=2)
    assert house.states() == {"queued": 2}


def test_an_overdue_batch_is_cancelled_and_its_partial_results_are_collected(house: House) -> None:
    house.simulator.settings(in_progress_s=80_000.0)
    house.sent(4)
    house.simulator.advance(40_000)
    age(house, "submitted_at", 25.5)
    result = house.collect()
    assert (result.exit_code, result.waiting.total()) == (0, 1)
    assert house.alerts() == ["batch_overdue"]
    assert len(house.simulator.calls("batches.cancel")) == 1
    house.simulator.finish_all()
    after = house.collect()
    assert after.completed + after.retried["batch_cancelled"] == 4
    assert after.completed > 0
    house.check_bill()


@pytest.mark.parametrize("hours", [25.5, 100.0])
def test_a_batch_that_never_ends_is_cancelled_and_given_up_a_grace_later_whenever_it_was_looked_at(
    house: House, hours: float
) -> None:
    house.sent(2)
    house.simulator.advance(10)
    never = {"operation": "batches.retrieve", "kind": "regress_status", "to": "in_progress", "times": None}
    house.simulator.arm(never)
    age(house, "submitted_at", hours)
    assert house.collect().waiting == Counter(in_progress=1)
    assert len(house.simulator.calls("batches.cancel")) == 1
    age(house, "submitted_at", hours + 0.9)
    house.connection.execute("UPDATE rewrite_alerts SET acknowledged_at = now(), acknowledged_by = 'somebody'")
    house.connection.execute("UPDATE rewrite_alerts SET created_at = now() - interval '54 minutes'")
    assert house.collect().waiting == Counter(in_progress=1)
    assert len(house.simulator.calls("batches.cancel")) == 2
    age(house, "submitted_at", hours + 1.1)
    house.connection.execute("UPDATE rewrite_alerts SET created_at = now() - interval '66 minutes'")
    assert house.collect().retried == Counter(batch_overdue=2)
    assert house.value("SELECT state FROM rewrite_batches") == "settled"


def test_an_overdue_batch_that_cannot_be_cancelled_is_told_of_and_given_up_all_the_same(house: House) -> None:
    house.sent(2)
    house.simulator.arm({"operation": "batches.cancel", "kind": "status", "code": 500, "times": None})
    age(house, "submitted_at", 25.5)
    assert house.collect().exit_code == 0
    assert house.alerts() == ["batch_overdue"]
    house.connection.execute("UPDATE rewrite_alerts SET created_at = now() - interval '66 minutes'")
    assert house.collect().retried == Counter(batch_overdue=2)


def test_a_batch_that_cannot_be_read_for_longer_than_it_can_run_is_an_alert_and_its_units_stay(house: House) -> None:
    house.sent(2)
    house.simulator.arm({"operation": "batches.retrieve", "kind": "status", "code": 500, "times": None})
    assert (house.collect().exit_code, house.alerts()) == (75, [])
    age(house, "submitted_at", 25.5)
    assert (house.collect().exit_code, house.alerts()) == (75, ["results_unavailable"])
    assert house.states() == {"batch_submitted": 2}


def test_one_bad_batch_never_stops_another(house: House) -> None:
    house.sent(2)
    bad = house.value("SELECT provider_batch_id FROM rewrite_batches")
    house.enqueue(2, target_locale="fr")
    house.submit()
    house.simulator.finish_all()
    match = {"provider_batch_id": bad}
    house.simulator.arm({"operation": "batches.retrieve", "kind": "html", "times": None, "match": match})
    result = house.collect()
    assert (result.completed, result.exit_code, result.polled) == (2, 75, 2)
    house.simulator.disarm()
    assert house.collect().completed == 2


@pytest.mark.parametrize("code", [401, 403])
def test_a_batch_for_which_the_key_is_refused_stops_no_other_and_the_run_ends_with_advice(
    house: House, code: int
) -> None:
    bad = house.sent(2)
    house.enqueue(2, target_locale="fr")
    house.submit()
    house.simulator.finish_all()
    match = {"provider_batch_id": bad}
    house.simulator.arm(
        {"operation": "batches.retrieve", "kind": "status", "code": code, "times": None, "match": match}
    )
    with pytest.raises(ConfigurationError):
        house.collect()
    assert house.states() == {"batch_submitted": 2, "completed": 2}
    assert house.rows("SELECT exit_code, counts -> 'put_off' FROM worker_runs WHERE command = 'collect'") == [
        (2, {"setting_unusable": 1})
    ]
    house.simulator.disarm()
    assert house.collect().completed == 2


def test_a_key_that_is_refused_to_reconcile_does_not_keep_results_away(house: House) -> None:
    house.over(2)
    house.enqueue(1)
    lost = house.simulator.arm({"operation": "batches.create", "kind": "reset_after"})
    submit(house.connection, house.settings(), run_id=uuid4())
    assert house.simulator.fired(lost)
    house.simulator.arm({"operation": "batches.list", "kind": "status", "code": 403, "times": None})
    with pytest.raises(ConfigurationError):
        house.collect()
    assert house.states() == {"completed": 2, "processing": 1}
    house.simulator.disarm()
    assert house.collect().reconciled.adopted == 1
    assert house.tick().completed == 1


# What happens to the files ------------------------------------------------------------------------------------------


def results_faults() -> list[dict[str, Any]]:
    return [
        {"kind": "reset_before"},
        {"kind": "reset_after"},
        {"kind": "status", "code": 500},
        {"kind": "status", "code": 429, "retry_after_ms": "1"},
        {"kind": "html"},
        {"kind": "truncate", "fraction": 0.5, "how": "close"},
        {"kind": "truncate", "fraction": 0.5, "how": "chunked"},
        {"kind": "truncate", "fraction": 0.5, "how": "short_length"},
        {"kind": "corrupt", "line": 2, "replacement": "{"},
        {"kind": "corrupt", "offset": 0, "bytes": 1},  # as long as it should be
    ]


def test_a_spool_that_cannot_be_made_is_told_as_such_and_a_later_run_goes_on(house: House) -> None:
    house.over(2)
    result = house.collect(spool_dir="/proc/nothing/spool")
    assert (result.exit_code, dict(result.put_off)) == (75, {"spool_unusable": 1})
    assert house.collect().completed == 2


def test_a_download_that_fails_once_is_made_again_and_nothing_is_lost(house: House) -> None:
    for fault in results_faults():
        house.over(2)
        armed = house.simulator.arm({"operation": "files.content", **fault})
        result = house.collect()
        assert house.simulator.fired(armed) == 1, fault
        assert (result.completed, result.exit_code) == (2, 0), fault
    assert house.alerts() == []
    house.check_bill()


@pytest.mark.parametrize("how", ["close", "chunked", "short_length"])
def test_a_download_that_is_always_cut_applies_nothing(house: House, how: str) -> None:
    house.over(4)
    house.simulator.arm({"operation": "files.content", "kind": "truncate", "fraction": 0.7, "how": how, "times": None})
    result = house.collect()
    assert (result.exit_code, dict(result.put_off)) == (75, {"provider_unavailable": 1})
    assert house.states() == {"batch_submitted": 4}
    assert house.value("SELECT count(*) FROM provider_calls") == 0
    house.simulator.disarm()
    assert house.collect().completed == 4
    house.check_bill()


def test_cut_anywhere_and_at_every_line_end_nothing_is_ever_half_applied(house: House) -> None:
    house.over(3)
    ending = house.simulator.state()["batches"][0]
    size = next(file["bytes"] for file in house.simulator.state()["files"] if file["id"] == ending["output_file_id"])
    line_ends = [size // 3, 2 * size // 3, size - 1]
    for cut in sorted({1, *(size * percent // 100 for percent in range(10, 100, 30)), *line_ends}):
        armed = house.simulator.arm(
            {"operation": "files.content", "kind": "truncate", "bytes": cut, "how": "short_length", "times": None}
        )
        assert house.collect().exit_code == 75
        assert house.value("SELECT count(*) FROM rewrite_batch_items WHERE outcome IS NOT NULL") == 0
        house.simulator.disarm(armed)
    assert house.collect().completed == 3


def test_nothing_is_applied_until_both_files_are_whole(house: House) -> None:
    house.sent(4)
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 400, "index": 0})
    house.simulator.finish_all()
    error_file = house.simulator.state()["batches"][0]["error_file_id"]
    match = {"file_id": error_file}
    armed = house.simulator.arm(
        {"operation": "files.content", "kind": "status", "code": 503, "times": None, "match": match}
    )
    assert house.collect().exit_code == 75
    assert house.simulator.fired(armed)
    assert house.states() == {"batch_submitted": 4}
    house.simulator.disarm()
    result = house.collect()
    assert (result.completed, result.failed) == (3, Counter(bad_request=1))


def test_a_file_that_should_exist_and_is_not_named_is_waited_for(house: House) -> None:
    house.over(3)
    house.simulator.arm({"operation": "batches.retrieve", "kind": "count_mismatch", "failed": 1, "total": 4})
    assert dict(house.collect().put_off) == {"file_not_named": 1}
    assert house.states() == {"batch_submitted": 3}
    assert house.alerts() == ["file_not_named"]
    assert house.collect().completed == 3


def test_an_empty_file_id_is_no_file(house: House) -> None:
    house.over(2)
    fault = house.simulator.arm({"operation": "batches.retrieve", "kind": "empty_file_ids"})
    assert house.collect().completed == 2
    assert house.simulator.fired(fault) == 1
    assert house.value("SELECT error_file_id FROM rewrite_batches") is None


def test_results_that_are_gone_are_waited_for_and_then_tried_again(house: House) -> None:
    house.over(2)
    house.simulator.arm({"operation": "files.retrieve", "kind": "status", "code": 404, "times": None})
    assert dict(house.collect().put_off) == {"results_gone": 1}
    assert house.states() == {"batch_submitted": 2}
    age(house, "finished_at", 2)
    assert house.collect().retried == Counter(results_gone=2)
    assert "results_gone" in house.alerts()


def test_counts_that_disagree_with_the_lines_are_an_alert_and_no_reason_to_lose_anything(house: House) -> None:
    house.over(3)
    house.simulator.arm({"operation": "batches.retrieve", "kind": "count_mismatch", "times": None})
    assert house.collect().completed == 3
    assert house.alerts() == ["counts_differ"]


def test_usage_that_disagrees_with_the_lines_is_stored_and_an_alert(house: House) -> None:
    house.sent(3)
    house.simulator.arm({"operation": "line", "kind": "malformed_line", "index": 1})
    house.simulator.finish_all()
    house.collect()
    assert house.value("SELECT usage_difference > 0 FROM rewrite_batches")
    assert "usage_differs" in house.alerts()


USAGES: list[tuple[dict[str, Any], int | None, list[str]]] = [
    # what the provider's sums say beyond the lines, the difference that is stored, the codes of the alert
    ({"input_tokens": 3}, 3, ["input_less_3"]),
    ({"output_tokens": -2}, 2, ["output_more_2"]),
    ({"cached_tokens": 1}, 1, ["cached_less_1"]),
    ({"input_tokens": 7, "output_tokens": -7}, 14, ["input_less_7", "output_more_7"]),
    (
        {"input_tokens": -1, "cached_tokens": 5, "output_tokens": -4},
        10,
        ["input_more_1", "cached_less_5", "output_more_4"],
    ),
    ({"fields": ["cached_tokens"]}, 0, []),
    ({"fields": ["cached_tokens", "input_tokens"], "output_tokens": 6}, 6, ["output_less_6"]),
    ({"fields": ["input_tokens", "cached_tokens", "output_tokens"]}, None, []),
]


@pytest.mark.parametrize(("said", "difference", "codes"), USAGES)
def test_each_kind_of_usage_is_compared_by_itself_and_nothing_cancels_out(
    house: House, said: dict[str, Any], difference: int | None, codes: list[str]
) -> None:
    house.over(3)
    fault = house.simulator.arm({"operation": "batches.retrieve", "kind": "usage_mismatch", "times": None, **said})
    assert house.collect().completed == 3
    assert house.simulator.fired(fault) >= 1
    assert house.rows("SELECT state, usage_difference FROM rewrite_batches") == [("settled", difference)]
    assert house.rows("SELECT kind::text, codes::text[] FROM rewrite_alerts") == (
        [("usage_differs", codes)] if codes else []
    )


def test_sums_beyond_any_account_do_not_keep_a_batch_open(house: House) -> None:
    house.over(1)
    most = dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens"), (1 << 62) - 100_000)
    house.simulator.arm({"operation": "batches.retrieve", "kind": "usage_mismatch", "times": None, **most})
    assert house.collect().exit_code == 0
    assert house.rows("SELECT state, usage_difference FROM rewrite_batches") == [("settled", (1 << 63) - 1)]


# Lines that do not fit ----------------------------------------------------------------------------------------------


ODD_LINES: list[tuple[str, str, str | None]] = [
    # fault of a line, reason of its item, the alert that tells
    ("missing", "missing", "missing_items"),
    ("malformed_line", "missing", "unreadable_lines"),
    ("bom", "missing", "unreadable_lines"),
    ("raw_nul", "missing", "unreadable_lines"),
    ("unknown_custom_id", "missing", "unknown_items"),
    ("extra_line", "kept", "unknown_items"),
    ("duplicate", "kept", None),
    ("duplicate_different", "duplicate", "duplicate_items"),
    ("blank_line", "kept", None),
    ("crlf", "kept", None),
]


def test_a_line_that_does_not_fit_touches_its_own_item_and_no_other(house: House) -> None:
    house.sent(len(ODD_LINES) + 2)
    faults = [
        house.simulator.arm({"operation": "line", "kind": kind, "index": index})
        for index, (kind, _, _) in enumerate(ODD_LINES)
    ]
    house.simulator.finish_all()
    result = house.collect()
    assert [house.simulator.fired(fault) for fault in faults] == [1] * len(faults)
    reasons = [reason for _, reason, _ in ODD_LINES] + ["kept", "kept"]
    assert dict(house.rows("SELECT batch_item_index, reason FROM rewrite_batch_items")) == dict(enumerate(reasons))
    assert result.completed == reasons.count("kept")
    assert house.states() == {"completed": reasons.count("kept"), "failed": len(reasons) - reasons.count("kept")}
    told = {alert for _, _, alert in ODD_LINES if alert}
    assert set(house.alerts()) == {*told, "counts_differ", "usage_differs"}
    assert house.value("SELECT state FROM rewrite_batches") == "settled"


@pytest.mark.parametrize(
    ("kind", "alert"), [(kind, alert) for kind, _, alert in ODD_LINES if kind in {"missing", "duplicate", "extra_line"}]
)
def test_one_odd_line_tells_of_itself_and_of_nothing_else(house: House, kind: str, alert: str | None) -> None:
    house.sent(3)
    house.simulator.arm({"operation": "line", "kind": kind, "index": 1})
    house.simulator.finish_all()
    house.collect()
    assert set(house.alerts()) - {"counts_differ", "usage_differs"} == ({alert} if alert else set())


def test_what_is_told_of_a_refused_line_is_its_number_and_reason(house: House) -> None:
    house.sent(3)
    house.simulator.arm({"operation": "line", "kind": "bom", "index": 0})
    house.simulator.finish_all()
    house.collect()
    codes = house.value("SELECT codes::text FROM rewrite_alerts WHERE kind = 'unreadable_lines'")
    assert codes.startswith("{bom,output_line_")


# Saved files --------------------------------------------------------------------------------------------------------


def test_kept_files_are_private_and_replaying_them_changes_nothing(house: House, tmp_path: Path) -> None:
    house.sent(4)
    house.simulator.arm({"operation": "line", "kind": "http_status", "code": 400, "index": 0})
    house.simulator.finish_all()
    saved = tmp_path / "saved"
    house.collect(keep_dir=saved)
    batch_id = house.batch_id()
    assert sorted(path.name for path in saved.iterdir()) == [f"{batch_id}.error.jsonl", f"{batch_id}.output.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in saved.iterdir()} == {0o600}
    assert saved.stat().st_mode & 0o777 == 0o700
    before, calls = house.snapshot(), len(house.simulator.calls())
    result = house.replay(saved)
    assert (result.already_applied, result.completed, result.exit_code) == (4, 0, 0)
    assert house.snapshot() == before
    assert len(house.simulator.calls()) == calls


def test_a_replay_applies_what_was_never_applied_and_leaves_items_without_a_line_alone(
    house: House, tmp_path: Path
) -> None:
    house.over(4)
    saved = tmp_path / "saved"
    saved.mkdir(mode=0o700)
    output = house.simulator.state()["batches"][0]["output_file_id"]
    lines = _content(house, output)
    name = saved / f"{house.batch_id()}.output.jsonl"
    name.write_bytes(b"\n".join(lines.splitlines()[:3]) + b"\n")
    result = house.replay(saved)
    assert (result.completed, result.exit_code) == (3, 75)
    assert house.states() == {"completed": 3, "batch_submitted": 1}
    name.write_bytes(lines)
    result = house.replay(saved)
    assert (result.completed, result.already_applied, result.settled) == (1, 3, 1)
    house.check_bill()


def test_a_replay_tells_of_lines_that_do_not_fit_and_pauses_a_model_without_money(house: House, tmp_path: Path) -> None:
    house.sent(5)
    for index, fault in enumerate(["duplicate_different", "bom", "extra_line"]):
        house.simulator.arm({"operation": "line", "kind": fault, "index": index})
    poor = {"operation": "line", "kind": "http_status", "code": 429, "error_code": "insufficient_quota", "index": 3}
    house.simulator.arm(poor)
    house.simulator.finish_all()
    saved = tmp_path / "saved"
    house.save_results(saved)
    result = house.replay(saved)
    assert (result.completed, result.failed, result.returned) == (
        2, Counter(duplicate=1), Counter(insufficient_quota=1),
    )  # fmt: skip
    assert house.alerts() == ["duplicate_items", "insufficient_quota", "unknown_items", "unreadable_lines"]
    assert house.value("SELECT pause_reason FROM model_limits") == "insufficient_quota"
    calls, before = len(house.simulator.calls()), house.snapshot()
    assert house.replay(saved).already_applied == 4
    assert (house.snapshot(), len(house.simulator.calls())) == (before, calls)


def test_a_replay_of_files_that_are_nobodys_changes_nothing_and_says_so(house: House, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "0190b1c2-3d4e-7f50-8a9b-0c1d2e3f4a5b.output.jsonl").write_text("{}\n")
    (saved / "notes.txt").write_text("not a result file")
    result = house.replay(saved)
    assert (dict(result.put_off), result.exit_code) == ({"unknown_batch": 1}, 75)


def _content(house: House, file_id: str) -> bytes:
    with OpenAI(base_url=house.simulator.base_url, api_key=house.simulator.api_key) as client:
        return client.files.content(file_id).content
