"""The listening socket of the provider's port, which can be closed so that the kernel refuses connections.

While it is closed, an unlistening socket keeps the port, so that nobody else takes it. The kernel refuses by
itself: how many clients were turned away is not known here, only that the door was closed, and for how long.
"""

import asyncio
import socket

from aiohttp import web


class Door:
    def __init__(self, runner: web.AppRunner, host: str, port: int) -> None:
        self._runner = runner
        self._socket = _bound(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self._site: web.SockSite | None = None
        self._reopening: asyncio.Task[None] | None = None
        self.closings = 0

    @property
    def is_open(self) -> bool:
        return self._site is not None

    async def open(self) -> None:
        if self._site is None:
            self._site = web.SockSite(self._runner, self._socket)
            await self._site.start()

    async def refuse(self, seconds: float | None) -> None:
        """Close, also what is kept alive; open again after so many real seconds, or when told."""
        if self._site is not None:
            await self._site.stop()
            self._site = None
            self._socket.close()
            self._socket = _bound(self.host, self.port)
            self.closings += 1
            await self._drop_connections()
        if self._reopening is not None:
            self._reopening.cancel()
        self._reopening = asyncio.create_task(self._reopen(seconds)) if seconds is not None else None

    async def _reopen(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.open()

    async def _drop_connections(self) -> None:
        """Until they are gone: a client that still thinks it is connected would see a reset, not a refusal."""
        server = self._runner.server
        dropped = [one.transport for one in server.connections if one.transport is not None] if server else []
        for transport in dropped:
            transport.abort()
        while server and any(one.transport in dropped for one in server.connections):
            await asyncio.sleep(0)


def _bound(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((host, port))
    return bound
