"""Replies on their way out: whole, cut short, corrupted, reset or never sent."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from rewrite_batch.simulator.faults import Fault
from rewrite_batch.simulator.jsontext import Json, encode
from rewrite_batch.simulator.replies import Reply

_PIECE = 1 << 18


def body_size(reply: Reply) -> int:
    return reply.path.stat().st_size if reply.path else len(_bytes(reply))


async def send(request: web.Request, reply: Reply, headers: dict[str, str], fault: Fault | None) -> web.StreamResponse:
    """Send the reply, spoiled on the way by a fault of kind truncate, corrupt or slow_body."""
    size = body_size(reply)
    pieces = _file_pieces(reply.path) if reply.path else iter([_bytes(reply)])
    response = web.StreamResponse(status=reply.status, headers={**headers, **reply.headers})
    response.content_type = reply.content_type
    cut: int | None = None
    if fault and fault.kind == "corrupt":
        pieces, size = _corrupted(pieces, fault.spec, size)
    if fault and fault.kind == "truncate":
        cut = _cut_at(fault.spec, size)
    how = fault.spec.get("how", "close") if fault else ""
    if cut is not None and how == "chunked":
        response.enable_chunked_encoding()
    else:
        response.content_length = cut if cut is not None and how == "short_length" else size
    await response.prepare(request)
    if fault and fault.kind == "slow_body":
        await _drip(response, pieces, size, float(fault.spec.get("seconds", 1)))
    else:
        await _write(response, pieces, size if cut is None else cut)
    if cut is not None and how != "short_length" and request.transport is not None:
        # Flushed and closed before the promised end.
        request.transport.close()
    return response


def reset(request: web.Request) -> web.Response:
    """Tear the connection down with a RST: the client cannot know what was done."""
    transport = request.transport
    if transport is not None:
        sock: socket.socket | None = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()


async def hang(request: web.Request, stopping: asyncio.Event) -> web.Response:
    """Never answer; end when the client gives up or the server stops."""
    async for _ in request.content.iter_any():
        pass  # an unread upload would hide that the client went away
    while not stopping.is_set() and request.transport is not None and not request.transport.is_closing():
        await pause(stopping, 0.05)
    return reset(request)


async def pause(stopping: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return


def spoilable(reply: Reply, fault: Fault) -> bool:
    """Whether a fault of the wire has anything to take hold of."""
    size = body_size(reply)
    if fault.kind == "slow_body":
        return size > 0
    if fault.kind == "truncate":
        return _cut_at(fault.spec, size) < size
    if "line" in fault.spec:
        return reply.path is not None and _has_line(reply.path, int(fault.spec["line"]))
    return int(fault.spec.get("offset", 0)) < size


async def _write(response: web.StreamResponse, pieces: Iterator[bytes], left: int) -> None:
    for piece in pieces:
        if left <= 0:
            return
        await response.write(piece[:left])
        left -= len(piece)


async def _drip(response: web.StreamResponse, pieces: Iterator[bytes], size: int, seconds: float) -> None:
    """In about ten portions over so many real seconds: no single read waits long, the whole does."""
    portion = max(1, size // 10)
    for piece in pieces:
        for start in range(0, len(piece), portion):
            await response.write(piece[start : start + portion])
            await asyncio.sleep(seconds * min(portion, len(piece) - start) / size)


def _bytes(reply: Reply) -> bytes:
    return reply.raw if reply.raw is not None else encode(reply.payload)


def _file_pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _cut_at(spec: Json, size: int) -> int:
    return int(spec["bytes"]) if "bytes" in spec else int(size * float(spec.get("fraction", 0.5)))


def _has_line(path: Path, number: int) -> bool:
    with path.open("rb") as file:
        return any(place == number for place, _ in enumerate(file, start=1))


def _corrupted(pieces: Iterator[bytes], spec: Json, size: int) -> tuple[Iterator[bytes], int]:
    """Flip `bytes` bytes from `offset`, or put `replacement` in the place of line number `line` (1-based)."""
    if "line" not in spec:
        offset = int(spec.get("offset", 0))
        return _flipped(pieces, offset, offset + int(spec.get("bytes", 1))), size
    # One spoiled line in memory at a time would not keep the length known: this fault may hold the file.
    lines = b"".join(pieces).split(b"\n")
    lines[int(spec["line"]) - 1] = str(spec.get("replacement", "{")).encode()
    whole = b"\n".join(lines)
    return iter([whole]), len(whole)


def _flipped(pieces: Iterator[bytes], start: int, end: int) -> Iterator[bytes]:
    place = 0
    for piece in pieces:
        spoiled = bytearray(piece)
        for at in range(max(start, place), min(end, place + len(piece))):
            spoiled[at - place] ^= 0xFF
        place += len(piece)
        yield bytes(spoiled)
