"""Faults that change an answer: a reply and a fault go in; a worse reply comes out, or None: nothing fits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rewrite_batch.simulator.faults import Fault
from rewrite_batch.simulator.jsontext import Json, encode, object_of
from rewrite_batch.simulator.lines import http_error
from rewrite_batch.simulator.replies import Reply

# Where each status stands; a regress goes to one that stands before. Other endings stand with completed.
_ORDER = ("validating", "in_progress", "finalizing", "completed")
_LATER_FIELDS = (
    *(f"{status}_at" for status in ("in_progress", "finalizing", "completed", "failed", "expired")),
    *("cancelling_at", "cancelled_at", "output_file_id", "error_file_id", "usage"),
)
_HTML = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Please wait.</body></html>"

Spoiler = Callable[[Json, Json], Json | None]


def status_reply(spec: Json) -> Reply:
    """An HTTP error that says nothing of what was done. `retry_after` goes out as it is, also nonsense."""
    code = int(spec.get("code", 500))
    headers = {
        header: str(spec[name])
        for name, header in (("retry_after", "retry-after"), ("retry_after_ms", "retry-after-ms"))
        if spec.get(name) is not None
    }
    return Reply(status=code, payload=http_error(code, spec), headers=headers)


def html_reply() -> Reply:
    return Reply(raw=_HTML, content_type="text/html")


def spoiled(reply: Reply, fault: Fault) -> Reply | None:
    """The changed answer; None when this answer gives the fault no hold: then it must not count as fired."""
    if fault.kind == "status":
        return status_reply(fault.spec)
    if fault.kind == "html":
        return html_reply()
    if fault.kind == "broken_json":
        whole = encode(reply.payload) if reply.payload is not None else b""
        return replace(reply, payload=None, raw=whole[: len(whole) // 2]) if whole else None
    spoil = _SPOILERS.get(fault.kind)
    if spoil is None or reply.payload is None or reply.status != 200:
        return None
    payload = _each_batch(reply.payload, fault, spoil)
    return replace(reply, payload=payload) if payload is not None else None


def _each_batch(payload: Json, fault: Fault, spoil: Spoiler) -> Json | None:
    """Spoil one batch, or those of a list that the fault's match names."""
    if payload.get("object") != "list":
        return spoil(payload, fault.spec)
    batches: list[Json] = payload["data"]
    after = [spoil(batch, fault.spec) if fault.matches(_facts(batch)) else None for batch in batches]
    if not any(after):
        return None
    return payload | {"data": [new or old for new, old in zip(after, batches, strict=True)]}


def _facts(batch: Json) -> Json:
    metadata = object_of(batch.get("metadata")) or {}
    return {"provider_batch_id": batch.get("id"), "metadata_batch_id": metadata.get("batch_id")}


def _regress(batch: Json, spec: Json) -> Json | None:
    to = spec.get("to", "validating")
    now = _ORDER.index(batch["status"]) if batch["status"] in _ORDER else len(_ORDER)
    if _ORDER.index(to) >= now:
        return None
    return batch | dict.fromkeys(_LATER_FIELDS) | {"status": to}


def _unknown(batch: Json, spec: Json) -> Json:
    return batch | {"status": spec.get("status", "paused")}


def _empty_ids(batch: Json, spec: Json) -> Json | None:
    """Only where there is no file: an empty id stands for null, it never hides a file."""
    fields: list[str] = spec.get("fields", ["error_file_id"])
    empty: dict[str, Any] = {name: "" for name in fields if batch.get(name) is None}
    return batch | empty if empty else None


def _miscount(batch: Json, spec: Json) -> Json | None:
    counts: Json = batch["request_counts"]
    wrong = {name: spec[name] for name in counts if name in spec}
    wrong = wrong or {"total": counts["total"] + 1, "completed": counts["completed"] + 1}
    return batch | {"request_counts": counts | wrong} if counts | wrong != counts else None


def _misadd(batch: Json, spec: Json) -> Json | None:
    """The sums move by what the spec says; a field that it names is not there at all, as on older batches."""
    usage: Json | None = batch.get("usage")
    if usage is None:
        return None
    details: Json = usage["input_tokens_details"]
    wrong = usage | {name: usage[name] + spec.get(name, 0) for name in ("input_tokens", "output_tokens")}
    wrong["input_tokens_details"] = {"cached_tokens": details["cached_tokens"] + spec.get("cached_tokens", 0)}
    for name in spec.get("fields", []):
        (wrong["input_tokens_details"] if name == "cached_tokens" else wrong).pop(name)
    return batch | {"usage": wrong} if wrong != usage else None


_SPOILERS: dict[str, Spoiler] = {
    "regress_status": _regress,
    "unknown_status": _unknown,
    "empty_file_ids": _empty_ids,
    "count_mismatch": _miscount,
    "usage_mismatch": _misadd,
}
