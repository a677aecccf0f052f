"""The provider's Files and Batches, as values of our own. One function a call; none keeps state.

`create` posts once and is never repeated by itself: sent twice it buys two batches. Everything else may be repeated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast
from uuid import UUID

from rewrite_batch.errors import ProviderRefused, ProviderUnavailable
from rewrite_batch.provider.client import Client, plain_errors, repeat

if TYPE_CHECKING:
    from openai.pagination import SyncCursorPage
    from openai.types import Batch

T = TypeVar("T")
ENDPOINT = "/v1/responses"
FILE_EXPIRES_S = 3 * 86_400
FILE_PURPOSE = "batch"
PAGE = 100
# Two machines' clocks may differ: look this much further back than the time we noted.
SKEW_S = 3_600


@dataclass(frozen=True)
class ProviderBatch:
    provider_batch_id: str
    status: str
    input_file_id: str
    created_at: int
    batch_id: str | None  # ours, from its metadata
    environment: str | None
    answered: int = 0  # lines that ran, and are on the bill

    @property
    def is_billed(self) -> bool:
        return self.status == "completed" or self.answered > 0

    @classmethod
    def of(cls, batch: "Batch") -> "ProviderBatch":
        metadata = batch.metadata or {}
        return cls(
            provider_batch_id=batch.id,
            status=batch.status,
            input_file_id=batch.input_file_id,
            created_at=batch.created_at,
            batch_id=metadata.get("batch_id"),
            environment=metadata.get("environment"),
            answered=batch.request_counts.completed if batch.request_counts else 0,
        )


def file_name(batch_id: UUID) -> str:
    return f"{batch_id}.jsonl"


@dataclass(frozen=True)
class Uploaded:
    file_id: str
    in_doubt: bool  # an answer was lost on the way: there may be a second copy that the list does not show yet


def upload(client: Client, source: BinaryIO, batch_id: UUID, *, base_s: float) -> Uploaded:
    """A try whose answer was lost is found by the file's name, so that as a rule no second copy is left behind."""
    began = datetime.now(UTC)
    tries = 0

    def once() -> str:
        nonlocal tries
        tries += 1
        if tries > 1:
            found = _files_by_name(client, began).get(file_name(batch_id))
            if found:
                return found[0]
        source.seek(0)
        return client.files.create(
            file=(file_name(batch_id), source, "application/jsonl"),
            purpose=FILE_PURPOSE,
            expires_after={"anchor": "created_at", "seconds": FILE_EXPIRES_S},
        ).id

    file_id = repeat(once, base_s=base_s)
    return Uploaded(file_id, in_doubt=tries > 1)


def list_files(client: Client, since: datetime, *, base_s: float) -> dict[str, list[str]]:
    """The files made since then: a name, and the ids of all that bear it."""
    return repeat(lambda: _files_by_name(client, since), base_s=base_s)


def _files_by_name(client: Client, since: datetime) -> dict[str, list[str]]:
    oldest = since.timestamp() - SKEW_S
    named: dict[str, list[str]] = {}
    for file in whole_list(client.files.list(purpose=FILE_PURPOSE, limit=PAGE, order="desc")):
        if file.created_at < oldest:
            break
        named.setdefault(file.filename, []).append(file.id)
    return named


def has_file(client: Client, file_id: str, *, base_s: float) -> bool:
    try:
        repeat(lambda: client.files.retrieve(file_id), base_s=base_s)
    except ProviderRefused as refused:
        if refused.status != 404:
            raise
        return False
    return True


def delete_file(client: Client, file_id: str, *, base_s: float) -> None:
    """Gone already is done."""
    try:
        repeat(lambda: client.files.delete(file_id), base_s=base_s)
    except ProviderRefused as refused:
        if refused.status != 404:
            raise


def create(client: Client, *, input_file_id: str, batch_id: UUID, environment: str) -> ProviderBatch:
    with plain_errors():
        made = client.with_options(max_retries=0).batches.create(
            input_file_id=input_file_id,
            endpoint=ENDPOINT,
            completion_window="24h",
            metadata={"batch_id": str(batch_id), "environment": environment},
        )
        return ProviderBatch.of(made)


def list_since(client: Client, since: datetime, *, base_s: float) -> list[ProviderBatch]:
    """Every provider batch made since then, oldest first. A page that cannot be read is an error, never an end."""
    oldest = since.timestamp() - SKEW_S

    def once() -> list[ProviderBatch]:
        found: list[ProviderBatch] = []
        for batch in whole_list(client.batches.list(limit=PAGE)):
            if batch.created_at < oldest:
                break
            found.append(ProviderBatch.of(batch))
        return sorted(found, key=lambda batch: (batch.created_at, batch.provider_batch_id))

    return repeat(once, base_s=base_s)


def whole_list(page: "SyncCursorPage[T]") -> Iterator[T]:
    """Every entry of every page. The SDK takes an answer without a list for an empty one; here it is unreadable."""
    while True:
        entries = cast("object", page.data)
        if not isinstance(entries, list) or page.has_more is None or (page.has_more and not entries):
            raise ValueError("not a page of a list")
        yield from page.data
        if not page.has_more:
            return
        page = page.get_next_page()


def cancel(client: Client, provider_batch_id: str, *, base_s: float) -> None:
    """One that has ended, or is gone, needs no cancelling."""
    try:
        repeat(lambda: client.batches.cancel(provider_batch_id), base_s=base_s)
    except ProviderUnavailable as refused:
        if refused.status not in {400, 404, 409}:
            raise
