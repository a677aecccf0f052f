"""Where each step of a command is looked up by its caller, and what can be counted beside commits and calls."""

import os
import socket
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg

SUBMIT_STEPS = (
    "rewrite_batch.submit.run:reconcile",
    "rewrite_batch.submit.run:release_stale",
    "rewrite_batch.submit.spool:sweep",
    "rewrite_batch.submit.run:claim",
    "rewrite_batch.submit.draft:Drafts.add",
    "rewrite_batch.submit.spool:SpoolWriter.close",
    "rewrite_batch.submit.deliver:write_intent",
    "rewrite_batch.submit.intent:_insert_items",
    "rewrite_batch.submit.deliver:send",
    "rewrite_batch.provider.batches:upload",
    "rewrite_batch.submit.send:_still_held",
    "rewrite_batch.provider.batches:create",
    "rewrite_batch.provider.batches:list_since",
    "rewrite_batch.provider.batches:list_files",
    "rewrite_batch.provider.batches:has_file",
    "rewrite_batch.provider.batches:delete_file",
    "rewrite_batch.provider.batches:cancel",
    "rewrite_batch.reconcile.ledger:register",
    "rewrite_batch.reconcile.ledger:abandon",
    "rewrite_batch.reconcile.ledger:renew",
    "rewrite_batch.reconcile.ledger:raise_alert",
    "rewrite_batch.submit.spool:SpoolWriter.remove",
    "rewrite_batch.submit.run:release_own",
    "rewrite_batch.submit.deliver:release_own",
)
COLLECT_STEPS = (
    "rewrite_batch.collect.run:reconcile",
    "rewrite_batch.collect.run:take",
    "rewrite_batch.provider.results:retrieve",
    "rewrite_batch.collect.fetch:read_ending",
    "rewrite_batch.provider.results:file_size",
    "rewrite_batch.provider.results:download",
    "rewrite_batch.collect.fetch:download",
    "rewrite_batch.collect.fetch:match",
    "rewrite_batch.collect.run:record",
    "rewrite_batch.collect.run:raise_alerts",
    "rewrite_batch.collect.apply:parse",
    "rewrite_batch.collect.apply:decide",
    "rewrite_batch.collect.apply:write",
    "rewrite_batch.collect.write:_copy",
    "rewrite_batch.collect.run:settle",
    "rewrite_batch.collect.download:ResultFile.remove",
    "rewrite_batch.collect.settle:delete_files",
    "rewrite_batch.provider.batches:delete_file",
)
CUT = "CUT"  # instead of a signal: the database did the work, and its answer never arrives


class Numbers:
    """Counts what passes, from any number of threads: each number of a kind is given once."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def next(self, kinds: tuple[str, ...]) -> dict[str, int]:
        with self._lock:
            numbers = {kind: self._seen[kind] for kind in kinds}
            self._seen.update(kinds)
        return numbers


Around = Callable[..., Any]


def watch_rows(around: Around) -> None:
    """Every row of a COPY."""
    write_row: Any = psycopg.Copy.write_row

    def written(self: Any, row: Any) -> None:
        with around("row"):
            write_row(self, row)

    setattr(psycopg.Copy, "write_row", written)  # noqa: B010  pyright lets no method be replaced


def cut(connection: psycopg.Connection[Any]) -> None:
    """The connection's socket becomes one that nobody answers on, as libpq then finds out and says."""
    ours, theirs = socket.socketpair()
    theirs.close()
    os.dup2(ours.fileno(), connection.pgconn.socket)
    ours.close()
    while True:
        connection.pgconn.consume_input()  # raises OperationalError
