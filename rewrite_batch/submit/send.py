"""Send: a batch on record comes in; it leaves registered with the provider, given up, or undecided.

upload → commit `create_sent` → look at the lease once more → create, one POST → register. Each step is recorded
before the next. What cannot be decided here is left in `create_sent` for reconcile, and never created again at once.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from rewrite_batch.db import Connection
from rewrite_batch.errors import ConfigurationError, LeaseLost, ProviderRefused, ProviderUnavailable, SpoolFailed
from rewrite_batch.log import get_log
from rewrite_batch.provider import batches as provider
from rewrite_batch.provider.batches import Uploaded
from rewrite_batch.provider.client import Client, is_redirect
from rewrite_batch.queries import query
from rewrite_batch.reconcile import ledger
from rewrite_batch.settings import Settings
from rewrite_batch.submit.intent import Planned
from rewrite_batch.submit.spool import verified

QUOTA_PAUSE_S = 3_600.0
RATE_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3_600.0  # whatever the provider asks for: then it is asked again
# A passing condition that needs nobody.
NO_ALERT = {"rate_limited", "provider_unreachable"}

NotCreated = ProviderUnavailable | ConfigurationError | SpoolFailed


@dataclass(frozen=True)
class Sent:
    outcome: Literal["registered", "waits", "undecided"]
    reason: str = ""
    provider_batch_id: str | None = None


def send(
    connection: Connection,
    client: Client,
    planned: Planned,
    *,
    run_id: UUID,
    settings: Settings,
    lease_s: float,
    progress: Callable[[str, int], None],
) -> Sent:
    lease = {"batch_id": planned.batch_id, "lease_token": run_id, "lease_s": lease_s}
    try:
        uploaded = _upload(client, planned, settings)
    except (ProviderUnavailable, ConfigurationError, SpoolFailed) as error:
        return _not_created(connection, planned, run_id, error)
    noted = {**lease, "input_file_id": uploaded.file_id, "in_doubt": uploaded.in_doubt}
    if connection.execute(query("submit/mark_uploaded"), noted).rowcount != 1:
        return _lost(client, planned, uploaded.file_id, settings)
    progress("uploaded", len(planned.units))
    if connection.execute(query("submit/mark_create_sent"), lease).rowcount != 1:
        return _lost(client, planned, uploaded.file_id, settings)
    if not _still_held(connection, lease):
        return _undecided(planned, "lease_lost")
    try:
        made = provider.create(
            client, input_file_id=uploaded.file_id, batch_id=planned.batch_id, environment=settings.environment
        )
    except (ProviderRefused, ConfigurationError) as error:
        return _not_created(connection, planned, run_id, error)
    except ProviderUnavailable:
        connection.execute(query("submit/drop_lease"), lease)
        return _undecided(planned, "create_undecided")
    try:
        ledger.register(connection, batch_id=planned.batch_id, run_id=run_id, item_count=len(planned.units), found=made)
    except LeaseLost:  # and it is paid for: whoever has the batch by now finds it at the provider
        return _undecided(planned, "lease_lost")
    return Sent("registered", provider_batch_id=made.provider_batch_id)


def _upload(client: Client, planned: Planned, settings: Settings) -> Uploaded:
    with verified(planned.path, size=planned.size, crc32=planned.crc32) as source:
        return provider.upload(client, source, planned.batch_id, base_s=settings.retry_base_s)


def _still_held(connection: Connection, lease: Mapping[str, object]) -> bool:
    """Right before the paid call: a run that slept while another took its batch must not make it."""
    return connection.execute(query("submit/holds_lease"), lease).rowcount == 1


def _undecided(planned: Planned, reason: str) -> Sent:
    get_log().warning(reason, batch_id=str(planned.batch_id))
    return Sent("undecided", reason)


def _lost(client: Client, planned: Planned, file_id: str, settings: Settings) -> Sent:
    """Somebody else has the batch and will give it up, for it was never sent; the file that we uploaded is nobody's."""
    with suppress(ProviderUnavailable):  # then whoever gave the batch up finds it by its name
        provider.delete_file(client, file_id, base_s=settings.retry_base_s)
    return _undecided(planned, "lease_lost")


def _not_created(connection: Connection, planned: Planned, run_id: UUID, error: NotCreated) -> Sent:
    """A definite no: the units wait again. The provider's reason decides whether their model pauses.

    Pause and alert are true whatever became of our lease, so they are committed by themselves.
    """
    reason = _reason(error)
    _pause(connection, planned, run_id, error, reason)
    if reason not in NO_ALERT:
        _alert(connection, planned, run_id, reason)
    get_log().warning("not_created", batch_id=str(planned.batch_id), reason=reason)
    try:
        ledger.abandon(
            connection,
            batch_id=planned.batch_id,
            run_id=run_id,
            reason=reason,
            spends_claim=reason == "create_refused",
            in_doubt=isinstance(error, ProviderUnavailable) and not isinstance(error, ProviderRefused),
        )
    except LeaseLost:
        return _undecided(planned, "lease_lost")
    if isinstance(error, ConfigurationError):
        raise error
    return Sent("waits", reason)


def _pause(connection: Connection, planned: Planned, run_id: UUID, error: NotCreated, reason: str) -> None:
    if not isinstance(error, ProviderRefused) or error.status != 429:
        return
    asked = QUOTA_PAUSE_S if reason == "insufficient_quota" else error.retry_after_s or RATE_PAUSE_S
    seconds = min(asked, LONGEST_PAUSE_S)
    connection.execute(query("limits/pause"), {"model": planned.model, "seconds": seconds, "reason": reason})
    get_log().warning("paused", model=planned.model, reason=reason, seconds=round(seconds))
    if asked > LONGEST_PAUSE_S:
        _alert(connection, planned, run_id, "long_retry_after")


def _alert(connection: Connection, planned: Planned, run_id: UUID, kind: str) -> None:
    key = f"{kind}:{planned.model}"
    ledger.raise_alert(connection, kind=kind, key=key, run_id=run_id, batch_id=planned.batch_id)


def _reason(error: NotCreated) -> str:
    if isinstance(error, SpoolFailed):
        return "spool_failed"
    if isinstance(error, ConfigurationError):
        return "key_refused"
    if error.code == "insufficient_quota":
        return "insufficient_quota"
    if error.status == 429:
        return "rate_limited"
    if is_redirect(error.status):
        return "provider_redirects"
    return "create_refused" if error.status in {400, 404, 413, 422} else "provider_unreachable"
