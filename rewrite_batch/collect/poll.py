"""Poll: takes one batch at a time under a lease by the database's clock, and records what the provider says of it.

Each function is one statement or one transaction, and harmless when repeated.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from rewrite_batch.collect.batch import ENDED, RANK, Alert, Held
from rewrite_batch.db import Connection
from rewrite_batch.errors import LeaseLost
from rewrite_batch.provider.results import Standing
from rewrite_batch.queries import query

# The contract's registry knows four states.
_REGISTRY = {"validating": "pending", "completed": "completed", **dict.fromkeys(ENDED - {"completed"}, "failed")}


def take(
    connection: Connection, *, run_id: UUID, lease_s: float, run_started_at: datetime, batch_id: UUID | None = None
) -> Held | None:
    """The next batch that this run has not looked at, now under its lease; None when there is none."""
    names = {"lease_token": run_id, "lease_s": lease_s, "run_started_at": run_started_at, "batch_id": batch_id}
    row = connection.execute(query("collect/take"), names).fetchone()
    return Held(*row) if row else None


def record(
    connection: Connection, held: Held, said: Standing | None, *, run_id: UUID, lease_s: float, over: bool
) -> None:
    """`over`: it counts as ended, whatever is said. A status that is earlier than the one on record is no news."""
    known = held.provider_status
    status = said.status if said is not None else known
    if known in RANK and RANK.get(status or "", -1) < RANK[known]:
        status = known
    ended = over or (said is not None and said.status in ENDED)
    names = {
        "batch_id": held.batch_id,
        "lease_token": run_id,
        "lease_s": lease_s,
        "ended": ended,
        "provider_status": status,
        "provider_batch_id": held.provider_batch_id,
        "registry_status": _REGISTRY.get(status or "", "failed" if over else "processing"),
        "output_file_id": said and said.output_file_id,
        "error_file_id": said and said.error_file_id,
        "input_tokens": said and said.input_tokens,
        "cached_tokens": said and said.cached_tokens,
        "output_tokens": said and said.output_tokens,
    }
    with connection.transaction():
        if connection.execute(query("collect/record"), names).fetchone() is None:
            raise LeaseLost(f"batch {held.batch_id} is another run's by now")
        connection.execute(query("collect/advance"), names)


def raise_alerts(connection: Connection, alerts: Iterable[Alert], *, run_id: UUID, batch_id: UUID) -> None:
    """One alert a kind and batch, until somebody acknowledges it."""
    for alert in alerts:
        names = {
            "alert_key": f"{alert.kind}:{batch_id}",
            "kind": alert.kind,
            "run_id": run_id,
            "batch_id": batch_id,
            "batch_item_index": None,
            "job_id": None,
            "codes": list(alert.codes),
        }
        connection.execute(query("alerts/raise"), names)
