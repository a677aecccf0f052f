"""Write: the decided rows of one chunk come in; outputs, items, jobs, requests, ledger and outbox are written, together
or not at all.

One transaction of at most MAX_CHUNK units: hold the lease, COPY into a stage, lock the units, apply, finish requests.
An item that is decided already is not among the locked ones, so a repeat writes nothing.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

import psycopg

from rewrite_batch.collect.batch import Held
from rewrite_batch.collect.decide import STAGE_TYPES, StageRow
from rewrite_batch.db import Connection, mark_run
from rewrite_batch.errors import LeaseLost
from rewrite_batch.queries import query

MAX_CHUNK = 1_000
TRIES = 3


@dataclass
class Written:
    """`became` counts (what became of the unit, reason); `busy` are items whose unit somebody else held."""

    became: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    busy: int = 0


def write(
    connection: Connection, held: Held, first: int, rows: list[StageRow], *, run_id: UUID, lease_s: float
) -> Written:
    """`first` is the index at which the chunk begins. A transaction that met another one is made again, whole."""
    for _ in range(TRIES - 1):
        with suppress(psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure):
            return _write_once(connection, held, first, rows, run_id=run_id, lease_s=lease_s)
    return _write_once(connection, held, first, rows, run_id=run_id, lease_s=lease_s)


def _write_once(
    connection: Connection, held: Held, first: int, rows: list[StageRow], *, run_id: UUID, lease_s: float
) -> Written:
    names = {
        "batch_id": held.batch_id,
        "lease_token": run_id,
        "lease_s": lease_s,
        "provider": held.provider,
        "first": first,
        "count": MAX_CHUNK,
    }
    with connection.transaction():
        mark_run(connection, run_id)
        if connection.execute(query("collect/hold"), names).rowcount != 1:
            raise LeaseLost(f"batch {held.batch_id} is another run's by now")
        connection.execute(query("collect/create_stage"))
        connection.execute(query("collect/create_units"))
        _copy(connection, rows)
        locked = connection.execute(query("collect/lock_units"), names).rowcount
        became = connection.execute(query("collect/apply"), names).fetchall()
        connection.execute(query("collect/finish_requests"))
    return Written(Counter({(what, reason): count for what, reason, count in became}), len(rows) - locked)


def _copy(connection: Connection, rows: list[StageRow]) -> None:
    with connection.cursor() as cursor, cursor.copy(query("collect/copy_stage")) as copy:
        copy.set_types(list(STAGE_TYPES.values()))
        for row in rows:
            copy.write_row(row)
