"""Start the simulator: two loopback ports over one state directory, one ready line, until told to stop."""

import asyncio
import ctypes
import gc
import ipaddress
import os
import signal
import sys
from dataclasses import replace

from aiohttp import web

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.simulator.app import Api
from rewrite_batch.simulator.clock import Clock
from rewrite_batch.simulator.control import Control
from rewrite_batch.simulator.door import Door
from rewrite_batch.simulator.ending import Finisher
from rewrite_batch.simulator.faults import Faults
from rewrite_batch.simulator.jsontext import encode, object_of
from rewrite_batch.simulator.lifecycle import Lifecycle
from rewrite_batch.simulator.options import SimulatorOptions
from rewrite_batch.simulator.phrases import PACKAGED, load_phrases
from rewrite_batch.simulator.settings import Settings, as_json, changed
from rewrite_batch.simulator.store import Store

__all__ = ["SimulatorOptions", "serve"]

_PR_SET_PDEATHSIG = 1


def serve(options: SimulatorOptions) -> None:
    """Block until SIGTERM or SIGINT."""
    if not ipaddress.ip_address(options.host).is_loopback:
        raise ConfigurationError("the simulator serves on loopback only: leave the host at 127.0.0.1")
    if options.die_with is not None:
        _die_with(options.die_with)
    # Lines make much garbage and no cycles: the collector need not look so often.
    gc.set_threshold(50_000, 20, 50)
    store = Store(options.state_dir)
    try:
        asyncio.run(_serve(options, store))
    finally:
        store.close()


async def _serve(options: SimulatorOptions, store: Store) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    life = _lifecycle(options, store)
    api = web.AppRunner(Api(life, options.api_key, stopping).application(), access_log=None, shutdown_timeout=1)
    await api.setup()
    door = Door(api, options.host, options.port)
    control = web.AppRunner(
        Control(life, door, _settings_of_start(options)).application(), access_log=None, shutdown_timeout=1
    )
    await control.setup()
    control_door = Door(control, options.host, options.control_port)
    await door.open()
    await control_door.open()
    ready = {
        "base_url": f"http://{door.host}:{door.port}/v1",
        "control_url": f"http://{control_door.host}:{control_door.port}",
        "state_dir": str(options.state_dir),
    }
    sys.stdout.write(encode(ready).decode() + "\n")
    sys.stdout.flush()
    await stopping.wait()
    await api.cleanup()
    await control.cleanup()


def _lifecycle(options: SimulatorOptions, store: Store) -> Lifecycle:
    settings = changed(Settings(), object_of(store.note("settings")) or {})
    if options.seed is not None:
        settings = replace(settings, seed=options.seed)
    if options.bad_share is not None:
        settings = replace(settings, bad_share=options.bad_share)
    store.remember("settings", as_json(settings))
    faults, phrases = Faults(store), load_phrases(options.answers_dir or PACKAGED)

    def current() -> Settings:
        return changed(Settings(), object_of(store.note("settings")) or {})

    return Lifecycle(
        store=store,
        clock=Clock(store, options.time_scale, options.clock_start),
        faults=faults,
        phrases=phrases,
        settings=current,
        finisher=Finisher(store, faults, phrases, current),
        lock=asyncio.Lock(),
    )


def _settings_of_start(options: SimulatorOptions) -> Settings:
    return replace(Settings(), seed=options.seed or 0, bad_share=options.bad_share or 0.0)


def _die_with(parent: int) -> None:
    """The kernel ends this process when the thread that started it ends: no test leaves a server behind."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(0)  # it was already gone
