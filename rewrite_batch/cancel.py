"""`rewrite-batch cancel`: what an administrator names comes in; those units are canceled, for good, and counted.

Chunks of at most MAX_CHUNK units a transaction, in key order. A run that dies in between has canceled whole chunks; the
same command again does the rest. It never waits while it holds a lock, so it cannot deadlock with a run at work: a unit
that a claim, a register or a collect holds is waited for afterwards, empty-handed, and judged by what became of it.

Our side first, then the provider: the other way round, a collector could see the provider's batch end and queue its
units again. Results that come all the same find their unit canceled, and are dropped.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from uuid import UUID

from rewrite_batch.db import Connection, mark_run
from rewrite_batch.errors import ConfigurationError, RewriteBatchError
from rewrite_batch.log import get_log
from rewrite_batch.queries import query

MAX_CHUNK = 1_000
PAGE = 10_000
OPEN_STATES = ("queued", "processing", "batch_submitted")
FINAL_STATES = ("completed", "failed", "canceled")

CancelAtProvider = Callable[[str, str | None], object]


@dataclass(frozen=True)
class Criteria:
    """Jobs, or batches, or what is queued for a model, a language pair (from, to) or both: one of the three."""

    job_ids: tuple[UUID, ...] = ()
    batch_ids: tuple[UUID, ...] = ()
    model: str | None = None
    language_pair: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        kinds = [bool(self.job_ids), bool(self.batch_ids), self.is_of_queue]
        if sum(kinds) != 1:
            raise ConfigurationError(
                "name jobs, or batches, or the model and language pair whose queue to cancel: one of these"
            )

    @property
    def is_of_queue(self) -> bool:
        return self.model is not None or self.language_pair is not None

    @property
    def states(self) -> list[str]:
        """A job or batch is canceled wherever it is; of a model or pair, only what has not started."""
        return ["queued"] if self.is_of_queue else list(OPEN_STATES)

    @property
    def names(self) -> dict[str, Any]:
        from_locale, to_locale = self.language_pair or (None, None)
        return {
            "job_ids": list(self.job_ids),
            "batch_ids": list(self.batch_ids) or None,
            "model": self.model,
            "from_locale": from_locale,
            "to_locale": to_locale,
        }


@dataclass(frozen=True)
class NamedBatch:
    """`at_provider`: no, perhaps (a create that nobody heard of yet), running, or ended."""

    batch_id: UUID
    state: str
    provider_batch_id: str | None
    base_url: str | None

    @property
    def at_provider(self) -> Literal["no", "perhaps", "running", "ended"]:
        match self.state:
            case "create_sent":
                return "perhaps"
            case "submitted":
                return "running"
            case "finished" | "settled":
                return "ended"
            case _:
                return "no"


@dataclass(frozen=True)
class Selection:
    """What a cancel would find now. Nothing is changed or held: units may move before it comes."""

    criteria: Criteria
    by_state: dict[str, int]
    already_final: int
    moved_on: int
    unknown: int
    batches: list[NamedBatch]
    unknown_batches: list[UUID]

    @property
    def total(self) -> int:
        return sum(self.by_state.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "would_cancel": self.by_state,
            "already_final": self.already_final,
            "moved_on": self.moved_on,
            "unknown": self.unknown,
            "batches": [_described(batch) for batch in self.batches],
            "unknown_batches": [str(batch_id) for batch_id in self.unknown_batches],
        }


@dataclass
class CancelResult:
    """`moved_on`: left alone, because since it was selected it was claimed, or left the batch that was named."""

    run_id: UUID
    canceled: Counter[str] = field(default_factory=Counter[str])
    already_final: int = 0
    moved_on: int = 0
    unknown: int = 0
    provider_canceled: list[str] = field(default_factory=list[str])
    provider_failed: list[str] = field(default_factory=list[str])
    batches: list[NamedBatch] = field(default_factory=list[NamedBatch])
    unknown_batches: list[UUID] = field(default_factory=list[UUID])

    @property
    def total(self) -> int:
        return self.canceled.total()

    @property
    def exit_code(self) -> int:
        """75 when the provider could not be told: the same command again tells it."""
        return 75 if self.provider_failed else 0

    def counts(self) -> dict[str, Any]:
        return {
            "canceled": dict(self.canceled),
            "already_final": self.already_final,
            "moved_on": self.moved_on,
            "unknown": self.unknown,
            "provider_canceled": len(self.provider_canceled),
            "provider_failed": len(self.provider_failed),
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "run_id": str(self.run_id),
            **self.counts(),
            "provider_canceled": self.provider_canceled,
            "provider_failed": self.provider_failed,
            "batches": [_described(batch) for batch in self.batches],
            "unknown_batches": [str(batch_id) for batch_id in self.unknown_batches],
        }


def language_pair(text: str) -> tuple[str, str]:
    """`es:en` is from Spanish to English."""
    source, colon, target = text.partition(":")
    if not (source and colon and target) or ":" in target:
        raise ConfigurationError("a language pair is written from:to, such as es:en")
    return source, target


def find(
    connection: Connection,
    *,
    job_ids: Iterable[UUID] = (),
    batch_ids: Iterable[UUID] = (),
    model: str | None = None,
    language_pair: tuple[str, str] | None = None,
) -> Selection:
    """Counts what a cancel would change. Changes nothing."""
    criteria = Criteria(tuple(sorted(set(job_ids))), tuple(sorted(set(batch_ids))), model, language_pair)
    found = Counter(dict(connection.execute(query(_count_of(criteria)), criteria.names).fetchall()))
    batches, unknown_batches = _named_batches(connection, criteria)
    known = found.total()
    return Selection(
        criteria=criteria,
        by_state={state: found[state] for state in criteria.states},
        already_final=sum(found[state] for state in FINAL_STATES),
        moved_on=found["moved_on"],
        unknown=len(criteria.job_ids) - known if criteria.job_ids else found["unknown"],
        batches=batches,
        unknown_batches=unknown_batches,
    )


def cancel(
    connection: Connection,
    criteria: Criteria,
    run_id: UUID,
    *,
    cancel_at_provider: CancelAtProvider | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> CancelResult:
    result = CancelResult(run_id)
    busy: list[UUID] = []
    for chunk in _chunks(connection, criteria):
        if stop():
            return result
        busy += _cancel_chunk(connection, criteria, chunk, result)
    while busy and not stop():
        _wait_for(connection, busy[0])
        chunk, rest = busy[:MAX_CHUNK], busy[MAX_CHUNK:]
        busy = _cancel_chunk(connection, criteria, chunk, result) + rest
    result.batches, result.unknown_batches = _named_batches(connection, criteria)
    if cancel_at_provider and not stop():
        _tell_provider(result, cancel_at_provider)
    return result


def _cancel_chunk(connection: Connection, criteria: Criteria, chunk: list[UUID], result: CancelResult) -> list[UUID]:
    """One transaction. Answers the units that somebody else holds this moment."""
    names = {"states": criteria.states, "batch_ids": criteria.names["batch_ids"]}
    with connection.transaction():
        mark_run(connection, result.run_id)
        locked = _ids(connection, "cancel/lock", {"job_ids": chunk})
        # A statement of its own, with a newer view than the one that locked: it judges what is there now.
        verdicts = Counter(dict(connection.execute(query("cancel/cancel"), {**names, "job_ids": locked}).fetchall()))
    result.canceled.update({state: verdicts[state] for state in OPEN_STATES if verdicts[state]})
    result.already_final += verdicts["already_final"]
    result.moved_on += verdicts["moved_on"]
    missed = set(chunk) - set(locked)
    busy = _ids(connection, "cancel/known", {"job_ids": sorted(missed)}) if missed else []
    result.unknown += len(missed) - len(busy)
    return busy


def _wait_for(connection: Connection, job_id: UUID) -> None:
    connection.execute(query("cancel/wait_for_unit"), {"job_id": job_id})
    connection.execute(query("cancel/wait_for_row"), {"job_id": job_id})


def _chunks(connection: Connection, criteria: Criteria) -> Iterator[list[UUID]]:
    for page in _pages(connection, criteria):
        for start in range(0, len(page), MAX_CHUNK):
            yield list(page[start : start + MAX_CHUNK])


def _pages(connection: Connection, criteria: Criteria) -> Iterator[Sequence[UUID]]:
    if criteria.job_ids:
        yield sorted(set(criteria.job_ids))
        return
    if criteria.batch_ids:
        yield _ids(connection, "cancel/batch_units", criteria.names)
        return
    after: UUID | None = None
    while page := _ids(connection, "cancel/queued_units", {**criteria.names, "after": after, "limit": PAGE}):
        yield page
        after = page[-1]


def _ids(connection: Connection, name: str, names: dict[str, Any]) -> list[UUID]:
    return [row[0] for row in connection.execute(query(name), names).fetchall()]


def _named_batches(connection: Connection, criteria: Criteria) -> tuple[list[NamedBatch], list[UUID]]:
    if not criteria.batch_ids:
        return [], []
    batches = [NamedBatch(*row) for row in connection.execute(query("cancel/batches"), criteria.names).fetchall()]
    return batches, sorted(set(criteria.batch_ids) - {batch.batch_id for batch in batches})


def _tell_provider(result: CancelResult, cancel_at_provider: CancelAtProvider) -> None:
    """A batch that cannot be told goes on and is paid for; its units are canceled all the same."""
    for batch in result.batches:
        if batch.at_provider != "running" or batch.provider_batch_id is None:
            continue
        try:
            cancel_at_provider(batch.provider_batch_id, batch.base_url)
        except RewriteBatchError as error:
            result.provider_failed.append(batch.provider_batch_id)
            get_log().warning("provider_not_told", batch_id=str(batch.batch_id), error_class=type(error).__name__)
        else:
            result.provider_canceled.append(batch.provider_batch_id)


def _count_of(criteria: Criteria) -> str:
    if criteria.job_ids:
        return "cancel/count_jobs"
    return "cancel/count_batches" if criteria.batch_ids else "cancel/count_queued"


def _described(batch: NamedBatch) -> dict[str, Any]:
    return {**asdict(batch), "batch_id": str(batch.batch_id), "at_provider": batch.at_provider}
