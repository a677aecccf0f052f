"""Settle: a batch that an earlier run left comes in, under our lease; it leaves adopted, given up, or waiting.

Never sent (`planned`, `uploaded`): given up; the units wait again. Perhaps sent (`create_sent`): the provider's list
decides. One provider batch with our id, or over our file: it is ours, adopt it. Several: adopt one, cancel the others,
alert. None: not yet an answer — only when the client's timeout and a grace have passed, and the list still has none, is
it given up. First its input file is deleted: a create that arrives later than anything we waited for then finds no
file, fails in validation, and bills nothing.

A list that cannot be read is never "is not there". Nor is the list of another account: the file that we uploaded must
be there, or the key is another one, and nothing is decided.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from rewrite_batch.db import Connection
from rewrite_batch.errors import WrongAccount
from rewrite_batch.log import get_log
from rewrite_batch.provider import batches as provider
from rewrite_batch.provider.batches import ProviderBatch
from rewrite_batch.queries import query
from rewrite_batch.reconcile import ledger
from rewrite_batch.reconcile.doors import Doors
from rewrite_batch.reconcile.result import Reconciled
from rewrite_batch.settings import Settings

ENDED = frozenset({"failed", "cancelled", "cancelling", "expired"})


@dataclass(frozen=True)
class Left:
    """A batch that an earlier run left, now under our lease."""

    batch_id: UUID
    state: str
    base_url: str | None
    input_file_id: str | None
    item_count: int
    planned_at: datetime
    create_sent_at: datetime | None
    since_create_s: float | None
    is_barred: bool  # its file was seen in this account, and is being deleted


def lease_seconds(settings: Settings) -> float:
    """Long enough for three tries of the slowest step, two calls each, and the pauses between them."""
    return 6 * settings.provider_timeout_s + 120


def settle(connection: Connection, doors: Doors, run_id: UUID, left: Left, result: Reconciled) -> None:
    try:
        if left.state != "create_sent":
            _give_up(connection, run_id, left, "never_sent", result)
            return
        assert left.create_sent_at is not None
        assert left.since_create_s is not None
        listed = doors.batches(left.base_url, left.create_sent_at)
        found = _ours(listed.batches, left)
        if found:
            _adopt(connection, doors, run_id, left, found, result)
        # How long after the create the list was read: it may be from earlier in this pass.
        elif left.since_create_s - listed.age_s < doors.settings.provider_timeout_s + doors.settings.create_grace_s:
            result.waiting += 1
        else:
            _bar_the_door(connection, doors, run_id, left)
            _give_up(connection, run_id, left, "never_created", result)
    finally:
        # Adopted or given up, there is no lease any more; undecided, the next run may look at once.
        connection.execute(query("submit/drop_lease"), {"batch_id": left.batch_id, "lease_token": run_id})


def _ours(listed: list[ProviderBatch], left: Left) -> list[ProviderBatch]:
    return [
        batch
        for batch in listed
        if batch.batch_id == str(left.batch_id) or (left.input_file_id and batch.input_file_id == left.input_file_id)
    ]


def _adopt(
    connection: Connection, doors: Doors, run_id: UUID, left: Left, found: list[ProviderBatch], result: Reconciled
) -> None:
    """The others are cancelled first: after a crash they are still found."""
    chosen = min(found, key=_rank)  # of equals the first, and they come oldest first
    for twin in found:
        if twin is chosen:
            continue
        if twin.is_billed:
            ledger.raise_alert(
                connection, kind="twin_billed", key=billed_key(twin), run_id=run_id, batch_id=left.batch_id, once=True
            )
        if twin.status not in {*ENDED, "completed"}:
            _cancel_twin(connection, doors, run_id, left, twin)
            result.twins_cancelled += 1
    ledger.register(
        connection, batch_id=left.batch_id, run_id=run_id, item_count=left.item_count, found=chosen, in_doubt=True
    )
    result.adopted += 1
    get_log().info("adopted", batch_id=str(left.batch_id), provider_batch_id=chosen.provider_batch_id)


def _rank(batch: ProviderBatch) -> int:
    """What is paid for first, then what can still give results, then what may hold some."""
    if batch.status == "completed":
        return 0
    if batch.status not in ENDED:
        return 1
    return 2 if batch.is_billed else 3


def billed_key(batch: ProviderBatch) -> str:
    return f"billed:{batch.provider_batch_id}"


def _cancel_twin(connection: Connection, doors: Doors, run_id: UUID, left: Left, twin: ProviderBatch) -> None:
    ledger.renew(connection, batch_id=left.batch_id, run_id=run_id, lease_s=lease_seconds(doors.settings))
    doors.cancel(left.base_url, twin.provider_batch_id)
    key = f"twin:{twin.provider_batch_id}"
    ledger.raise_alert(connection, kind="twin_cancelled", key=key, run_id=run_id, batch_id=left.batch_id)


def _bar_the_door(connection: Connection, doors: Doors, run_id: UUID, left: Left) -> None:
    """Deletes the input file, and any copy of it; each time only while the batch is still ours."""
    assert left.input_file_id is not None
    client, base_s = doors.to(left.base_url), doors.settings.retry_base_s
    if not left.is_barred and not provider.has_file(client, left.input_file_id, base_s=base_s):
        _check_that_nobody_waits(connection, left)
    copies = doors.files(left.base_url, left.planned_at).get(provider.file_name(left.batch_id), [])
    for file_id in {left.input_file_id, *copies}:
        ledger.renew(connection, batch_id=left.batch_id, run_id=run_id, lease_s=lease_seconds(doors.settings), bar=True)
        provider.delete_file(client, file_id, base_s=base_s)


def _check_that_nobody_waits(connection: Connection, left: Left) -> None:
    """The file is not in this account. Once an administrator has canceled the units, nothing can be paid twice."""
    if connection.execute(query("reconcile/carries_units"), {"batch_id": left.batch_id}).fetchone() != (False,):
        raise WrongAccount(
            f"batch {left.batch_id}: the provider does not know the file that was sent, so this key sees another "
            "account: set the key that was used; or, if it is certain that nothing runs there, cancel the batch"
        )


def _give_up(connection: Connection, run_id: UUID, left: Left, reason: str, result: Reconciled) -> None:
    died = left.state != "create_sent"  # before the call there is no other way to leave a batch
    result.units_released += ledger.abandon(
        connection, batch_id=left.batch_id, run_id=run_id, reason=reason, spends_claim=died, in_doubt=not died
    )
    result.abandoned += 1
    get_log().info("abandoned", batch_id=str(left.batch_id), reason=reason)
