"""Tidy: what is left at the provider of batches that are decided. Provider batches that nobody waits for are cancelled,
files that nobody uses are deleted. All of it may be repeated: gone already is done.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from rewrite_batch.db import Connection
from rewrite_batch.provider import batches as provider
from rewrite_batch.provider.batches import ProviderBatch
from rewrite_batch.queries import query
from rewrite_batch.reconcile import ledger
from rewrite_batch.reconcile.doors import Address, Doors
from rewrite_batch.reconcile.result import Reconciled
from rewrite_batch.reconcile.settle import ENDED, billed_key

AT_ONCE = 100


class Doubtful(NamedTuple):
    """A decided batch whose upload or create was once in doubt."""

    batch_id: UUID
    base_url: str | None
    planned_at: datetime
    create_sent_at: datetime | None
    provider_batch_id: str | None
    input_file_id: str | None


class FileLeft(NamedTuple):
    batch_id: UUID
    base_url: str | None
    input_file_id: str | None
    planned_at: datetime


def doubtful(connection: Connection) -> dict[Address, list[Doubtful]]:
    by_address: dict[Address, list[Doubtful]] = {}
    for row in connection.execute(query("reconcile/maybe_orphans")).fetchall():
        one = Doubtful(*row)
        by_address.setdefault(one.base_url, []).append(one)
    return by_address


def cancel_orphans(
    connection: Connection, doors: Doors, run_id: UUID, address: Address, among: list[Doubtful], result: Reconciled
) -> None:
    """A create that we gave up, or a twin, may come through late: it must not run. One that ran is money lost."""
    sent = [one.create_sent_at for one in among if one.create_sent_at]
    ours = {str(one.batch_id): one for one in among}
    for batch in doors.batches(address, min(sent)).batches if sent else ():
        known = ours.get(batch.batch_id or "")
        if known is None or batch.provider_batch_id == known.provider_batch_id:
            continue
        if batch.is_billed:
            key = billed_key(batch)
            ledger.raise_alert(
                connection, kind="orphan_billed", key=key, run_id=run_id, batch_id=known.batch_id, once=True
            )
        if batch.status not in {*ENDED, "completed"} and batch.provider_batch_id not in doors.cancelled:
            _cancel(connection, doors, run_id, address, batch, known)
            result.orphans_cancelled += 1


def _cancel(
    connection: Connection, doors: Doors, run_id: UUID, address: Address, batch: ProviderBatch, known: Doubtful
) -> None:
    doors.cancel(address, batch.provider_batch_id)
    key = f"orphan:{batch.provider_batch_id}"
    ledger.raise_alert(connection, kind="orphan_cancelled", key=key, run_id=run_id, batch_id=known.batch_id)


def delete_copies(doors: Doors, address: Address, among: list[Doubtful], result: Reconciled) -> None:
    """An upload whose answer was lost, and which the list did not show then, left a second file."""
    files = doors.files(address, min(one.planned_at for one in among))
    for one in among:
        for file_id in files.get(provider.file_name(one.batch_id), []):
            if file_id != one.input_file_id:
                provider.delete_file(doors.to(address), file_id, base_s=doors.settings.retry_base_s)
                result.files_deleted += 1


def files_left(connection: Connection) -> list[FileLeft]:
    rows = connection.execute(query("reconcile/files_left"), {"limit": AT_ONCE}).fetchall()
    return [FileLeft(*row) for row in rows]


def delete_files(connection: Connection, doors: Doors, left: FileLeft, result: Reconciled) -> None:
    """Of a batch that was given up: the file we know, and any copy whose upload's answer was lost."""
    connection.execute(query("reconcile/look_at_files"), {"batch_id": left.batch_id})
    copies = doors.files(left.base_url, left.planned_at).get(provider.file_name(left.batch_id), [])
    for file_id in {left.input_file_id, *copies} - {None}:
        provider.delete_file(doors.to(left.base_url), str(file_id), base_s=doors.settings.retry_base_s)
        result.files_deleted += 1
    connection.execute(query("reconcile/mark_files_deleted"), {"batch_id": left.batch_id})
