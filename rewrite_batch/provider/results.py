"""The provider's side of a batch that was created: how it stands, and its result files as bytes on disk.

Reads only, so all of it may be repeated. Of error texts only codes, line numbers and a stated limit go on.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rewrite_batch.errors import ProviderRefused, ProviderUnavailable
from rewrite_batch.provider.client import CODE, Client, plain_errors, repeat
from rewrite_batch.provider.limits import stated_token_limit

if TYPE_CHECKING:
    from openai.types import Batch

UNKNOWN_SIZE = -1


@dataclass(frozen=True)
class BatchError:
    code: str
    line: int | None  # from 1
    token_limit: int | None = None


@dataclass(frozen=True)
class Standing:
    """`status` is a code; what the provider leaves out is None or empty."""

    status: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    total: int | None = None
    completed: int | None = None
    failed: int | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None  # of the input
    output_tokens: int | None = None
    errors: tuple[BatchError, ...] = ()


@dataclass(frozen=True)
class Download:
    size: int
    sha256: str


def retrieve(client: Client, provider_batch_id: str, *, base_s: float) -> Standing | None:
    """None: it is not there (404)."""

    def once() -> Standing:
        found = client.batches.retrieve(provider_batch_id)
        if found.id != provider_batch_id:
            raise ValueError("another batch than the one that was asked for")
        return _standing(found)

    try:
        return repeat(once, base_s=base_s)
    except ProviderRefused as refused:
        if refused.status == 404:
            return None
        raise


def file_size(client: Client, file_id: str, *, base_s: float) -> int | None:
    """How many bytes the provider says the file has (UNKNOWN_SIZE: it does not say). None: it is not there."""

    def once() -> int:
        found: Any = client.files.retrieve(file_id)
        size = _whole(found.bytes)
        return UNKNOWN_SIZE if size is None else size

    try:
        return repeat(once, base_s=base_s)
    except ProviderRefused as refused:
        if refused.status == 404:
            return None
        raise


def download(client: Client, file_id: str, descriptor: int, on_bytes: Callable[[int], None]) -> Download:
    """Streams the file into the descriptor from its start. One try: a cut, or a length that is not the announced one,
    is an error, and what is on disk then is not the file."""
    import httpx2  # noqa: PLC0415

    os.ftruncate(descriptor, 0)
    digest, size = hashlib.sha256(), 0
    try:
        with (
            plain_errors(),
            client.files.with_streaming_response.content(
                file_id, extra_headers={"Accept-Encoding": "identity"}
            ) as response,
        ):
            announced = response.headers.get("content-length", "")
            encoded = response.headers.get("content-encoding", "identity") != "identity"
            for piece in response.iter_bytes():  # as they come: whoever wants to end it must not wait for a full one
                _write(descriptor, piece, size)
                digest.update(piece)
                size += len(piece)
                on_bytes(len(piece))
    except httpx2.HTTPError as error:  # the SDK no longer wraps what breaks once the answer has begun
        kind = type(error).__name__
    else:
        if announced.isdecimal() and not encoded and int(announced) != size:
            raise ProviderUnavailable("a download is not as long as the provider announced")
        return Download(size, digest.hexdigest())
    raise ProviderUnavailable(f"a download broke off ({kind})")


def _write(descriptor: int, piece: bytes, at: int) -> None:
    with memoryview(piece) as rest:
        written = 0
        while written < len(rest):
            written += os.pwrite(descriptor, rest[written:], at + written)


def _standing(batch: "Batch") -> Standing:
    """The SDK builds objects without checking them: whatever is not what it should be counts as absent."""
    said: Any = batch
    counts, usage, listed = said.request_counts, said.usage, said.errors
    status = str(said.status or "")
    return Standing(
        status=status if CODE.fullmatch(status) else "unreadable",
        output_file_id=_text(said.output_file_id),
        error_file_id=_text(said.error_file_id),
        total=_whole(getattr(counts, "total", None)),
        completed=_whole(getattr(counts, "completed", None)),
        failed=_whole(getattr(counts, "failed", None)),
        input_tokens=_whole(getattr(usage, "input_tokens", None)),
        cached_tokens=_whole(getattr(getattr(usage, "input_tokens_details", None), "cached_tokens", None)),
        output_tokens=_whole(getattr(usage, "output_tokens", None)),
        errors=tuple(_error(each) for each in getattr(listed, "data", None) or ()),
    )


def _error(said: Any) -> BatchError:
    code = str(getattr(said, "code", None) or "")
    message = getattr(said, "message", None)
    return BatchError(
        code=code if CODE.fullmatch(code) else "unknown",
        line=_whole(getattr(said, "line", None)) or None,
        token_limit=stated_token_limit(message) if isinstance(message, str) else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None
