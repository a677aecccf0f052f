"""`rewrite-batch submit`: reconcile → release stale claims → claim → check, render, group → intent → upload → create →
register.

Order and commit points are here and nowhere else. A run may die at any line: what it claimed and did not send is
released by a later run, what it may have sent is looked up at the provider by a later run, and nothing is paid twice.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from uuid import UUID

from psycopg.types.json import Jsonb

from rewrite_batch.db import Connection, mark_run
from rewrite_batch.errors import InvariantBroken, RewriteBatchError
from rewrite_batch.log import get_log
from rewrite_batch.prices import PriceBook, price_book
from rewrite_batch.provider.client import require_key
from rewrite_batch.queries import query
from rewrite_batch.reconcile import ledger
from rewrite_batch.reconcile.run import reconcile
from rewrite_batch.settings import VERSION, Settings
from rewrite_batch.submit import spool
from rewrite_batch.submit.capacity import read_capacity
from rewrite_batch.submit.check import Refusal, Row
from rewrite_batch.submit.claim import MAX_CLAIM, claim
from rewrite_batch.submit.deliver import Delivery, Progress
from rewrite_batch.submit.draft import Drafts, Waits
from rewrite_batch.submit.prepare import open_drafts
from rewrite_batch.submit.release import release_own, release_stale
from rewrite_batch.submit.result import SubmitResult


def submit(
    connection: Connection,
    settings: Settings,
    *,
    run_id: UUID,
    claimer: Connection | None = None,
    sender: Connection | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda _step, _count: None,
) -> SubmitResult:
    """With connections of their own, a `claimer` takes the next chunk while this one is rendered, and a `sender` sends
    the batches that are finished."""
    run = _Run(connection, claimer, sender, settings, run_id, stop, progress)
    run.start()
    try:
        run.tidy_up_after_others()
        run.work()
    except BaseException as error:
        run.let_go()
        run.finish(exit_code_of(error))
        raise
    run.let_go()
    run.finish(run.result.exit_code)
    return run.result


def exit_code_of(error: BaseException) -> int:
    if isinstance(error, RewriteBatchError):
        return error.exit_code
    return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else InvariantBroken.exit_code


class _Run:
    def __init__(
        self,
        connection: Connection,
        claimer: Connection | None,
        sender: Connection | None,
        settings: Settings,
        run_id: UUID,
        stop: Callable[[], bool],
        progress: Progress,
    ) -> None:
        self.connection = connection
        self.claimer = claimer
        self.sender = sender
        self.settings = settings
        self.run_id = run_id
        self.stop = stop
        self.progress = progress
        self.result = SubmitResult(run_id)
        self.prices: PriceBook = price_book(settings.price_book)
        self.deadline = time.monotonic() + settings.run_limits.seconds
        self.blocked: set[str] = set()
        self.broken: list[UUID] = []

    def start(self) -> None:
        require_key(self.settings)  # before anything is claimed
        names = {
            "run_id": self.run_id,
            "command": "submit",
            "worker": self.settings.worker,
            "environment": self.settings.environment,
            "version": VERSION,
        }
        self.connection.execute(query("runs/start"), names)

    def tidy_up_after_others(self) -> None:
        with self.result.timed("reconcile"):
            self.result.reconciled = reconcile(self.connection, self.settings, self.run_id, stop=self.stop)
            released, poisoned = release_stale(self.connection, self.settings, self.run_id)
            self.result.stale_released, self.result.poisoned = released, poisoned
            spool.sweep(self.settings.spool_dir, self.settings.run_limits.claim_timeout_s, time.time())

    def work(self) -> None:
        capacity = read_capacity(self.connection, self.settings)
        if closed := capacity.is_closed(self.settings):
            self.result.note_wait(closed, 0)
            return
        for model, reason in capacity.blocked().items():
            self.blocked.add(model)
            self.result.note_wait(reason, 0)
        drafts = open_drafts(self.connection, self.settings, capacity, self.prices, self.settings.spool_dir)
        try:
            with self.delivery() as delivery:
                for rows in self.claims(delivery):
                    delivery.get_ready()
                    self.draft(drafts, rows)
                    delivery.hand_over(drafts.take_finished())
                drafts.finish_all()
                delivery.hand_over(drafts.take_finished())
        finally:
            drafts.discard()

    def delivery(self) -> Delivery:
        return Delivery(
            self.sender or self.connection,
            self.settings,
            run_id=self.run_id,
            prices=self.prices,
            result=self.result,
            blocked=self.blocked,
            # What is rendered may take as long again as the run's time; what is then left waits for the next run.
            latest=self.deadline + self.settings.run_limits.seconds,
            stop=self.stop,
            progress=self.progress,
            in_thread=self.sender is not None,
        )

    def claims(self, delivery: Delivery) -> Iterator[list[Row]]:
        """Chunk after chunk, until the queue, the run's jobs, its time or its work is at an end."""
        if self.claimer is None:
            while not self.must_end(delivery) and (rows := self.claim_chunk(self.connection)):
                yield rows
            return
        with ThreadPoolExecutor(1) as pool:
            # In our context, or its log lines would not name the run.
            ahead = pool.submit(copy_context().run, self.claim_chunk, self.claimer)
            while not self.must_end(delivery) and (rows := ahead.result()):
                ahead = pool.submit(copy_context().run, self.claim_chunk, self.claimer)
                yield rows

    def claim_chunk(self, connection: Connection) -> list[Row]:
        room = self.settings.run_limits.jobs - self.result.claimed
        if not room:
            self.result.note_wait("jobs_per_run", 0)
            return []
        with self.result.timed("claim"):
            limit = min(MAX_CLAIM, room)
            rows = claim(connection, run_id=self.run_id, limit=limit, blocked_models=frozenset(self.blocked))
        self.result.claimed += len(rows)
        self.progress("claimed", len(rows))
        return rows

    def must_end(self, delivery: Delivery) -> bool:
        if self.stop():
            self.result.stopped = True
            return True
        if time.monotonic() > self.deadline:
            self.result.note_wait("run_seconds", 0)
            return True
        return delivery.has_given_up

    def draft(self, drafts: Drafts, rows: list[Row]) -> None:
        with self.result.timed("render"):
            said = [answer for row in rows if (answer := self.draft_one(drafts, row)) is not None]
        self.progress("rendered", len(rows) - len(said))
        refused = [answer for answer in said if isinstance(answer, Refusal)]
        if refused:
            self.fail(refused)
        waits = [answer for answer in said if isinstance(answer, Waits)]
        self.blocked.update(wait.model for wait in waits)
        for reason in sorted({wait.reason for wait in waits}):
            jobs = [wait.job_id for wait in waits if wait.reason == reason]
            self.result.note_wait(reason, release_own(self.connection, self.run_id, reason, jobs))

    def draft_one(self, drafts: Drafts, row: Row) -> Refusal | Waits | None:
        """A row over which our own code stumbles must not stop the others, run after run. It spends its claim: some of
        these and it is poison."""
        try:
            return drafts.add(row)
        except (RewriteBatchError, OSError, MemoryError):  # the machine's or the setup's, not the row's
            raise
        except Exception as error:  # noqa: BLE001
            get_log().error("draft_failed", job_id=str(row.job_id), error_class=type(error).__name__)
            self.broken.append(row.job_id)
            return None

    def fail(self, refused: list[Refusal]) -> None:
        with self.connection.transaction():
            mark_run(self.connection, self.run_id)
            self.connection.execute(
                query("submit/fail"),
                {
                    "job_ids": [refusal.job_id for refusal in refused],
                    "reasons": [refusal.reason for refusal in refused],
                    "claim_token": str(self.run_id),
                },
            )
        self.result.failed.update(refusal.reason for refusal in refused)

    def let_go(self) -> None:
        """What this run holds and did not put into a batch waits again. If this fails too, a later run releases it."""
        if self.connection.closed:
            return
        if self.broken:
            ledger.raise_alert(self.connection, kind="draft_failed", key="draft_failed", run_id=self.run_id)
            count = release_own(self.connection, self.run_id, "draft_failed", self.broken, spends_claim=True)
            self.result.note_wait("draft_failed", count)
        released = release_own(self.connection, self.run_id, "run_ended")
        if released:
            self.result.note_wait("run_ended", released)

    def finish(self, exit_code: int) -> None:
        if self.connection.closed:
            return
        names = {"run_id": self.run_id, "exit_code": exit_code, "counts": Jsonb(self.result.counts())}
        self.connection.execute(query("runs/finish"), names)
