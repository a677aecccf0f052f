"""Deliver: finished drafts come in; each leaves registered with the provider, put back, or undecided.

With a connection of its own, one thread delivers batch after batch while the run goes on claiming and rendering the
next; without one it all happens in turn.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from contextvars import copy_context
from datetime import UTC, datetime
from types import TracebackType
from typing import Self
from uuid import UUID

from rewrite_batch.db import Connection
from rewrite_batch.errors import LeaseLost
from rewrite_batch.log import get_log
from rewrite_batch.prices import PriceBook
from rewrite_batch.provider.client import Client, provider_client
from rewrite_batch.reconcile.run import lease_seconds
from rewrite_batch.settings import Settings
from rewrite_batch.stop import Stopped
from rewrite_batch.submit.draft import Draft
from rewrite_batch.submit.intent import Planned, write_intent
from rewrite_batch.submit.release import release_own
from rewrite_batch.submit.result import SubmitResult, described
from rewrite_batch.submit.send import Sent, send

FAILURES_IN_A_ROW = 2
LAST_WAIT_S = 1.0

Progress = Callable[[str, int], None]


class Delivery:
    """Leave it as a context manager: it waits for what is being sent, and raises what went wrong there."""

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        *,
        run_id: UUID,
        prices: PriceBook,
        result: SubmitResult,
        blocked: set[str],
        latest: float,
        stop: Callable[[], bool],
        progress: Progress,
        in_thread: bool,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._run_id = run_id
        self._prices = prices
        self._result = result
        self._blocked = blocked  # shared with the run: models of which no more is claimed
        self._latest = latest
        self._stop = stop
        self._progress = progress
        self._lease_s = lease_seconds(settings)
        self._held = ExitStack()
        self._doors: dict[str | None, Client] = {}
        self._failures_in_a_row = 0
        self._broken = False
        self._pool = ThreadPoolExecutor(1) if in_thread else None
        self._pending: list[Future[None]] = []

    @property
    def has_given_up(self) -> bool:
        return self._broken or self._failures_in_a_row >= FAILURES_IN_A_ROW

    def get_ready(self) -> None:
        """The provider's package takes a second to load: beside the first claims, once there is something to send."""
        if self._pool and not self._doors:
            self._pool.submit(self._door, None)

    def hand_over(self, drafts: list[Draft]) -> None:
        for draft in drafts:
            if self._pool:
                # In our context, or its log lines would not name the run.
                self._pending.append(self._pool.submit(copy_context().run, self._deliver, draft))
            else:
                self._deliver(draft)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._broken = self._broken or error is not None  # what is not begun is not begun any more
        try:
            self._end(at_once=isinstance(error, Stopped))
        except Stopped:
            self._broken = True
            self._end(at_once=True)
            raise
        if error is None:
            for done in self._pending:
                done.result()

    def _end(self, *, at_once: bool) -> None:
        """At once: a statement that runs is canceled, and a call that hangs is left to the end of the process."""
        if self._pool and at_once:
            self._connection.cancel_safe(timeout=LAST_WAIT_S)
            wait(self._pending, timeout=LAST_WAIT_S)
            self._pool.shutdown(wait=False, cancel_futures=True)
            return
        if self._pool:
            self._pool.shutdown(wait=True)
        self._held.close()

    def _deliver(self, draft: Draft) -> None:
        assert draft.writer is not None
        with draft.writer:  # its file goes, however this ends
            if self._stop() or self.has_given_up or time.monotonic() > self._latest:
                return
            try:
                self._intend_and_send(self._planned(draft))
            except BaseException:
                self._broken = True
                raise

    def _planned(self, draft: Draft) -> Planned:
        assert draft.writer is not None
        first = draft.units[0]
        tokens_in, tokens_out = sum(u.input_tokens for u in draft.units), sum(u.output_tokens for u in draft.units)
        return Planned(
            batch_id=draft.batch_id,
            units=draft.units,
            base_url=first.base_url,
            path=draft.writer.path,
            sha256=draft.writer.sha256(),
            crc32=draft.writer.crc32,
            size=draft.writer.bytes,
            reserved_usd=self._prices.estimate(first.key.model, tokens_in, tokens_out, datetime.now(UTC).date()),
        )

    def _intend_and_send(self, planned: Planned) -> None:
        try:
            with self._result.timed("intent"):
                waits = write_intent(
                    self._connection, planned, run_id=self._run_id, settings=self._settings, lease_s=self._lease_s
                )
            if waits:
                self._put_back(planned, waits)
                return
            with self._result.timed("send"):
                sent = send(
                    self._connection,
                    self._door(planned.base_url),
                    planned,
                    run_id=self._run_id,
                    settings=self._settings,
                    lease_s=self._lease_s,
                    progress=self._progress,
                )
        except LeaseLost:
            get_log().warning("lease_lost", batch_id=str(planned.batch_id))
            self._result.note_wait("lease_lost", len(planned.units))
            return
        self._note(planned, sent)

    def _door(self, base_url: str | None) -> Client:
        if base_url not in self._doors:
            self._doors[base_url] = self._held.enter_context(provider_client(self._settings, base_url))
        return self._doors[base_url]

    def _put_back(self, planned: Planned, reason: str) -> None:
        """No room for the batch: its units wait, and no more of its model is claimed in this run."""
        self._blocked.add(planned.model)
        released = release_own(self._connection, self._run_id, reason, [unit.job_id for unit in planned.units])
        self._result.note_wait(reason, released)

    def _note(self, planned: Planned, sent: Sent) -> None:
        failed = sent.outcome == "undecided" or sent.reason == "provider_unreachable"
        self._failures_in_a_row = self._failures_in_a_row + 1 if failed else 0
        if sent.outcome == "registered":
            self._result.submitted += len(planned.units)
            self._progress("created", len(planned.units))
        elif sent.outcome == "undecided":
            self._result.undecided += len(planned.units)
        else:
            self._blocked.add(planned.model)
            self._result.note_wait(sent.reason, len(planned.units))
        self._result.batches.append(described(planned, sent))
