"""A multipart upload, streamed to disk piece by piece: a file at the limit never sits in memory."""

from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import BodyPartReader, web

from rewrite_batch.simulator.replies import ApiError

_PIECE = 1 << 18
_LONGEST_FIELD = 4096


@dataclass
class Upload:
    fields: dict[str, str] = field(default_factory=dict[str, str])
    filename: str | None = None
    size: int = 0


async def receive(request: web.Request, into: Path, limit: int) -> Upload:
    """Read the whole form. What lies beyond the limit is read and dropped: the client must hear the 413."""
    if not request.content_type.startswith("multipart/"):
        raise ApiError(400, "Invalid Content-Type header: expected multipart/form-data.")
    upload = Upload()
    try:
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader):
                await _receive_part(part, upload, into, limit)
    except ValueError:
        raise ApiError(400, "The multipart form could not be read.") from None
    if upload.size > limit:
        raise ApiError(413, f"File is too large: the limit is {limit} bytes.", code="file_too_large", param="file")
    return upload


async def _receive_part(part: BodyPartReader, upload: Upload, into: Path, limit: int) -> None:
    if part.name != "file":
        value = await part.read_chunk(_LONGEST_FIELD)
        await part.release()
        upload.fields[part.name or ""] = value.decode("utf-8", "replace")
        return
    upload.filename = part.filename or ""
    with into.open("wb") as file:
        while piece := await part.read_chunk(_PIECE):
            upload.size += len(piece)
            if upload.size <= limit:
                file.write(piece)
