"""Logs: one line an event, to stderr, with the run's id; JSON unless a person is looking.

No family's words may get here, whoever writes the log call. So nothing passes that could hold them: the event and
every string must look like an id or a code (no spaces), every key must be on the list below, and an exception is
logged as its class and the places in our code, never its message. What does not pass is replaced and named in
`refused_keys`; a test holds the calls in this package to the list.
"""

import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO, cast
from uuid import UUID

import structlog

from rewrite_batch.settings import Settings

KEYS = frozenset(
    [
        "event",
        "level",
        "timestamp",
        "run_id",
        "command",
        "worker",
        "environment",
        "version",
        "exit_code",
        "error_class",
        "where",
        "refused_keys",
        "signal",
        "database_version",
        "migration",
        "state",
        "seconds",
        "count",
        "lines",
        "items",
        "bytes",
        "enqueued",
        "exists",
        "differs",
        "refused",
        "batch_id",
        "batch_item_index",
        "provider_batch_id",
        "job_id",
        "rewrite_request_id",
        "attempt",
        "reason",
        "outcome",
        "status_code",
        "request_id",
        "model",
        "provider",
        "source_locale",
        "target_locale",
        "operation",
        "url_host",
        "file_id",
        "tries",
        "kind",
    ]
)
CODE_LIKE = re.compile(r"[A-Za-z0-9_.:/@+=,-]{0,200}")
REFUSED = "[refused]"

Event = MutableMapping[str, Any]


def configure_logging(settings: Settings, *, run_id: UUID, command: str, stream: TextIO | None = None) -> None:
    out = stream or sys.stderr
    as_json = settings.log_format == "json" or (settings.log_format == "auto" and not out.isatty())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            describe_exception,
            refuse_text,
            structlog.processors.JSONRenderer(default=str)
            if as_json
            else structlog.dev.ConsoleRenderer(colors=out.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(settings.log_level),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(run_id=str(run_id), command=command)


def get_log() -> structlog.typing.FilteringBoundLogger:
    return cast("structlog.typing.FilteringBoundLogger", structlog.get_logger())


def describe_exception(_logger: Any, _method: str, event: Event) -> Event:
    """An exception's message may quote a row: keep its class and where it was raised."""
    given = event.pop("exc_info", None)
    error = sys.exc_info()[1] if given is True else given
    if isinstance(error, BaseException):
        event["error_class"] = type(error).__name__
        event["where"] = where(error)
    return event


def where(error: BaseException) -> str:
    """The innermost places of our own code that the exception passed, as file:line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "rewrite_batch" in Path(f.filename).parts] or list(frames)
    return ",".join(f"{Path(f.filename).name}:{f.lineno}" for f in ours[-3:])


def refuse_text(_logger: Any, _method: str, event: Event) -> Event:
    kept = {key: value if key in KEYS and _is_safe(value) else REFUSED for key, value in event.items()}
    refused = sorted(key if CODE_LIKE.fullmatch(key) else REFUSED for key in event if kept[key] is REFUSED)
    clean: dict[str, Any] = {key: value for key, value in kept.items() if key in KEYS}
    return {**clean, "refused_keys": refused} if refused else clean


def _is_safe(value: object) -> bool:
    if isinstance(value, str):
        return CODE_LIKE.fullmatch(value) is not None
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return all(_is_safe(key) and _is_safe(inner) for key, inner in items)
    return value is None or isinstance(value, (bool, int, float, Decimal, UUID, datetime, date, timedelta))
