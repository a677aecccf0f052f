"""Replay: result files that `collect --keep` saved come in again; only what is still undecided is written.

For a batch whose files are gone at the provider, or after a restore of the database. Nobody is called. Only items that
have a line are judged: a saved file says nothing of the others. Applied twice, it changes nothing.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

from rewrite_batch.collect.backoff import Backoff
from rewrite_batch.collect.keep import kept
from rewrite_batch.collect.match import Matched, match, told_of
from rewrite_batch.collect.poll import raise_alerts, record
from rewrite_batch.collect.result import CollectResult
from rewrite_batch.collect.run import CollectRun, Progress
from rewrite_batch.collect.settle import pause_for_items, settle
from rewrite_batch.db import Connection
from rewrite_batch.queries import query
from rewrite_batch.settings import Settings


def replay(
    connection: Connection,
    reader: Connection,
    settings: Settings,
    directory: Path,
    *,
    run_id: UUID,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda _step, _count: None,
) -> CollectResult:
    saved = kept(directory)
    run = CollectRun(connection, reader, settings, run_id, stop, progress, Backoff())
    with run.on_record("collect-replay"):
        for batch_id, paths in saved.items():
            if run.must_end():
                break
            with ExitStack() as opened:
                files = {kind: _open(path, opened) for kind, path in paths.items()}
                _replay_batch(run, batch_id, files, sum(path.stat().st_size for path in paths.values()))
    return run.result


def _replay_batch(run: CollectRun, batch_id: UUID, files: dict[str, int], size: int) -> None:
    held = run.take(batch_id)
    if held is None:
        _note_not_taken(run, batch_id, files)
        return
    with run.alone(held):
        matched = match(files, batch_id, held.item_count)
        already = _decided(run, batch_id, matched)
        if held.state == "submitted":
            record(run.connection, held, None, run_id=run.run_id, lease_s=run.lease_s, over=True)
        raise_alerts(run.connection, told_of(matched), run_id=run.run_id, batch_id=batch_id)
        written = run.applier.apply(held, matched, None)
        pause_for_items(run.connection, held, written.became, run_id=run.run_id)
        run.result.already_applied += already
        closed = settle(run.connection, held, run_id=run.run_id)
        run.result.add(held, "replayed", written, closed=closed, size=size)
        if not closed:
            run.put_off(held, "items_without_line")


def _note_not_taken(run: CollectRun, batch_id: UUID, files: dict[str, int]) -> None:
    """Closed, or unknown, or another run is at it."""
    row = run.connection.execute(query("collect/batch_state"), {"batch_id": batch_id}).fetchone()
    if row is None:
        run.result.put_off["unknown_batch"] += 1
    elif row[0] in {"settled", "abandoned"}:
        run.result.already_applied += _decided(run, batch_id, match(files, batch_id, row[1]))
    else:
        run.result.put_off["held_by_another_run"] += 1


def _decided(run: CollectRun, batch_id: UUID, matched: Matched) -> int:
    named = sorted({*matched.places, *matched.torn})
    row = run.connection.execute(query("collect/count_decided"), {"batch_id": batch_id, "indexes": named}).fetchone()
    return row[0] if row else 0


def _open(path: Path, opened: ExitStack) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    opened.callback(os.close, descriptor)
    return descriptor
