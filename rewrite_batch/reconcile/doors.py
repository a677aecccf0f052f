"""Doors: the provider's addresses during one pass of reconcile.

Each is opened when first needed: with nothing to reconcile, nobody is called. Its batches and its files are listed once
a pass. One that does not answer is closed for the rest of the pass: a hundred batches must not wait for it one by one.
"""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from rewrite_batch.errors import ProviderUnavailable
from rewrite_batch.provider import batches as provider
from rewrite_batch.provider.batches import ProviderBatch
from rewrite_batch.provider.client import Client, provider_client
from rewrite_batch.settings import Settings

Address = str | None  # None is a batch from before addresses were kept: the one of the settings


@dataclass(frozen=True)
class Listed:
    batches: list[ProviderBatch]
    since: datetime
    asked_at: float  # monotonic

    @property
    def age_s(self) -> float:
        return time.monotonic() - self.asked_at


class Doors:
    def __init__(self, settings: Settings, held: ExitStack, look_back: dict[Address, datetime]) -> None:
        self.settings = settings
        self._held = held
        self._look_back = look_back
        self._open: dict[Address, Client] = {}
        self._closed: set[Address] = set()
        self._batches: dict[Address, Listed] = {}
        self.cancelled: set[str] = set()  # the lists of this pass do not know it yet
        self._files: dict[Address, tuple[datetime, dict[str, list[str]]]] = {}

    def close(self, address: Address) -> None:
        self._closed.add(address)

    @property
    def closed(self) -> list[str]:
        return [address or "" for address in self._closed]

    def to(self, address: Address) -> Client:
        if address in self._closed:
            raise ProviderUnavailable("the provider did not answer earlier in this pass")
        if address not in self._open:
            self._open[address] = self._held.enter_context(provider_client(self.settings, address))
        return self._open[address]

    def batches(self, address: Address, since: datetime) -> Listed:
        """All that the provider made since then, and perhaps more."""
        listed = self._batches.get(address)
        if listed is None or listed.since > since:
            since = min(since, self._look_back.get(address, since))
            asked_at = time.monotonic()
            found = provider.list_since(self.to(address), since, base_s=self.settings.retry_base_s)
            listed = self._batches[address] = Listed(found, since, asked_at)
        return listed

    def files(self, address: Address, since: datetime) -> dict[str, list[str]]:
        """The ids of the files of each name, of all that were made since then, and perhaps more."""
        known = self._files.get(address)
        if known is None or known[0] > since:
            since = min(since, self._look_back.get(address, since))
            found = provider.list_files(self.to(address), since, base_s=self.settings.retry_base_s)
            known = self._files[address] = (since, found)
        return known[1]

    def cancel(self, address: Address, provider_batch_id: str) -> None:
        provider.cancel(self.to(address), provider_batch_id, base_s=self.settings.retry_base_s)
        self.cancelled.add(provider_batch_id)
