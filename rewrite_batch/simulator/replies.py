"""What work answers, before it goes on the wire: a Reply, or an ApiError in the provider's shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rewrite_batch.simulator.jsontext import Json


def _no_headers() -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Reply:
    """One of: a JSON payload, a file to stream, or raw bytes."""

    status: int = 200
    payload: Json | None = None
    path: Path | None = None
    raw: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=_no_headers)


class ApiError(Exception):
    """The request is answered with an error of the provider's shape."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = error_body(message, kind=kind, code=code, param=param)
        self.headers = dict(headers or {})

    def reply(self) -> Reply:
        return Reply(status=self.status, payload=self.body, headers=self.headers)


def error_body(message: str, *, kind: str, code: str | None = None, param: str | None = None) -> Json:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
