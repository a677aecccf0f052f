"""Ending: what the provider says of a batch comes in; whether it is over goes out, and what silence on an item means.

Pure. `completed` is not success and `failed` is not nothing: each may carry paid results, and each item is judged by
its own line. Only for items without a line does the batch's own ending speak.
"""

from rewrite_batch import outcomes
from rewrite_batch.collect.batch import ENDED, RANK, WINDOW_S, Absent, Alert, Ending, Held, Quota, Waits
from rewrite_batch.provider.results import BatchError, Standing

CODES_KEPT = 20


def read_ending(held: Held, said: Standing | None, grace_s: float) -> Ending | Waits:
    """`said` is None when the provider does not have the batch."""
    overdue = held.since_submitted_s > WINDOW_S + grace_s
    # Only what was cancelled first: if nobody collected for hours, it may well be running.
    given_up = overdue and held.since_overdue_s is not None and held.since_overdue_s > grace_s
    if said is None:
        return _vanished(held, given_up=overdue)
    if said.status in ENDED:
        return _ended(held, said, grace_s)
    if given_up:
        files = (held.output_file_id, held.error_file_id)
        return Ending("overdue", *files, Absent("batch_overdue"), alerts=(Alert("batch_overdue"),))
    if held.provider_status in ENDED:
        return Waits("status_went_back", put_off=True)
    alerts = (Alert("batch_overdue"),) if overdue else ()
    if said.status not in RANK:
        return Waits("unknown_status", cancel=overdue, alerts=(*alerts, Alert("unknown_status", (said.status,))))
    return Waits(said.status, cancel=overdue and said.status != "cancelling", alerts=alerts)


def late(held: Held, grace_s: float) -> bool:
    """Whether a person must hear that this batch, or its results, cannot be read."""
    if held.since_finished_s is not None:
        return held.since_finished_s > grace_s
    return held.since_submitted_s > WINDOW_S + grace_s


def _vanished(held: Held, *, given_up: bool) -> Ending | Waits:
    """With another key or address nothing is there either: while it could still be running, wait for a person."""
    if not given_up:
        return Waits("batch_vanished", put_off=True, alerts=(Alert("batch_vanished"),))
    return Ending(
        held.provider_status or "vanished",
        held.output_file_id,
        held.error_file_id,
        Absent("batch_vanished"),
        alerts=(Alert("batch_vanished"),),
    )


def _ended(held: Held, said: Standing, grace_s: float) -> Ending | Waits:
    output_id = held.output_file_id or said.output_file_id
    error_id = held.error_file_id or said.error_file_id
    nothing = said.status == "completed" and not output_id and not error_id
    lacking = nothing or (said.completed and not output_id) or (said.failed and not error_id)
    if lacking and (held.since_finished_s or 0.0) < grace_s:
        return Waits("file_not_named", put_off=True, alerts=(Alert("file_not_named"),))
    absent, quota, alerts = _silence(held, said)
    counted = None if said.completed is None or said.failed is None else said.completed + said.failed
    return Ending(said.status, output_id, error_id, absent, quota, alerts, counted)


def _silence(held: Held, said: Standing) -> tuple[Absent, Quota | None, tuple[Alert, ...]]:
    if said.status == "completed":
        return Absent("missing"), None, ()
    if said.status != "failed":
        return Absent(f"batch_{said.status}"), None, ()
    codes = tuple(dict.fromkeys(error.code for error in said.errors))[:CODES_KEPT]
    quota = next((found for error in said.errors if (found := _quota(error))), None)
    if quota:
        return Absent(quota.reason), quota, (Alert(quota.reason, codes),)
    # Line numbers count from 1, and our lines are in the order of their items.
    named = {error.line - 1 for error in said.errors if error.line is not None}
    poison = frozenset(index for index in named if 0 <= index < held.item_count)
    if poison:
        return Absent("batch_refused", poison), None, (Alert("poison_line", codes),)
    return Absent("batch_failed"), None, (Alert("batch_failed", codes),)


def _quota(error: BatchError) -> Quota | None:
    reason = outcomes.of_batch_error(error.code)
    return Quota(reason, error.token_limit) if reason else None
