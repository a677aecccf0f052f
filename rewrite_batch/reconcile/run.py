"""Reconcile: what earlier runs left before the provider had it for certain → settled, one batch at a time; then what is
left at the provider → cancelled, deleted.

Used by submit and by collect. Each batch is taken over by itself, so that no lease grows old behind a slow one, and the
one that nobody has looked at for longest comes first. It ends when asked to, and after half a run's time at the latest;
a later run goes on. One bad batch never stops another, nor new work: it is counted as broken, with an alert. Settings
with which no call can succeed are raised at the end.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID

from rewrite_batch.db import Connection, plain_errors
from rewrite_batch.errors import (
    AddressNotAllowed,
    ConfigurationError,
    InvariantBroken,
    LeaseLost,
    ProviderRefused,
    ProviderUnavailable,
    TryAgain,
    WrongAccount,
)
from rewrite_batch.log import get_log
from rewrite_batch.queries import query
from rewrite_batch.reconcile import ledger, tidy
from rewrite_batch.reconcile.doors import Address, Doors
from rewrite_batch.reconcile.result import Reconciled
from rewrite_batch.reconcile.settle import Left, lease_seconds, settle
from rewrite_batch.settings import Settings

__all__ = ["Reconciled", "lease_seconds", "reconcile"]

ABOUT_ONE_BATCH = {400, 404, 409, 422}


def reconcile(
    connection: Connection, settings: Settings, run_id: UUID, *, stop: Callable[[], bool] = lambda: False
) -> Reconciled:
    with ExitStack() as held:
        look_back = {url: since for url, since in connection.execute(query("reconcile/look_back")).fetchall() if since}
        work = _Pass(connection, Doors(settings, held, look_back), run_id, stop)
        work.settle_what_was_left()
        work.tidy_up()
    if work.unusable:
        raise work.unusable
    return work.result


class _Pass:
    def __init__(self, connection: Connection, doors: Doors, run_id: UUID, stop: Callable[[], bool]) -> None:
        self.connection = connection
        self.doors = doors
        self.run_id = run_id
        self.stop = stop
        self.deadline = time.monotonic() + doors.settings.run_limits.seconds / 2
        self.result = Reconciled()
        self.unusable: ConfigurationError | None = None

    def settle_what_was_left(self) -> None:
        for left in self.left():
            self.guarded(
                left.batch_id,
                left.base_url,
                lambda left=left: settle(self.connection, self.doors, self.run_id, left, self.result),
            )

    def left(self) -> Iterator[Left]:
        names: dict[str, Any] = {"lease_token": self.run_id, "lease_s": lease_seconds(self.doors.settings)}
        seen: list[UUID] = []
        while not self.must_end():
            names |= {"seen": seen, "closed": self.doors.closed}
            row = self.connection.execute(query("reconcile/take_over"), names).fetchone()
            if row is None:
                return
            seen.append(row[0])
            yield Left(*row)

    def tidy_up(self) -> None:
        for address, among in tidy.doubtful(self.connection).items():
            if self.must_end():
                return
            self.guarded(
                among[0].batch_id, address, lambda address=address, among=among: self.tidy_address(address, among)
            )
        for file in tidy.files_left(self.connection):
            if self.must_end():
                return
            self.guarded(
                file.batch_id,
                file.base_url,
                lambda file=file: tidy.delete_files(self.connection, self.doors, file, self.result),
            )

    def tidy_address(self, address: Address, among: list[tidy.Doubtful]) -> None:
        tidy.cancel_orphans(self.connection, self.doors, self.run_id, address, among, self.result)
        tidy.delete_copies(self.doors, address, among, self.result)

    def must_end(self) -> bool:
        return self.stop() or time.monotonic() > self.deadline

    def guarded(self, batch_id: UUID, address: Address, step: Callable[[], Any]) -> None:
        """What could not be decided now is decided by a later run. Only a lost database ends the pass."""
        try:
            with plain_errors():
                step()
        except LeaseLost:
            get_log().warning("lease_lost", batch_id=str(batch_id))
        except (AddressNotAllowed, WrongAccount) as error:
            kind = "wrong_account" if isinstance(error, WrongAccount) else "address_not_allowed"
            self.put_off(batch_id, error)
            self.alert(kind, f"{kind}:{batch_id}", batch_id)
        except TryAgain as error:
            if self.connection.closed:
                raise
            self.put_off(batch_id, error)
            if _is_about_the_address(error):
                self.doors.close(address)
        except (ConfigurationError, InvariantBroken) as error:
            get_log().error("reconcile_failed", batch_id=str(batch_id), error_class=type(error).__name__)
            if isinstance(error, ConfigurationError):
                self.unusable = error
                self.doors.close(address)  # the key is refused: asking again is no use
            else:
                self.result.broken += 1
            self.alert("reconcile_failed", f"reconcile_failed:{batch_id}", batch_id)

    def put_off(self, batch_id: UUID, error: TryAgain | AddressNotAllowed) -> None:
        self.result.unreadable += 1
        get_log().warning("reconcile_put_off", batch_id=str(batch_id), error_class=type(error).__name__)

    def alert(self, kind: str, key: str, batch_id: UUID) -> None:
        ledger.raise_alert(self.connection, kind=kind, key=key, run_id=self.run_id, batch_id=batch_id)


def _is_about_the_address(error: TryAgain) -> bool:
    if not isinstance(error, ProviderUnavailable):
        return False
    return not (isinstance(error, ProviderRefused) and error.status in ABOUT_ONE_BATCH)
