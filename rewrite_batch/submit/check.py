"""Check: a claimed row comes in; what is needed to send it goes out, or why it must not be sent. Nothing was spent yet.

Pure, and it never raises. A refusal is a job and a reason code; it never quotes the row. The first that applies, in
this order:

    poison                      claimed more than MAX_IDLE_CLAIMS times without reaching the provider
    routing_invalid             no RoutingDecisionV1, or one whose policy version is not the request's
    unsupported_adapter         no adapter here for this provider and adapter kind; never another instead
    unsupported_execution_mode  only `batch` goes out here
    base_url_not_allowed        an address that is not on the allow-list: the key never goes to a host that a row names
    unknown_prompt_version      no prompt file of that name
    locale_unknown              source or target names no language
    request_invalid             no RewriteRequestV1 of this unit
    snapshot_missing            the recipient's snapshot or preference snapshot is gone

A tenth, `line_too_large`, is known only after rendering.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from uuid import UUID

from pydantic import ValidationError

from rewrite_batch.contracts.shapes import RewriteRequestV1, RoutingDecisionV1
from rewrite_batch.submit.prompts import Prompt

Reason = Literal[
    "poison",
    "routing_invalid",
    "unsupported_adapter",
    "unsupported_execution_mode",
    "base_url_not_allowed",
    "unknown_prompt_version",
    "locale_unknown",
    "request_invalid",
    "snapshot_missing",
    "line_too_large",
]
MAX_IDLE_CLAIMS = 10
# Provider and adapter kind: an adapter alone would send one provider's job to another's address.
ADAPTERS = frozenset({("openai", "openai_responses")})

_REQUEST_LOCALES: frozenset[tuple[int | str, ...]] = frozenset({("source_locale",), ("target_locale",)})
_ALL_LOCALES = _REQUEST_LOCALES | {("context_pack", "target_language"), ("classifier_result", "detected_language")}
# Narrower than a URL may be. No user, query, fragment, escape or backslash: there is nothing to misread.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[1-9][0-9]{0,4}))?(?P<path>(?:/.*)?)",
    re.IGNORECASE | re.ASCII,
)
_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)*")
_DEFAULT_PORT = {"http": "80", "https": "443"}


@dataclass(slots=True)  # frozen would cost as much again as reading the row
class Row:
    """A claimed job with what its request holds. Documents are JSON as stored, None when there is none."""

    job_id: UUID
    rewrite_request_id: UUID
    recipient_user_id: UUID
    attempt_count: int
    claim_count: int
    routing: str | bytes | None
    request: str | bytes | None
    has_recipient_snapshot: bool
    has_preference_snapshot: bool

    def __repr__(self) -> str:  # a repr ends up in a log, and the request holds a family's words
        return f"Row(job_id={self.job_id!r})"


@dataclass(slots=True)
class Kept:
    job_id: UUID
    request: RewriteRequestV1
    routing: RoutingDecisionV1
    prompt: Prompt
    base_url: str | None  # in its one spelling; None is the provider's own address


@dataclass(frozen=True, slots=True)
class Refusal:
    job_id: UUID
    reason: Reason


@dataclass(frozen=True, slots=True)
class Allowed:
    """What this installation can send, and where to. `base_urls` are in their one spelling, as `allow` makes them."""

    base_urls: frozenset[str]
    prompts: Mapping[str, Prompt]
    adapters: Collection[tuple[str, str]] = ADAPTERS


def allow(base_urls: Collection[str], prompts: Mapping[str, Prompt]) -> Allowed:
    """A URL that cannot be read allows nothing."""
    known = (normalise_base_url(url) for url in base_urls)
    return Allowed(frozenset(url for url in known if url), prompts)


def check(row: Row, allowed: Allowed) -> Kept | Refusal:
    if row.claim_count - row.attempt_count > MAX_IDLE_CLAIMS:
        return Refusal(row.job_id, "poison")
    routing = _routing(row.routing)
    if routing is None:
        return Refusal(row.job_id, "routing_invalid")
    unsupported = _unsupported(routing, allowed)
    if unsupported:
        return Refusal(row.job_id, unsupported)
    request = _request(row)
    if not isinstance(request, RewriteRequestV1):
        return Refusal(row.job_id, request)
    if routing.policy_version != request.policy_version:
        return Refusal(row.job_id, "routing_invalid")
    if not (row.has_recipient_snapshot and row.has_preference_snapshot):
        return Refusal(row.job_id, "snapshot_missing")
    base_url = normalise_base_url(routing.base_url) if routing.base_url else None
    return Kept(row.job_id, request, routing, allowed.prompts[routing.prompt_version], base_url)


def normalise_base_url(url: str) -> str | None:
    """One spelling an address: lower-case scheme and host, no default port, no slash at the end; else None."""
    match = _URL.fullmatch(url)
    if match is None:
        return None
    scheme, host, port, path = match["scheme"].lower(), match["host"].lower(), match["port"], match["path"]
    path = path.removesuffix("/")
    if not _PATH.fullmatch(path) or int(port or 0) > 65_535:
        return None
    return f"{scheme}://{host}{f':{port}' if port and port != _DEFAULT_PORT[scheme] else ''}{path}"


@lru_cache(maxsize=256)  # thousands of jobs are routed alike, and a routing holds no text
def _routing(document: str | bytes | None) -> RoutingDecisionV1 | None:
    try:
        return RoutingDecisionV1.from_json(document) if document else None
    except ValueError:  # a ValidationError is a ValueError, and so is a broken encoding
        return None


def _unsupported(routing: RoutingDecisionV1, allowed: Allowed) -> Reason | None:
    if (routing.provider, routing.adapter_kind) not in allowed.adapters:
        return "unsupported_adapter"
    if routing.execution_mode != "batch":
        return "unsupported_execution_mode"
    if routing.base_url is not None and normalise_base_url(routing.base_url) not in allowed.base_urls:
        return "base_url_not_allowed"
    if routing.prompt_version not in allowed.prompts:
        return "unknown_prompt_version"
    return None


def _request(row: Row) -> RewriteRequestV1 | Literal["locale_unknown", "request_invalid"]:
    try:
        request = RewriteRequestV1.from_json(row.request) if row.request else None
    except ValidationError as error:
        return "locale_unknown" if _only_locales(error) else "request_invalid"
    except ValueError:
        return "request_invalid"
    unit = (row.rewrite_request_id, row.recipient_user_id)
    if request is None or (request.rewrite_request_id, request.recipient_user_id) != unit:
        return "request_invalid"
    return request


def _only_locales(error: ValidationError) -> bool:
    """Nothing is wrong but locales that name no language, one of the request's own among them."""
    found = error.errors(include_input=False, include_context=False, include_url=False)
    places = {one["loc"] for one in found}
    unreadable = all(one["type"] == "value_error" for one in found)
    return unreadable and places <= _ALL_LOCALES and not places.isdisjoint(_REQUEST_LOCALES)
