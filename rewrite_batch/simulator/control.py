"""The control port, always up and without a key: faults, clock, settings, ledger, state and calls.

    GET    /_sim/health
    POST   /_sim/faults      arm one; answers {"fault_id"}
    GET    /_sim/faults      each with `fired`, `remaining` and `skip_left`
    DELETE /_sim/faults[/ID]
    GET    /_sim/clock       {"now", "scale"}
    POST   /_sim/clock       {"advance_s"}, {"scale"}, or {"until_idle": true}: until every batch has ended
    GET    /_sim/settings    POST the same with changes
    GET    /_sim/ledger[?provider_batch_id=]    GET /_sim/ledger/summary
    GET    /_sim/state       batches, files, and the number of calls by operation
    GET    /_sim/calls[?operation=]
    POST   /_sim/batches/ID  {"status", "share"?, "errors"?}: the provider ends it now
    POST   /_sim/refuse      {"seconds"?}: connections are refused, for so long or until /_sim/accept
    POST   /_sim/reset       as if new: nothing known but the clock and the settings of the start
    POST   /_sim/accept      GET /_sim/refuse: {"refusing", "closings"}

Whoever advances the clock gets an answer when everything that became due has happened.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from rewrite_batch.simulator.books import batch_object, file_object
from rewrite_batch.simulator.door import Door
from rewrite_batch.simulator.jsontext import Json, JsonError, decode, encode, list_of, number_of, object_of
from rewrite_batch.simulator.lifecycle import Lifecycle
from rewrite_batch.simulator.settings import Settings, as_json, changed

Order = Callable[[web.Request], Awaitable[Json]]

_ENDINGS = ("in_progress", "completed", "failed", "expired", "cancelled")


@dataclass
class Control:
    life: Lifecycle
    door: Door
    settings_of_start: Settings

    def application(self) -> web.Application:
        app = web.Application()
        orders: list[tuple[str, str, Order]] = [
            ("GET", "/_sim/health", self._health),
            ("POST", "/_sim/faults", self._arm),
            ("GET", "/_sim/faults", self._faults),
            ("DELETE", "/_sim/faults", self._disarm),
            ("DELETE", "/_sim/faults/{id}", self._disarm),
            ("GET", "/_sim/clock", self._clock),
            ("POST", "/_sim/clock", self._move_clock),
            ("GET", "/_sim/settings", self._settings),
            ("POST", "/_sim/settings", self._change_settings),
            ("GET", "/_sim/ledger", self._ledger),
            ("GET", "/_sim/ledger/summary", self._ledger_summary),
            ("GET", "/_sim/state", self._state),
            ("GET", "/_sim/calls", self._calls),
            ("POST", "/_sim/batches/{id}", self._end_batch),
            ("POST", "/_sim/refuse", self._refuse),
            ("GET", "/_sim/refuse", self._refusing),
            ("POST", "/_sim/accept", self._accept),
            ("POST", "/_sim/reset", self._reset),
        ]
        for method, path, order in orders:
            app.router.add_route(method, path, _answering(order))
        return app

    async def _health(self, _request: web.Request) -> Json:
        return {"ok": True, **self.life.clock.as_json()}

    async def _arm(self, request: web.Request) -> Json:
        return {"fault_id": self.life.faults.arm(await _body(request))}

    async def _faults(self, _request: web.Request) -> Json:
        return {"faults": self.life.faults.as_json()}

    async def _disarm(self, request: web.Request) -> Json:
        chosen = request.match_info.get("id")
        return {"disarmed": self.life.faults.disarm(int(chosen) if chosen else None)}

    async def _clock(self, _request: web.Request) -> Json:
        return self.life.clock.as_json()

    async def _move_clock(self, request: web.Request) -> Json:
        body = await _body(request)
        advance, scale = number_of(body.get("advance_s", 0)), number_of(body.get("scale", 0))
        if advance is None or advance < 0 or scale is None or scale < 0:
            raise ValueError("advance_s and scale are numbers of at least 0: time never goes back")
        if "scale" in body:
            self.life.clock.set_scale(scale)
        self.life.clock.advance(advance)
        await self.life.settle()
        while body.get("until_idle") and (wait := self._next_wait()) is not None:
            self.life.clock.advance(wait)
            await self.life.settle()
        return self.life.clock.as_json()

    def _next_wait(self) -> float | None:
        found = self.life.store.row("SELECT min(next_at) AS at FROM batches")
        if found is None or found["at"] is None:
            return None
        # A little more than the difference: sums of floats must not fall short of the moment.
        return max(0.0, found["at"] - self.life.clock.now()) + 1e-3

    async def _settings(self, _request: web.Request) -> Json:
        return as_json(self.life.settings())

    async def _change_settings(self, request: web.Request) -> Json:
        return self._store_settings(changed(self.life.settings(), await _body(request)))

    def _store_settings(self, settings: Settings) -> Json:
        self.life.store.remember("settings", as_json(settings))
        return as_json(settings)

    async def _ledger(self, request: web.Request) -> Json:
        chosen = request.query.get("provider_batch_id")
        rows = self.life.store.rows(
            "SELECT * FROM ledger WHERE ?1 IS NULL OR provider_batch_id = ?1 ORDER BY seq", chosen
        )
        return {"rows": [dict(row) for row in rows]}

    async def _ledger_summary(self, _request: web.Request) -> Json:
        columns = (
            "count(*) AS lines, coalesce(sum(input_tokens), 0) AS input_tokens,"
            " coalesce(sum(cached_tokens), 0) AS cached_tokens,"
            " coalesce(sum(cache_write_tokens), 0) AS cache_write_tokens,"
            " coalesce(sum(output_tokens), 0) AS output_tokens,"
            " coalesce(sum(reasoning_tokens), 0) AS reasoning_tokens"
        )
        total = self.life.store.row(f"SELECT {columns} FROM ledger")  # noqa: S608 - constant columns
        by_batch = self.life.store.rows(
            f"SELECT provider_batch_id, model, key_fingerprint, {columns} FROM ledger"  # noqa: S608 - constant columns
            " GROUP BY provider_batch_id, model, key_fingerprint ORDER BY min(seq)"
        )
        assert total is not None
        return {"total": dict(total), "batches": [dict(row) for row in by_batch]}

    async def _state(self, _request: web.Request) -> Json:
        await self.life.settle()
        now, store = self.life.clock.now(), self.life.store
        batches = [
            batch_object(row, now) | {"key_fingerprint": row["key_fingerprint"], "visible": row["created_at"] <= now}
            for row in store.rows("SELECT * FROM batches ORDER BY seq")
        ]
        files = [
            file_object(row) | {"gone": row["gone"], "gone_at": row["gone_at"]}
            for row in store.rows("SELECT * FROM files ORDER BY seq")
        ]
        calls = store.rows("SELECT operation, count(*) AS calls FROM calls GROUP BY operation ORDER BY operation")
        return {
            "now": now,
            "batches": batches,
            "files": files,
            "calls": {row["operation"]: row["calls"] for row in calls},
        }

    async def _calls(self, request: web.Request) -> Json:
        chosen = request.query.get("operation")
        rows = self.life.store.rows("SELECT * FROM calls WHERE ?1 IS NULL OR operation = ?1 ORDER BY seq", chosen)
        return {"calls": [dict(row) for row in rows]}

    async def _end_batch(self, request: web.Request) -> Json:
        body = await _body(request)
        status, share = body.get("status"), body.get("share")
        if status not in _ENDINGS or (share is not None and not 0 <= (number_of(share) or 0.0) <= 1):
            raise ValueError(f"status is one of {', '.join(_ENDINGS)}, share is between 0 and 1")
        errors = list_of(body.get("errors"))
        await self.life.force(request.match_info["id"], status, share=number_of(share), errors=errors)
        return {"ended": request.match_info["id"]}

    async def _refuse(self, request: web.Request) -> Json:
        body = await _body(request)
        if set(body) - {"seconds"} or ("seconds" in body and number_of(body["seconds"]) is None):
            raise ValueError("refuse takes seconds (real ones) or nothing: refused connections cannot be counted")
        await self.door.refuse(number_of(body.get("seconds")))
        return await self._refusing(request)

    async def _refusing(self, _request: web.Request) -> Json:
        return {"refusing": not self.door.is_open, "closings": self.door.closings}

    async def _accept(self, request: web.Request) -> Json:
        await self.door.open()
        return await self._refusing(request)

    async def _reset(self, _request: web.Request) -> Json:
        async with self.life.lock:
            self.life.store.wipe(keep="clock")
            self._store_settings(self.settings_of_start)
        await self.door.open()
        return self.life.clock.as_json()


def _answering(order: Order) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handler(request: web.Request) -> web.StreamResponse:
        try:
            status, answer = 200, await order(request)
        except ValueError as wrong:
            status, answer = 400, {"error": str(wrong)}
        return web.Response(status=status, body=encode(answer), content_type="application/json")

    return handler


async def _body(request: web.Request) -> Json:
    raw = await request.read()
    try:
        body = object_of(decode(raw or b"{}"))
    except JsonError:
        body = None
    if body is None:
        raise ValueError("the body is not a JSON object")
    return body
