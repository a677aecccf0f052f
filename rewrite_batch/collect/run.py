"""`rewrite-batch collect`: reconcile → poll → download → match → parse, evaluate, decide → write → settle → delete.

Order and commit points are here and in `apply` and nowhere else. Threads do HTTP and disk; one thread alone
writes. A run may die at any line: until a batch is settled the next run polls and downloads it again, and what is
decided stays decided.
"""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from rewrite_batch.collect import download, keep
from rewrite_batch.collect.apply import Applier
from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.batch import Alert, Held
from rewrite_batch.collect.doors import Doors
from rewrite_batch.collect.fetch import Fetched, Fetcher, Waiting, in_a_thread
from rewrite_batch.collect.poll import raise_alerts, record, take
from rewrite_batch.collect.result import CollectResult, exit_code_of
from rewrite_batch.collect.settle import delete_settled, pause, pause_for_items, settle
from rewrite_batch.db import Connection, explain
from rewrite_batch.errors import InvariantBroken, LeaseLost, ProviderUnavailable, RewriteBatchError, TryAgain
from rewrite_batch.evaluate.packs import load_lexicon
from rewrite_batch.log import get_log
from rewrite_batch.prices import price_book
from rewrite_batch.provider.client import CODE, Client, require_key
from rewrite_batch.queries import query
from rewrite_batch.reconcile.run import lease_seconds, reconcile
from rewrite_batch.settings import VERSION, Settings

FETCHERS = 4
HEARTBEAT_S = 20.0
LOOK_S = 1.0  # between two looks at whether somebody wants us to stop
LEAVE_S = 2.0

Progress = Callable[[str, int], None]


def collect(
    connection: Connection,
    reader: Connection,
    settings: Settings,
    *,
    run_id: UUID,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda _step, _count: None,
    backoff: Backoff | None = None,
    keep_dir: Path | None = None,
) -> CollectResult:
    """`reader` is a second connection: the next chunk is read and checked on it while this one is written."""
    require_key(settings)  # before anything is leased
    if keep_dir is not None:
        keep.prepare(keep_dir)
    run = CollectRun(connection, reader, settings, run_id, stop, progress, backoff or Backoff(), keep_dir)
    with run.on_record("collect"), Doors(settings) as doors:
        run.tidy_up_after_others()
        run.work(doors)
        with run.timed("delete"):
            gone, left = delete_settled(connection, doors, settings)
        run.result.files_deleted, run.result.files_left = gone, left
    return run.result


class CollectRun:
    def __init__(
        self,
        connection: Connection,
        reader: Connection,
        settings: Settings,
        run_id: UUID,
        stop: Callable[[], bool],
        progress: Progress,
        backoff: Backoff,
        keep_dir: Path | None = None,
    ) -> None:
        self.connection = connection
        self.settings = settings
        self.run_id = run_id
        self.stop = stop
        self.progress = progress
        self.keep_dir = keep_dir
        self.result = CollectResult(run_id)
        self.lease_s = lease_seconds(settings)
        self.deadline = time.monotonic() + settings.run_limits.seconds
        self.in_flight: dict[Future[Fetched | Waiting], Held] = {}
        self.on_disk: list[download.ResultFile] = []
        self.ending = threading.Event()
        self.beaten_at = time.monotonic()
        self.applier = Applier(
            connection,
            reader,
            run_id,
            self.lease_s,
            price_book(settings.price_book),
            backoff,
            load_lexicon(settings.lexicon_dir) if settings.lexicon_dir else None,
            stop,
            self.note,
        )

    @contextmanager
    def on_record(self, command: str) -> Any:
        """The run's own row; whatever happens, leases are given up and the end is noted."""
        names = {
            "run_id": self.run_id,
            "command": command,
            "worker": self.settings.worker,
            "environment": self.settings.environment,
            "version": VERSION,
        }
        self.connection.execute(query("runs/start"), names)
        row = self.connection.execute(query("collect/started_at"), names).fetchone()
        assert row is not None
        self.started_at = row[0]
        try:
            yield
        except BaseException as error:
            with suppress(psycopg.Error):  # what happened is what must be told
                self.finish(exit_code_of(error))
            raise
        self.finish(self.result.exit_code)

    def tidy_up_after_others(self) -> None:
        with self.timed("reconcile"):
            self.result.reconciled = reconcile(self.connection, self.settings, self.run_id, stop=self.stop)
            download.sweep(self.settings.spool_dir, self.settings.run_limits.claim_timeout_s, time.time())

    def work(self, doors: Doors) -> None:
        try:
            self.start_fetching(doors)
            while self.in_flight and not self.stop():
                done, _ = wait(self.in_flight, timeout=LOOK_S, return_when=FIRST_COMPLETED)
                self.beat()
                for future in done:
                    self.handle(self.in_flight.pop(future), future)
                self.start_fetching(doors)
        finally:
            self.leave_fetchers()

    def leave_fetchers(self) -> None:
        """A thread in the middle of a call ends at its next byte, or with the process: it only reads."""
        self.ending.set()
        wait(self.in_flight, timeout=LEAVE_S)
        for file in self.on_disk:
            file.path.unlink(missing_ok=True)
        self.result.stopped = self.result.stopped or bool(self.in_flight)

    def start_fetching(self, doors: Doors) -> None:
        while len(self.in_flight) < FETCHERS and not self.must_end():
            held = self.take()
            if held is None:
                return
            client = doors.to(held.base_url)
            if client is None:
                self.put_off(held, "address_not_allowed", [Alert("address_not_allowed")])
                continue
            self.in_flight[in_a_thread(self.fetcher(client).fetch, held)] = held

    def fetcher(self, client: Client) -> Fetcher:
        grace_s, get_ready = self.settings.collect_grace_s, self.applier.get_ready
        return Fetcher(client, self.settings, grace_s, self.on_bytes, self.on_disk, get_ready)

    def take(self, batch_id: UUID | None = None) -> Held | None:
        held = take(
            self.connection,
            run_id=self.run_id,
            lease_s=self.lease_s,
            run_started_at=self.started_at,
            batch_id=batch_id,
        )
        if held is not None:
            self.result.polled += 1
            self.progress("polled", 1)
        return held

    def handle(self, held: Held, future: "Future[Fetched | Waiting]") -> None:
        """One bad batch never stops another; what could not be done now is done by a later run."""
        found: Fetched | Waiting | None = None
        try:
            found = future.result()
            if isinstance(found, Waiting):
                self.note_waiting(held, found)
            else:
                self.apply(held, found)
        except ProviderUnavailable as error:
            get_log().warning("collect_put_off", batch_id=str(held.batch_id), error_class=type(error).__name__)
            late = (held.since_finished_s or 0.0) > self.settings.collect_grace_s
            self.put_off(held, "provider_unavailable", [Alert("results_unavailable")] if late else [])
        except LeaseLost:
            get_log().warning("lease_lost", batch_id=str(held.batch_id))
            self.result.put_off["lease_lost"] += 1
        except TryAgain:
            self.put_off(held, "stopped")
        except psycopg.Error as error:
            self.note_database_error(held, error)
        except OSError as error:  # the spool's disk is full, or gone
            get_log().error("spool_unusable", batch_id=str(held.batch_id), error_class=type(error).__name__)
            self.put_off(held, "spool_unusable")
        except RewriteBatchError:  # a setting is wrong: it is so for every batch
            raise
        except Exception as error:  # noqa: BLE001  our own defect, met by one batch: the others must not wait for its repair
            get_log().error("defect", batch_id=str(held.batch_id), exc_info=error)
            self.result.broken += 1
            self.put_off(held, "defect", [Alert("defect")])
        finally:
            if isinstance(found, Fetched):
                found.remove()

    def note_waiting(self, held: Held, found: Waiting) -> None:
        waits = found.waits
        with self.timed("record"):
            record(self.connection, held, found.said, run_id=self.run_id, lease_s=self.lease_s, over=False)
        if waits.put_off:
            self.put_off(held, waits.reason, waits.alerts)
            return
        raise_alerts(self.connection, waits.alerts, run_id=self.run_id, batch_id=held.batch_id)
        self.drop_lease(held.batch_id)
        self.result.waiting[waits.reason] += 1
        log = get_log().warning if waits.alerts else get_log().info
        log("batch_waits", batch_id=str(held.batch_id), reason=waits.reason)

    def apply(self, held: Held, found: Fetched) -> None:
        ending = found.ending
        record(self.connection, held, found.said, run_id=self.run_id, lease_s=self.lease_s, over=True)
        raise_alerts(self.connection, ending.alerts, run_id=self.run_id, batch_id=held.batch_id)
        if ending.quota is not None:
            pause(self.connection, held, ending.quota)
        if self.keep_dir is not None:
            keep.keep(self.keep_dir, held.batch_id, found.files)
        with self.timed("apply"):
            written = self.applier.apply(held, found.matched, ending.absent)
        pause_for_items(self.connection, held, written.became, run_id=self.run_id)
        with self.timed("settle"):
            closed = settle(self.connection, held, run_id=self.run_id)
        self.result.add(held, ending.status, written, closed=closed, size=sum(f.size for f in found.files.values()))
        get_log().info("batch_applied", batch_id=str(held.batch_id), items=written.became.total(), state=ending.status)
        if not closed:
            self.put_off(held, "stopped" if self.stop() else "units_busy")

    def put_off(self, held: Held, reason: str, alerts: Iterable[Alert] = ()) -> None:
        raise_alerts(self.connection, alerts, run_id=self.run_id, batch_id=held.batch_id)
        self.drop_lease(held.batch_id)
        self.result.put_off[reason] += 1
        get_log().warning("batch_put_off", batch_id=str(held.batch_id), reason=reason)

    def note_database_error(self, held: Held, error: psycopg.Error) -> None:
        """A rule of the tables that a batch breaks stops that batch, and calls a person. A lost database stops us."""
        plain = explain(error)
        if self.connection.closed or self.applier.reader.closed or not isinstance(plain, (InvariantBroken, TryAgain)):
            raise error
        get_log().error("database_refused", batch_id=str(held.batch_id), error_class=type(error).__name__)
        code = f"sqlstate_{(error.sqlstate or 'none').lower()}"
        rule = error.diag.constraint_name or ""
        broken = isinstance(plain, InvariantBroken)
        self.result.broken += broken
        self.put_off(
            held, code, [Alert("database_refused", (code, *([rule] if CODE.fullmatch(rule) else [])))] if broken else []
        )

    def must_end(self) -> bool:
        if self.stop():
            self.result.stopped = True
            return True
        return time.monotonic() > self.deadline

    def on_bytes(self, count: int) -> None:
        """Called by the threads that download."""
        if self.ending.is_set() or self.stop():
            raise TryAgain("this run is ending: the next one downloads the file again")
        self.progress("bytes", count)

    def note(self, step: str, count: int) -> None:
        self.progress(step, count)
        self.beat()

    def beat(self) -> None:
        """The batches that are being fetched stay ours however long another one takes."""
        if time.monotonic() - self.beaten_at < HEARTBEAT_S or not self.in_flight:
            return
        self.beaten_at = time.monotonic()
        ids = [held.batch_id for held in self.in_flight.values()]
        names = {"batch_ids": ids, "lease_token": self.run_id, "lease_s": self.lease_s}
        self.connection.execute(query("collect/renew"), names)

    def drop_lease(self, batch_id: UUID | None) -> None:
        self.connection.execute(query("collect/drop_leases"), {"lease_token": self.run_id, "batch_id": batch_id})

    def finish(self, exit_code: int) -> None:
        if self.connection.closed:
            return
        self.drop_lease(None)
        names = {"run_id": self.run_id, "exit_code": exit_code, "counts": Jsonb(self.result.counts())}
        self.connection.execute(query("runs/finish"), names)

    @contextmanager
    def timed(self, step: str) -> Any:
        began = time.monotonic()
        try:
            yield
        finally:
            seconds: Any = self.result.seconds
            seconds[step] += time.monotonic() - began
