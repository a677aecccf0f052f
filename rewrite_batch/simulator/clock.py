"""Virtual time: it runs at a scale of real time, can be pushed, never goes back and survives a restart.

With scale 0 it stands still between pushes, which makes every timestamp of a test exact.
"""

import time

from rewrite_batch.simulator.jsontext import Json, object_of
from rewrite_batch.simulator.store import Store


class Clock:
    def __init__(self, store: Store, scale: float | None, start: float | None) -> None:
        self._store = store
        kept = object_of(store.note("clock"))
        real = time.time()
        self._scale = float(kept["scale"]) if kept else 1.0
        self._real = float(kept["real"]) if kept else real
        self._virtual = float(kept["virtual"]) if kept else (real if start is None else start)
        if scale is not None:
            self.set_scale(scale)
        else:
            self._anchor()

    def now(self) -> float:
        return self._virtual + max(0.0, time.time() - self._real) * self._scale

    def advance(self, seconds: float) -> None:
        self._anchor(seconds)

    def set_scale(self, scale: float) -> None:
        self._anchor()
        self._scale = scale
        self._anchor()

    def _anchor(self, push: float = 0.0) -> None:
        """Start counting from here: what passed at the old scale stays passed."""
        self._virtual = self.now() + push
        self._real = time.time()
        self._store.remember("clock", {"scale": self._scale, "real": self._real, "virtual": self._virtual})

    def as_json(self) -> Json:
        return {"now": self.now(), "scale": self._scale}
