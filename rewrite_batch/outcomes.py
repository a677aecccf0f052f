"""Outcomes: every way in which an item can end, whose fault it is, and what becomes of its unit. The one table.

The README has the same rows, and a test compares them. An item's `outcome` is the class, its `reason` the first column.

    kept        the unit is completed
    transient   tried again while attempts remain, else failed
    quota       its model pauses; the unit waits, no attempt and no claim spent
    permanent   failed, no output
    returned    the provider ran nothing of the batch: the unit goes out again, no attempt and no claim spent
    dropped     the unit was final or gone when the result came; nothing of it is changed
"""

from dataclasses import dataclass
from typing import Literal

Class = Literal["kept", "transient", "quota", "permanent", "returned", "dropped"]
Fault = Literal["nobody", "provider", "us", "text"]


@dataclass(frozen=True)
class Outcome:
    reason: str
    kind: Class
    fault: Fault
    when: str


OUTCOMES: tuple[Outcome, ...] = (
    Outcome("kept", "kept", "nobody", "200, complete, schema valid, checks passed; warnings are stored with it"),
    Outcome("provider_timeout", "transient", "provider", "item status 408"),
    Outcome("provider_conflict", "transient", "provider", "item status 409"),
    Outcome("rate_limited", "transient", "provider", "item status 429"),
    Outcome("provider_error", "transient", "provider", "item status 5xx"),
    Outcome("no_status", "transient", "provider", "item status 0"),
    Outcome("never_ran", "transient", "provider", "no response, with a code that is not listed here"),
    Outcome(
        "response_failed", "transient", "provider", "200, but the response failed or was cancelled at the provider"
    ),
    Outcome("batch_expired", "transient", "provider", "the batch's window ended before the item ran"),
    Outcome("batch_cancelled", "transient", "provider", "the batch was cancelled before the item ran"),
    Outcome("batch_failed", "transient", "provider", "the batch failed, and no line is named"),
    Outcome("batch_vanished", "transient", "provider", "window and grace are over, and the batch is not there"),
    Outcome("batch_overdue", "transient", "provider", "window and twice the grace are over, and it has not ended"),
    Outcome("results_gone", "transient", "provider", "the batch ended, and its result file is not there"),
    Outcome("insufficient_quota", "quota", "us", "the account has no money left"),
    Outcome("token_limit_exceeded", "quota", "us", "more tokens enqueued than the account may; the limit is learned"),
    Outcome("model_not_found", "quota", "us", "the provider does not know the model, or not for this key"),
    Outcome("bad_request", "permanent", "us", "item status 400"),
    Outcome("unauthorized", "permanent", "us", "item status 401"),
    Outcome("forbidden", "permanent", "us", "item status 403"),
    Outcome("not_found", "permanent", "us", "item status 404"),
    Outcome("too_large", "permanent", "text", "item status 413"),
    Outcome("unprocessable", "permanent", "us", "item status 422"),
    Outcome("unexpected_status", "permanent", "provider", "any other item status"),
    Outcome("response_refused", "permanent", "text", "200, but the response failed and would fail again"),
    Outcome("refusal", "permanent", "text", "the model refused"),
    Outcome("truncated", "permanent", "text", "the answer reached its token limit"),
    Outcome("content_filter", "permanent", "text", "the provider's filter stopped the answer"),
    Outcome("incomplete", "permanent", "provider", "not complete for another reason"),
    Outcome("no_answer", "permanent", "provider", "complete, but without any text"),
    Outcome("schema", "permanent", "provider", "the answer is not exactly the object that was asked for"),
    Outcome("unstorable", "permanent", "provider", "the answer holds NUL or half a surrogate pair"),
    Outcome("unreadable", "permanent", "provider", "the line names its item, and the rest of it cannot be read"),
    Outcome("language", "permanent", "text", "the answer is not in the target language"),
    Outcome("lexicon", "permanent", "text", "a hard rule fired"),
    Outcome("intent", "permanent", "text", "the request, boundary, concern or question is gone or flipped"),
    Outcome("not_kept", "permanent", "text", "the checks do not let it be stored, for another reason"),
    Outcome("missing", "permanent", "provider", "a completed batch has no line for it"),
    Outcome("duplicate", "permanent", "provider", "two different lines name it"),
    Outcome("poison_line", "permanent", "us", "the batch failed validation because of this line"),
    Outcome("batch_refused", "returned", "us", "the batch failed validation because of other lines"),
    Outcome("unit_canceled", "dropped", "nobody", "an administrator canceled the unit meanwhile"),
    Outcome("unit_erased", "dropped", "nobody", "the request was erased meanwhile"),
    Outcome("unit_moved", "dropped", "nobody", "the unit is no longer in this batch and attempt"),
)
BY_REASON = {outcome.reason: outcome for outcome in OUTCOMES}

_BY_STATUS = {
    0: "no_status",
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    408: "provider_timeout",
    409: "provider_conflict",
    413: "too_large",
    422: "unprocessable",
    429: "rate_limited",
}
_QUOTA_CODES = {
    "insufficient_quota": "insufficient_quota",
    "billing_hard_limit_reached": "insufficient_quota",
    "billing_not_active": "insufficient_quota",
    "token_limit_exceeded": "token_limit_exceeded",
    "model_not_found": "model_not_found",
}
_NEVER_RAN = {code: code for code in ("batch_expired", "batch_cancelled", "batch_failed")}
_WILL_PASS = frozenset({"server_error", "rate_limit_exceeded", "timeout", ""})


def of_status(status: int, code: str) -> str:
    """The reason of an item whose HTTP status is not 200. Only 429 and 403 tell quota by their code."""
    if status in {403, 429} and _QUOTA_CODES.get(code) == "insufficient_quota":
        return "insufficient_quota"
    if 500 <= status <= 599:
        return "provider_error"
    return _BY_STATUS.get(status, "unexpected_status")


def of_never_ran(code: str) -> str:
    return _NEVER_RAN.get(code) or (
        "insufficient_quota" if _QUOTA_CODES.get(code) == "insufficient_quota" else "never_ran"
    )


def of_failed_response(code: str) -> str:
    return "response_failed" if code in _WILL_PASS else "response_refused"


def of_batch_error(code: str) -> str | None:
    """The reason of every item of a batch that failed whole with this code; None: the code says nothing of the kind."""
    return _QUOTA_CODES.get(code)
