"""Clients of the provider: one an address, opened when first needed, closed together."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rewrite_batch.errors import AddressNotAllowed
from rewrite_batch.provider.client import Client, provider_client
from rewrite_batch.settings import Settings


class Doors:
    """The key goes to no address that only a row of a table names."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._held = ExitStack()
        self._open: dict[str | None, Client] = {}

    def to(self, base_url: str | None) -> "Client | None":
        """None: the address is not on the allow-list."""
        if base_url not in self._open:
            try:
                self._open[base_url] = self._held.enter_context(provider_client(self._settings, base_url))
            except AddressNotAllowed:
                return None
        return self._open[base_url]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()
