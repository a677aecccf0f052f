"""The database's side of a batch on its way out: adopt it, or give it up. Every write names the lease it is made under.

Each function is one transaction, and harmless when repeated: the second finds another state.
"""

from uuid import UUID

from rewrite_batch.db import Connection, mark_run
from rewrite_batch.errors import InvariantBroken, LeaseLost
from rewrite_batch.provider.batches import ENDPOINT, ProviderBatch
from rewrite_batch.queries import query


def register(
    connection: Connection,
    *,
    batch_id: UUID,
    run_id: UUID,
    item_count: int,
    found: ProviderBatch,
    in_doubt: bool = False,
) -> int:
    """create_sent -> submitted, and all its units -> batch_submitted. Answers how many units moved.

    `in_doubt`: nobody saw the answer of its create, so there may be twins that the provider's list does not show yet.
    """
    names: dict[str, object] = {
        "batch_id": batch_id,
        "lease_token": run_id,
        "provider_batch_id": found.provider_batch_id,
        "provider_status": found.status,
        "endpoint": ENDPOINT,
        "input_file_id": found.input_file_id,
        "job_count": item_count,
        "in_doubt": in_doubt,
    }
    with connection.transaction():
        mark_run(connection, run_id)
        if connection.execute(query("reconcile/register"), names).rowcount != 1:
            raise LeaseLost(f"batch {batch_id} is another run's by now")
        connection.execute(query("reconcile/register_provider_batch"), names)
        moved = connection.execute(query("reconcile/submit_jobs"), names).fetchone()
        if moved is None or (moved[0] != item_count and _leaves_units(connection, names)):
            raise InvariantBroken(f"batch {batch_id}: some of its units are neither in it nor canceled")
    return moved[0]


def _leaves_units(connection: Connection, names: dict[str, object]) -> bool:
    return connection.execute(query("reconcile/count_unmoved"), names).fetchone() != (0,)


def abandon(
    connection: Connection,
    *,
    batch_id: UUID,
    run_id: UUID,
    reason: str,
    spends_claim: bool = False,
    in_doubt: bool = False,
) -> int:
    """The provider does not have it: its units wait again, no attempt spent. Answers how many.

    `spends_claim`: it may be the units' doing (a worker died over them, the provider refused them); some of these and
    they are poison.
    """
    with connection.transaction():
        mark_run(connection, run_id)
        row = connection.execute(
            query("reconcile/abandon"),
            {
                "batch_id": batch_id,
                "lease_token": run_id,
                "reason": reason,
                "claims_given_back": 0 if spends_claim else 1,
                "in_doubt": in_doubt,
            },
        ).fetchone()
    if row is None or row[0] != 1:
        raise LeaseLost(f"batch {batch_id} is another run's by now")
    return row[1]


def renew(connection: Connection, *, batch_id: UUID, run_id: UUID, lease_s: float, bar: bool = False) -> None:
    """Right before a call that cannot be taken back. `bar`: the call deletes the file of a create that nobody saw."""
    names = {"batch_id": batch_id, "lease_token": run_id, "lease_s": lease_s}
    statement = query("reconcile/bar") if bar else query("reconcile/renew_lease")
    if connection.execute(statement, names).rowcount != 1:
        raise LeaseLost(f"batch {batch_id} is another run's by now")


def raise_alert(
    connection: Connection,
    *,
    kind: str,
    key: str,
    run_id: UUID,
    batch_id: UUID | None = None,
    codes: list[str] | None = None,
    once: bool = False,
) -> None:
    """`once`: also when somebody has acknowledged it, it is not raised again under this key."""
    connection.execute(
        query("alerts/raise_once" if once else "alerts/raise"),
        {
            "alert_key": key,
            "kind": kind,
            "run_id": run_id,
            "batch_id": batch_id,
            "batch_item_index": None,
            "job_id": None,
            "codes": codes or [],
        },
    )
