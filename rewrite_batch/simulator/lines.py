"""One input line becomes one result line: answered and billed, failed with an HTTP status, or never run."""

from dataclasses import dataclass, replace
from typing import Any

from rewrite_batch.simulator.faults import Fault
from rewrite_batch.simulator.jsontext import Json, encode
from rewrite_batch.simulator.lots import digest
from rewrite_batch.simulator.model import Draft, Odds, draft_answer, line_lot
from rewrite_batch.simulator.phrases import Phrases
from rewrite_batch.simulator.replies import error_body
from rewrite_batch.simulator.request_body import BodyError, Request, read_ask, read_request
from rewrite_batch.simulator.response_object import Usage, measure, response_object
from rewrite_batch.simulator.settings import Settings

_HTTP_ERRORS: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", "invalid_prompt", "The request was refused."),
    429: ("rate_limit_error", "rate_limit_exceeded", "Rate limit reached for this model."),
    500: ("server_error", "server_error", "The server had an error while processing your request."),
}


@dataclass(frozen=True)
class Outcome:
    """What becomes of a line. Only a line with `usage` is billed."""

    line: Json
    is_error: bool = False
    usage: Usage | None = None
    response_id: str = ""
    response_status: str = ""


@dataclass(frozen=True)
class Slot:
    """A line's place in its batch, from which its ids follow."""

    custom_id: str
    lot: bytes

    def identifier(self, prefix: str) -> str:
        return prefix + self.lot.hex()[:48]

    def line(self, response: Json | None, error: Json | None = None) -> Json:
        return {
            "id": self.identifier("batch_req_"),
            "custom_id": self.custom_id,
            "response": response,
            "error": error,
        }

    def answered(self, code: int, body: Json | None) -> Json:
        return self.line({"status_code": code, "request_id": self.identifier("req_")[:36], "body": body})


class LineRunner:
    """Runs the lines of one batch in the order given; remembers instructions it has seen, as a cache does."""

    def __init__(self, phrases: Phrases, settings: Settings, provider_batch_id: str) -> None:
        self._phrases = phrases
        self._settings = settings
        self._odds = Odds(settings)
        self._batch = provider_batch_id
        self._cached: set[str] = set()

    def run(self, custom_id: str, body: object, at: float, fault: Fault | None, *, again: bool = False) -> Outcome:
        """`again` asks for a second answer to the same line, which differs from the first."""
        slot = self._slot(custom_id, "again" if again else "")
        try:
            request = read_request(body)
        except BodyError as refused:
            return Outcome(slot.answered(400, refused.body), is_error=True)
        lot = line_lot(self._settings.seed, request)
        sort = fault.kind if fault else self._odds.draw(lot, slot.lot)
        failure = self._failure(slot, sort, fault.spec if fault else {})
        if failure is not None:
            return failure
        ask = read_ask(request.user_text)
        draft = draft_answer(self._phrases, self._settings, ask, sort, lot, limit=request.max_output_tokens)
        draft = _with_beginning(draft, "— ") if again else _bent(draft, fault)
        return self._answered(slot, request, draft, lot, at)

    def never_ran(self, custom_id: str, code: str) -> Outcome:
        error = {"code": code, "message": "This request could not be executed before the batch ended."}
        return Outcome(self._slot(custom_id).line(None, error), is_error=True)

    def _failure(self, slot: Slot, sort: str | None, spec: Json) -> Outcome | None:
        """The line that no model answered, if it is of such a sort."""
        if sort == "status_zero":
            return Outcome(slot.answered(0, None))
        if sort == "never_ran":
            return self.never_ran(slot.custom_id, spec.get("error_code", "batch_expired"))
        if sort is None or not sort.startswith("http_"):
            return None
        code = int(spec.get("code", 500)) if sort == "http_status" else int(sort[-3:])
        return Outcome(slot.answered(code, http_error(code, spec)), is_error=True)

    def _answered(self, slot: Slot, request: Request, draft: Draft, lot: bytes, at: float) -> Outcome:
        instructions = request.instructions or ""
        usage = measure(request, draft, lot, seen_before=instructions in self._cached)
        self._cached.add(instructions)
        response_id = slot.identifier("resp_")
        response = response_object(request, draft, usage, response_id, at)
        return Outcome(slot.answered(200, response), usage=usage, response_id=response_id, response_status=draft.status)

    def _slot(self, custom_id: str, take: str = "") -> Slot:
        return Slot(custom_id, digest(self._settings.seed, self._batch, custom_id, take))


def http_error(code: int, chosen: Json) -> Json:
    """The body of an HTTP failure; a fault may choose its type and code."""
    kind, error_code, message = _HTTP_ERRORS.get(code, _HTTP_ERRORS[500 if code >= 500 else 400])
    return error_body(
        chosen.get("message", message),
        kind=chosen.get("error_type", kind),
        code=chosen.get("error_code", error_code),
    )


def _bent(draft: Draft, fault: Fault | None) -> Draft:
    """The shapes that only a fault asks for."""
    if fault is None:
        return draft
    if fault.kind == "split_message":
        return replace(draft, split_message=True)
    if fault.kind == "legacy_usage":
        return replace(draft, legacy_usage=True)
    odd = {"nul": "\\u0000", "lone_surrogate": "\\ud800", "line_separator": "\u2028\u2029\u0085"}.get(fault.kind)
    if odd is None:
        return draft
    if fault.spec.get("level") == "outer":
        # Here the escape is the line's own, not that of the JSON inside it.
        odd = {"nul": "\x00", "lone_surrogate": "\ud800"}.get(fault.kind, odd)
    return _with_beginning(draft, odd)


def _with_beginning(draft: Draft, beginning: str) -> Draft:
    """The same answer, its rewritten text beginning with something else."""
    head, quote, tail = draft.text.partition(': "')
    return replace(draft, text=head + quote + beginning + tail)


def shaped(line: Json, second: Json | None, fault: Fault | None) -> bytes:
    """The bytes of a result line, its newline included, written as the fault wants."""
    raw = encode(line)
    if fault is None:
        return raw + b"\n"
    stranger: dict[str, Any] = line | {"custom_id": "nobody_" + str(line["id"])[-12:]}
    written: dict[str, bytes] = {
        "duplicate": raw + b"\n" + raw + b"\n",
        "duplicate_different": raw + b"\n" + encode(second or line) + b"\n",
        "missing": b"",
        "malformed_line": raw[: len(raw) * 2 // 3] + b"\n",
        "unknown_custom_id": encode(stranger) + b"\n",
        "extra_line": raw + b"\n" + encode(stranger) + b"\n",
        "bom": b"\xef\xbb\xbf" + raw + b"\n",
        "raw_nul": raw[:-1] + b"\x00" + raw[-1:] + b"\n",
        "blank_line": raw + b"\n\n",
        "crlf": raw + b"\r\n",
    }
    return written[fault.kind]
