"""The provider's port: a request arrives, its key is checked, the work is done, the answer leaves.

This is the one place where faults meet calls, in this order: delay, faults before the work, the work, faults
of its answer, faults of the wire. Whatever was answered is committed before it is sent.
"""

import asyncio
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from rewrite_batch.simulator import calls
from rewrite_batch.simulator.batches import Batches
from rewrite_batch.simulator.calls import Call
from rewrite_batch.simulator.direct import Direct
from rewrite_batch.simulator.faults import Fault
from rewrite_batch.simulator.files import Files
from rewrite_batch.simulator.jsontext import JsonError, decode, object_of
from rewrite_batch.simulator.lifecycle import Lifecycle
from rewrite_batch.simulator.lots import digest
from rewrite_batch.simulator.replies import ApiError, Reply
from rewrite_batch.simulator.sabotage import html_reply, spoiled, status_reply
from rewrite_batch.simulator.upload import receive
from rewrite_batch.simulator.wire import hang, pause, reset, send, spoilable

_LARGEST_JSON = 32 << 20
_WIRE_KINDS = ("truncate", "corrupt", "slow_body")
_WORK_KINDS = ("late_create", "stale_list")

Work = Callable[[Call], Reply]


@dataclass
class Api:
    life: Lifecycle
    api_key: str
    stopping: asyncio.Event

    def application(self) -> web.Application:
        app = web.Application(client_max_size=_LARGEST_JSON)
        files, batches, direct = Files(self.life), Batches(self.life), Direct(self.life)
        self._add(app, "POST", "/v1/files", "files.create", None)
        self._add(app, "GET", "/v1/files", "files.list", files.list)
        self._add(app, "GET", "/v1/files/{id}", "files.retrieve", files.retrieve)
        self._add(app, "GET", "/v1/files/{id}/content", "files.content", files.content)
        self._add(app, "DELETE", "/v1/files/{id}", "files.delete", files.delete)
        self._add(app, "POST", "/v1/batches", "batches.create", batches.create)
        self._add(app, "GET", "/v1/batches", "batches.list", batches.list)
        self._add(app, "GET", "/v1/batches/{id}", "batches.retrieve", batches.retrieve)
        self._add(app, "POST", "/v1/batches/{id}/cancel", "batches.cancel", batches.cancel)
        self._add(app, "POST", "/v1/responses", "responses.create", direct.respond)
        self._add(app, "POST", "/v1/responses/input_tokens", "responses.input_tokens", direct.count)
        self._add(app, "GET", "/v1/models", "models.list", direct.models)
        self._add(app, "GET", "/v1/models/{id}", "models.retrieve", direct.model)
        app.router.add_route("*", "/{path:.*}", self._nowhere)
        return app

    def _add(self, app: web.Application, method: str, path: str, operation: str, work: Work | None) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            try:
                return await self._handle(request, operation, work)
            except ConnectionError:
                return web.Response()  # the client went away in the middle: nobody is left to tell

        app.router.add_route(method, path, handler)

    async def _nowhere(self, request: web.Request) -> web.StreamResponse:
        error = ApiError(404, f"Invalid URL ({request.method} {request.path})")
        return await send(request, error.reply(), self._headers(0, time.monotonic()), None)

    async def _handle(self, request: web.Request, operation: str, work: Work | None) -> web.StreamResponse:
        began = time.monotonic()
        store = self.life.store
        who = self._who(request)
        target = request.match_info.get("id")
        seq = calls.begin(store, operation, target, self.life.clock.now(), who)
        if who is None:
            calls.end(store, seq, 401, None)
            return await send(request, _unauthorized().reply(), self._headers(seq, began), None)
        call = Call(operation, target, who, seq, began, query=dict(request.query))
        try:
            if work is not None and request.method == "POST" and operation != "batches.cancel":
                call.body = await _json_body(request)
        except ApiError as error:
            calls.end(store, seq, error.status, None)
            return await send(request, error.reply(), self._headers(seq, began), None)
        delay, fault = self.life.faults.pick(operation, calls.facts(store, call))
        if delay and self.life.faults.fire(delay):
            await pause(self.stopping, float(delay.spec.get("seconds", 1)))
        return await self._under_fault(request, call, work, fault)

    async def _under_fault(
        self, request: web.Request, call: Call, work: Work | None, fault: Fault | None
    ) -> web.StreamResponse:
        store, faults = self.life.store, self.life.faults
        seq, headers = call.seq, self._headers(call.seq, call.began)
        if fault and _before_work(fault) and faults.fire(fault):
            calls.end(store, seq, None, fault)
            return await self._instead(request, fault, headers)
        call.fault = fault
        reply = await self._work(request, call, work)
        if fault and fault.kind in ("reset_after", "hang_after", "late_create"):
            took = call.carried_out or fault.kind != "late_create"
            if took and faults.fire(fault):
                calls.end(store, seq, None, fault)
                return await hang(request, self.stopping) if fault.kind == "hang_after" else reset(request)
        changed = self._spoil(reply, call, fault)
        fired = changed if fault and changed and faults.fire(fault) else None
        calls.end(store, seq, (fired or reply).status, fault if fired else None)
        wire = fault if fired and fault and fault.kind in _WIRE_KINDS else None
        return await send(request, fired or reply, headers, wire)

    async def _instead(self, request: web.Request, fault: Fault, headers: dict[str, str]) -> web.StreamResponse:
        """What happens when no work is done at all."""
        if fault.kind == "reset_before":
            return reset(request)
        if fault.kind == "hang_before":
            return await hang(request, self.stopping)
        async for _ in request.content.iter_any():
            pass  # the client must be able to finish sending before it hears the error
        return await send(request, status_reply(fault.spec) if fault.kind == "status" else html_reply(), headers, None)

    async def _work(self, request: web.Request, call: Call, work: Work | None) -> Reply:
        """The work itself: nothing may come between `settle` and it, or a transition could slip in."""
        try:
            if work is None:
                return await self._upload(request, call)
            await self.life.settle()
            return work(call)
        except ApiError as error:
            return error.reply()

    async def _upload(self, request: web.Request, call: Call) -> Reply:
        number = self.life.store.next_number("uploads")
        received = self.life.store.bodies / f"upload-{number}.tmp"
        try:
            upload = await receive(request, received, self.life.settings().max_file_bytes)
            return Files(self.life).create(call, upload, received)
        finally:
            received.unlink(missing_ok=True)

    def _spoil(self, reply: Reply, call: Call, fault: Fault | None) -> Reply | None:
        if fault is None:
            return None
        if fault.kind in _WORK_KINDS:
            return reply if call.carried_out else None
        if fault.kind in _WIRE_KINDS:
            return reply if spoilable(reply, fault) else None
        return spoiled(reply, fault)

    def _who(self, request: web.Request) -> str | None:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        right = scheme.lower() == "bearer" and hmac.compare_digest(key.encode(), self.api_key.encode())
        return calls.fingerprint(key) if right else None

    def _headers(self, seq: int, began: float) -> dict[str, str]:
        return {
            "x-request-id": "req_" + digest("call", seq).hex()[:32],
            "openai-processing-ms": str(int((time.monotonic() - began) * 1000)),
            "openai-version": "2020-10-01",
            "openai-organization": "org-simulated",
        }


def _before_work(fault: Fault) -> bool:
    if fault.kind in ("status", "html"):
        return not fault.spec.get("after_work", False)
    return fault.kind in ("reset_before", "hang_before")


def _unauthorized() -> ApiError:
    return ApiError(401, "Incorrect API key provided.", code="invalid_api_key")


async def _json_body(request: web.Request) -> dict[str, object]:
    try:
        body = object_of(decode(await request.read()))
    except JsonError:
        body = None
    if body is None:
        raise ApiError(400, "We could not parse the JSON body of your request.")
    return body
