"""Intent: a rendered batch comes in; it is on record, with its items and its reservation, before anything is sent.

One transaction. It holds the capacity lock, so that any number of submitters together stay within the limits, and it
goes through only if this run still holds every unit. Nothing is written otherwise.
"""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from rewrite_batch.db import Connection, mark_run
from rewrite_batch.errors import LeaseLost
from rewrite_batch.provider.batches import ENDPOINT
from rewrite_batch.provider.client import TRIES
from rewrite_batch.queries import query
from rewrite_batch.settings import INTENT_WAIT_S, Settings
from rewrite_batch.submit.capacity import read_capacity
from rewrite_batch.submit.group import Unit

# Bytes a second: below that, an upload that is still under way may be taken for dead, and its work is done again.
SLOWEST_UPLOAD = 500_000
STAGE_TYPES = ["int4", "uuid", "uuid", "uuid", "text", "text", "text", "int4", "int4", "int4", "int4"]


@dataclass(frozen=True)
class Planned:
    """A batch whose file is on disk."""

    batch_id: UUID
    units: list[Unit]
    base_url: str | None
    path: Path
    sha256: str
    crc32: int
    size: int
    reserved_usd: Decimal | None

    @property
    def provider(self) -> str:
        return self.units[0].key.provider

    @property
    def model(self) -> str:
        return self.units[0].key.model

    @property
    def input_tokens(self) -> int:
        return sum(unit.input_tokens for unit in self.units)

    @property
    def output_tokens(self) -> int:
        return sum(unit.output_tokens for unit in self.units)


def write_intent(
    connection: Connection, planned: Planned, *, run_id: UUID, settings: Settings, lease_s: float
) -> str | None:
    """None when it is written; else why the batch must wait."""
    with connection.transaction():
        mark_run(connection, run_id)
        # Before the lock: while we feed a COPY, a process that freezes would hold it, and every submitter wait.
        _stage_items(connection, planned)
        connection.execute("SELECT set_config('lock_timeout', %s, true)", [f"{INTENT_WAIT_S}s"])
        connection.execute(query("submit/lock_capacity"))
        waits = read_capacity(connection, settings).refuses(
            settings, model=planned.model, tokens=planned.input_tokens, usd=planned.reserved_usd
        )
        if waits:
            return waits
        connection.execute(query("submit/insert_batch"), _batch(planned, run_id, settings, lease_s))
        _insert_items(connection, planned, run_id)
        connection.execute(
            query("submit/insert_reservation"),
            {
                "batch_id": planned.batch_id,
                "model": planned.model,
                "reserved_tokens": planned.input_tokens,
                "reserved_usd": planned.reserved_usd,
            },
        )
    return None


def _stage_items(connection: Connection, planned: Planned) -> None:
    connection.execute(query("submit/create_stage"))
    with connection.cursor() as cursor, cursor.copy(query("submit/copy_stage")) as copy:
        copy.set_types(STAGE_TYPES)
        texts = {key: key.text for key in {unit.key for unit in planned.units}}
        for index, unit in enumerate(planned.units):
            copy.write_row(
                (
                    index, unit.job_id, unit.rewrite_request_id, unit.recipient_user_id, texts[unit.key],
                    unit.key.source_locale, unit.key.target_locale, unit.attempt, unit.input_chars, unit.input_tokens,
                    unit.output_tokens,
                )
            )  # fmt: skip


def _insert_items(connection: Connection, planned: Planned, run_id: UUID) -> None:
    names = {"batch_id": planned.batch_id, "claim_token": str(run_id)}
    inserted = connection.execute(query("submit/insert_items"), names).rowcount
    if inserted != len(planned.units):
        raise LeaseLost(f"batch {planned.batch_id}: this run no longer holds all of its units")


def _batch(planned: Planned, run_id: UUID, settings: Settings, lease_s: float) -> dict[str, object]:
    keys = {unit.key for unit in planned.units}
    one = next(iter(keys)) if len(keys) == 1 else None  # several groups in a packed file: the items keep theirs
    first = planned.units[0].key
    return {
        "batch_id": planned.batch_id,
        "run_id": run_id,
        "environment": settings.environment,
        "batch_group_key": one.text if one else f"packed|{first.provider}|{first.model}",
        "provider": first.provider,
        "model": first.model,
        "prompt_version": one and one.prompt_version,
        "policy_version": one and one.policy_version,
        "execution_mode": one and one.execution_mode,
        "lane": one and one.lane,
        "source_locale": one and one.source_locale,
        "target_locale": one and one.target_locale,
        "endpoint": ENDPOINT,
        # Where it really goes: settings may be others when somebody looks for it.
        "base_url": planned.base_url or settings.provider_address,
        "item_count": len(planned.units),
        "estimated_input_tokens": planned.input_tokens,
        "estimated_output_tokens": planned.output_tokens,
        "input_sha256": planned.sha256,
        "input_bytes": planned.size,
        "lease_s": lease_s + TRIES * planned.size / SLOWEST_UPLOAD,
    }
