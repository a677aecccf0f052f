"""One call as the work sees it, and the record of every call, also of those that a fault swallowed."""

import hashlib
from dataclasses import dataclass, field

from rewrite_batch.simulator.books import find_batch, metadata_batch_id
from rewrite_batch.simulator.faults import Fault
from rewrite_batch.simulator.jsontext import Json, object_of
from rewrite_batch.simulator.store import Store


def _nothing() -> Json:
    return {}


@dataclass
class Call:
    operation: str
    target: str | None
    key_fingerprint: str
    seq: int
    began: float
    body: Json = field(default_factory=_nothing)
    query: dict[str, str] = field(default_factory=dict[str, str])
    # A fault that the work itself carries out; it says so here.
    fault: Fault | None = None
    carried_out: bool = False

    def argument(self, kind: str, name: str, default: float) -> float | None:
        """The argument of the fault of this kind, if it fell on this call."""
        if self.fault is None or self.fault.kind != kind:
            return None
        return float(self.fault.spec.get(name, default))


def fingerprint(api_key: str) -> str:
    return hashlib.sha256(api_key.encode()).hexdigest()[:12]


def facts(store: Store, call: Call) -> Json:
    """What a fault's `match` is compared with."""
    known: Json = {}
    row = None
    if call.operation.startswith("batches.") and call.target:
        known["provider_batch_id"] = call.target
        row = find_batch(store, call.target)
    elif call.operation.startswith("files.") and call.target:
        known["file_id"] = call.target
        row = store.row("SELECT * FROM batches WHERE ? IN (input_file_id, output_file_id, error_file_id)", call.target)
    if row is not None:
        known["provider_batch_id"] = row["provider_batch_id"]
        known["metadata_batch_id"] = metadata_batch_id(row)
    if call.operation == "batches.create":
        known["file_id"] = call.body.get("input_file_id")
        known["metadata_batch_id"] = (object_of(call.body.get("metadata")) or {}).get("batch_id")
    return known


def begin(store: Store, operation: str, target: str | None, at: float, key_fingerprint: str | None) -> int:
    found = store.row(
        "INSERT INTO calls (operation, target, at, key_fingerprint) VALUES (?, ?, ?, ?) RETURNING seq",
        operation,
        target,
        at,
        key_fingerprint,
    )
    assert found is not None
    return int(found["seq"])


def end(store: Store, seq: int, status: int | None, fault: Fault | None) -> None:
    store.run(
        "UPDATE calls SET status = ?, fault_id = ? WHERE seq = ?",
        status,
        fault.fault_id if fault else None,
        seq,
    )
