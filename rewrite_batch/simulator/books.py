"""Batches, files and the ledger: the shapes and statements that more than one part of the simulator needs."""

from typing import Any

from rewrite_batch.simulator.jsontext import Json, decode, encode, object_of
from rewrite_batch.simulator.lots import identifier
from rewrite_batch.simulator.results import done_lines
from rewrite_batch.simulator.store import Row, Store

FINAL = ("completed", "failed", "expired", "cancelled")
_TIMES = (
    "in_progress_at",
    "finalizing_at",
    "completed_at",
    "failed_at",
    "expired_at",
    "cancelling_at",
    "cancelled_at",
    "expires_at",
)


def batch_object(row: Row, now: float) -> Json:
    """The batch as the provider shows it at this moment."""
    counts = {"total": row["total"], "completed": row["completed"], "failed": row["failed"]}
    if row["status"] not in FINAL and row["total"]:
        counts["completed"] = done_lines(row["total"], progress(row, now))
    return {
        "id": row["provider_batch_id"],
        "object": "batch",
        "endpoint": row["endpoint"],
        "model": row["model"],
        "errors": _loaded(row["errors"]),
        "input_file_id": row["input_file_id"],
        "completion_window": row["completion_window"],
        "status": row["status"],
        "output_file_id": row["output_file_id"],
        "error_file_id": row["error_file_id"],
        "created_at": int(row["created_at"]),
        **{name: None if row[name] is None else int(row[name]) for name in _TIMES},
        "request_counts": counts,
        "usage": _loaded(row["usage"]),
        "metadata": _loaded(row["metadata"]),
    }


def progress(row: Row, now: float) -> float:
    """The share of a batch's lines that is done at this moment."""
    if row["share"] is not None:
        return float(row["share"])
    if row["in_progress_at"] is None:
        return 0.0
    if not row["progress_s"]:
        return 1.0
    return min(1.0, max(0.0, (now - row["in_progress_at"]) / row["progress_s"]))


def file_object(row: Row) -> Json:
    return {
        "id": row["file_id"],
        "object": "file",
        "bytes": row["bytes"],
        "created_at": int(row["created_at"]),
        "expires_at": None if row["expires_at"] is None else int(row["expires_at"]),
        "filename": row["filename"],
        "purpose": row["purpose"],
        "status": "processed",
        "status_details": None,
    }


def update_batch(store: Store, provider_batch_id: str, **values: Any) -> None:
    """Column names come from the code, values from anywhere."""
    columns = ", ".join(f"{name} = ?" for name in values)
    statement = f"UPDATE batches SET {columns} WHERE provider_batch_id = ?"  # noqa: S608 - keyword names only
    store.run(statement, *values.values(), provider_batch_id)


def find_batch(store: Store, provider_batch_id: str) -> Row | None:
    return store.row("SELECT * FROM batches WHERE provider_batch_id = ?", provider_batch_id)


def find_file(store: Store, file_id: str) -> Row | None:
    return store.row("SELECT * FROM files WHERE file_id = ?", file_id)


def new_id(store: Store, prefix: str, seed: int) -> str:
    """Ids follow from the seed and a counter, so two runs of the same calls name the same things."""
    return identifier(prefix, seed, prefix, store.next_number(f"last {prefix}"))


def insert_file(
    store: Store,
    file_id: str,
    *,
    filename: str,
    purpose: str,
    size: int,
    created_at: float,
    expires_at: float | None,
    key_fingerprint: str,
) -> None:
    store.run(
        "INSERT INTO files (file_id, filename, purpose, bytes, created_at, expires_at, key_fingerprint)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        file_id,
        filename,
        purpose,
        size,
        created_at,
        expires_at,
        key_fingerprint,
    )


def bill(store: Store, rows: list[tuple[Any, ...]]) -> None:
    store.run_many(
        "INSERT INTO ledger (provider_batch_id, custom_id, response_id, model, input_tokens, cached_tokens,"
        " cache_write_tokens, output_tokens, reasoning_tokens, billed_at, key_fingerprint, response_status)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


def metadata_batch_id(row: Row | None) -> str | None:
    """The caller's own batch id, by which faults can be matched."""
    metadata = object_of(_loaded(row["metadata"])) if row else None
    return (metadata or {}).get("batch_id")


def dumped(value: object) -> str | None:
    return None if value is None else encode(value).decode()


def _loaded(text: str | None) -> object:
    return None if text is None else decode(text.encode())
