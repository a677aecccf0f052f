"""Settle: a batch whose items are all decided is closed, once; then its files at the provider go.

The reservation is settled with what the lines cost, and the lines' usage is compared with the provider's own sums,
each kind by itself. A file that cannot be deleted now is left for a later run.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from rewrite_batch.collect.batch import Alert, Held, Quota
from rewrite_batch.collect.doors import Doors
from rewrite_batch.collect.poll import raise_alerts
from rewrite_batch.db import Connection, mark_run
from rewrite_batch.errors import ConfigurationError, LeaseLost, ProviderUnavailable
from rewrite_batch.outcomes import BY_REASON
from rewrite_batch.provider import batches as provider
from rewrite_batch.provider.client import Client
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings

QUOTA_PAUSE_S = 3_600.0
TOKEN_LIMIT_PAUSE_S = 900.0
FILES_AT_ONCE = 100
KINDS = ("input", "cached", "output")  # as collect/settle.sql returns them
DELETERS = 4


def settle(connection: Connection, held: Held, *, run_id: UUID) -> bool:
    """False: some item is still undecided, so the batch stays open."""
    names = {"batch_id": held.batch_id, "lease_token": run_id}
    with connection.transaction():
        mark_run(connection, run_id)
        if connection.execute(query("collect/count_open"), names).fetchone() != (0,):
            return False
        connection.execute(query("collect/settle_reservation"), names)
        closed = connection.execute(query("collect/settle"), names).fetchone()
        if closed is None:
            raise LeaseLost(f"batch {held.batch_id} is another run's by now")
        *differences, unpriced = closed
        alerts: list[Alert] = []
        if any(differences):
            alerts.append(Alert("usage_differs", tuple(_said(differences))))
        if unpriced:
            alerts.append(Alert("unpriced", (f"lines_{unpriced}",)))
        raise_alerts(connection, alerts, run_id=run_id, batch_id=held.batch_id)
    return True


def _said(differences: Iterable[Decimal]) -> Iterator[str]:
    """`cached_less_60`: the lines say sixty tokens less of this kind than the provider's sum."""
    for kind, difference in zip(KINDS, differences, strict=True):
        if difference:
            yield f"{kind}_{'more' if difference > 0 else 'less'}_{abs(difference)}"


def pause(connection: Connection, held: Held, quota: Quota) -> None:
    """No more of this model until later; and what the provider said its limit is, is remembered with its date."""
    if quota.token_limit is not None:
        connection.execute(query("limits/learn"), {"model": held.model, "enqueued_tokens": quota.token_limit})
    learned = quota.reason == "token_limit_exceeded" and quota.token_limit is not None
    seconds = TOKEN_LIMIT_PAUSE_S if learned else QUOTA_PAUSE_S
    connection.execute(query("limits/pause"), {"model": held.model, "seconds": seconds, "reason": quota.reason})


def pause_for_items(connection: Connection, held: Held, became: Counter[tuple[str, str]], *, run_id: UUID) -> None:
    """Single lines may say that the account is out of money: then nothing more of the model is sent for a while."""
    for reason in {reason for _, reason in became if BY_REASON[reason].kind == "quota"}:
        raise_alerts(connection, [Alert(reason)], run_id=run_id, batch_id=held.batch_id)
        pause(connection, held, Quota(reason))


@dataclass
class Deleted:
    gone: int = 0
    left: int = 0
    refused: ConfigurationError | None = None


def delete_settled(connection: Connection, doors: Doors, settings: Settings, stop: Callable[[], bool]) -> Deleted:
    """Files of settled batches, of this run and of earlier ones that could not. Those that are left now come last next
    time, so that a hundred that can never go keep no others there."""
    rows = connection.execute(query("collect/files_left"), {"limit": FILES_AT_ONCE}).fetchall()
    done = Deleted()
    with ThreadPoolExecutor(DELETERS) as pool:
        going: list[tuple[UUID, int, Future[bool]]] = []
        for batch_id, base_url, *named in rows:
            ids = [file_id for file_id in named if file_id]
            client = doors.to(base_url)
            if client is None:
                done.left += len(ids)
                connection.execute(query("reconcile/look_at_files"), {"batch_id": batch_id})
            else:
                going.append((batch_id, len(ids), pool.submit(delete_files, client, ids, settings.retry_base_s, stop)))
        for batch_id, count, gone in going:
            try:
                is_gone = gone.result()
            except ConfigurationError as error:
                is_gone, done.refused = False, error
            step = "reconcile/mark_files_deleted" if is_gone else "reconcile/look_at_files"
            connection.execute(query(step), {"batch_id": batch_id})
            done.gone += count if is_gone else 0
            done.left += 0 if is_gone else count
    return done


def delete_files(client: Client, file_ids: list[str], base_s: float, stop: Callable[[], bool]) -> bool:
    """True when none of them is at the provider any more."""
    with suppress(ProviderUnavailable):
        for file_id in file_ids:
            if stop():
                return False
            provider.delete_file(client, file_id, base_s=base_s)
        return True
    return False
