"""Fetch: a batch under our lease comes in; what the provider has of it goes out: that it waits, or its whole files.

Everything here is HTTP and disk, for a thread of its own; the database is not touched. Nothing at the provider changes,
but that a batch which is overdue is cancelled.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from rewrite_batch.collect.batch import Absent, Alert, Ending, Held, Waits
from rewrite_batch.collect.download import ResultFile, download
from rewrite_batch.collect.ending import read_ending
from rewrite_batch.collect.match import Matched, match, told_of
from rewrite_batch.errors import ProviderUnavailable
from rewrite_batch.log import get_log
from rewrite_batch.provider import batches
from rewrite_batch.provider import results as provider
from rewrite_batch.provider.client import Client
from rewrite_batch.provider.results import Standing
from rewrite_batch.settings import Settings

LOOKS = 3


@dataclass
class Fetched:
    """`files` are on disk until `remove`; `matched` says which of their lines is whose."""

    ending: Ending
    said: Standing | None
    matched: Matched
    files: dict[str, ResultFile] = field(default_factory=dict[str, ResultFile])

    def remove(self) -> None:
        for file in self.files.values():
            file.remove()


@dataclass(frozen=True)
class Waiting:
    waits: Waits
    said: Standing | None


@dataclass(frozen=True)
class Fetcher:
    client: Client
    settings: Settings
    grace_s: float
    on_bytes: Callable[[int], None]
    on_disk: list[ResultFile]
    on_over: Callable[[Held], None] = lambda _: None  # called before results are downloaded

    def fetch(self, held: Held) -> Fetched | Waiting:
        said = provider.retrieve(self.client, held.provider_batch_id, base_s=self.settings.retry_base_s)
        ending = read_ending(held, said, self.grace_s)
        if isinstance(ending, Waits):
            if ending.cancel:
                self._cancel(held)
            return Waiting(ending, said)
        self.on_over(held)
        return self._results(held, ending, said)

    def _cancel(self, held: Held) -> None:
        """Each poll asks again; that it cannot be asked now is no reason to tell nobody."""
        try:
            batches.cancel(self.client, held.provider_batch_id, base_s=self.settings.retry_base_s)
        except ProviderUnavailable as error:
            get_log().warning("not_cancelled", batch_id=str(held.batch_id), error_class=type(error).__name__)

    def _results(self, held: Held, ending: Ending, said: Standing | None) -> Fetched | Waiting:
        """What looks odd is downloaded again: only if the provider sends the same bytes twice are they its answer."""
        seen: set[tuple[str, ...]] = set()
        for _ in range(LOOKS):
            files = self._download(held, ending)
            try:
                gone = [kind for kind, file in files.items() if file is None]
                if gone and (held.since_finished_s or 0.0) < self.grace_s and said is not None:
                    return Waiting(Waits("results_gone", put_off=True, alerts=(Alert("results_gone"),)), said)
                whole = {kind: file for kind, file in files.items() if file is not None}
                open_files = {kind: file.descriptor for kind, file in whole.items()}
                matched = match(open_files, held.batch_id, held.item_count)
                prints = tuple(file.sha256 for file in whole.values())
                if not _is_odd(ending, matched) or prints in seen:
                    found, files = whole, {}
                    return Fetched(_with_alerts(held, ending, matched, gone), said, matched, found)
                seen.add(prints)
            finally:
                for file in files.values():
                    if file is not None:
                        file.remove()
        raise ProviderUnavailable("the provider sends other bytes each time for one result file")

    def _download(self, held: Held, ending: Ending) -> dict[str, ResultFile | None]:
        wanted = {"output": ending.output_file_id, "error": ending.error_file_id}
        files: dict[str, ResultFile | None] = {}
        try:
            for kind, file_id in wanted.items():
                if file_id is not None:
                    files[kind] = download(
                        self.client,
                        file_id,
                        batch_id=held.batch_id,
                        kind=kind,
                        spool_dir=self.settings.spool_dir,
                        base_s=self.settings.retry_base_s,
                        on_bytes=self.on_bytes,
                        on_disk=self.on_disk,
                    )
        except BaseException:
            for file in files.values():
                if file is not None:
                    file.remove()
            raise
        return files


def _is_odd(ending: Ending, matched: Matched) -> bool:
    counts_differ = ending.counted_lines is not None and ending.counted_lines != matched.lines
    return bool(matched.refused or matched.repeated or counts_differ)


def _with_alerts(held: Held, ending: Ending, matched: Matched, gone: list[str]) -> Ending:
    """What a person must see of these files. Line numbers and counts, no content."""
    silent = [i for i in range(held.item_count) if i not in matched.places and i not in matched.torn]
    found = told_of(matched)
    if silent and (matched.lines or ending.absent.reason == "missing"):
        found.append(Alert("missing_items", tuple(f"item_{i}" for i in silent[:20])))
    if ending.counted_lines is not None and ending.counted_lines != matched.lines:
        found.append(Alert("counts_differ", (f"counted_{ending.counted_lines}", f"lines_{matched.lines}")))
    absent = ending.absent
    if gone:
        found.append(Alert("results_gone", tuple(gone)))
        absent = Absent("results_gone")
    return Ending(
        ending.status, ending.output_file_id, ending.error_file_id, absent, ending.quota, (*ending.alerts, *found),
        ending.counted_lines,
    )  # fmt: skip


def in_a_thread(fetch: Callable[[Held], Fetched | Waiting], held: Held) -> Future[Fetched | Waiting]:
    """A daemon, unlike the threads of a pool: a process that is told to end does not wait for a slow network."""
    future: Future[Fetched | Waiting] = Future()

    def run() -> None:
        try:
            future.set_result(fetch(held))
        except BaseException as error:  # noqa: BLE001  it is raised again where the result is asked for
            future.set_exception(error)

    threading.Thread(target=run, name=f"fetch {held.batch_id}", daemon=True).start()
    return future
