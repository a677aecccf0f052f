"""The provider's client as this program wants it, and the mapping of its errors to ours.

An SDK error's message may quote what was sent: only its class, status code and error code go on. Whether a failed call
did something is the question that matters, so it is the type of the error: ProviderRefused is a definite no,
ProviderUnavailable is not known.
"""

import random
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import SecretStr

from rewrite_batch.errors import (
    AddressNotAllowed,
    ConfigurationError,
    ProviderRefused,
    ProviderUnavailable,
    RewriteBatchError,
)
from rewrite_batch.settings import Settings

if TYPE_CHECKING:
    import openai

# What the SDK raises on a 200 whose body is not JSON, or is not the object that it expects.
UNREADABLE = (ValueError, AttributeError, TypeError)
DEFINITE = frozenset({400, 401, 403, 404, 413, 422, 429})
TRIES = 3
LONGEST_PAUSE_S = 30.0
T = TypeVar("T")
# The package takes a second to load. A run that finds nothing to do never does, and one that has work loads it beside
# the first claims.
Client: TypeAlias = "openai.OpenAI"
CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")


@contextmanager
def provider_client(settings: Settings, base_url: str | None = None) -> Generator[Client]:
    """No hidden retries: whoever calls decides what may be sent again. No redirects: the key and the families' words
    go to the address that was asked for, or nowhere. The address is always named: left out, the SDK would read it from
    the environment.
    """
    import openai  # noqa: PLC0415

    with openai.OpenAI(
        api_key=require_key(settings).get_secret_value(),
        base_url=allowed_address(settings, base_url),
        timeout=settings.provider_timeout_s,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(follow_redirects=False),
    ) as client:
        yield client


def allowed_address(settings: Settings, base_url: str | None) -> str:
    """Of a batch on record, perhaps made under other settings: the key goes only to a host that a setting names."""
    if base_url is None:
        return settings.provider_address
    if _spelling(base_url) not in {_spelling(url) for url in (settings.provider_address, *settings.base_urls)}:
        raise AddressNotAllowed(
            f"batches were sent to {urlsplit(base_url).hostname}, which no setting names any more: "
            "add the old address to REWRITE_BATCH_ALLOWED_BASE_URLS until they are done"
        )
    return base_url


def _spelling(url: str) -> tuple[object, ...]:
    try:
        parts = urlsplit(url)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:  # no address: it is like itself alone
        return (url,)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def require_key(settings: Settings) -> SecretStr:
    if settings.openai_api_key is None:
        raise ConfigurationError("OPENAI_API_KEY is not set: set it to the provider's key")
    return settings.openai_api_key


def check_reachable(settings: Settings) -> None:
    """Read the newest batch, or that there is none: the address answers and the key is good."""
    with plain_errors(), provider_client(settings) as client:
        client.batches.list(limit=1)


def repeat(call: Callable[[], T], *, base_s: float) -> T:
    """For calls that do no harm twice: three tries, the pause doubling. A definite no is final, but for 429."""
    for attempt in range(TRIES):
        try:
            with plain_errors():
                return call()
        except ProviderUnavailable as error:
            wait = min(base_s * 2**attempt, LONGEST_PAUSE_S)
            if isinstance(error, ProviderRefused):
                if error.status != 429 or error.code == "insufficient_quota":
                    raise
                wait = max(wait, error.retry_after_s or 0.0)
            if attempt == TRIES - 1 or wait > LONGEST_PAUSE_S:
                raise
            time.sleep(wait + random.uniform(0, min(1.0, base_s)))  # noqa: S311  jitter, not a secret
    raise AssertionError


@contextmanager
def plain_errors() -> Generator[None]:
    import openai  # noqa: PLC0415

    try:
        yield
    except (openai.OpenAIError, *UNREADABLE) as error:
        plain = explain(error)
    else:
        return
    raise plain from None


def explain(error: Exception) -> RewriteBatchError:
    import openai  # noqa: PLC0415

    if isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)):
        return ConfigurationError(f"the provider refuses the key ({error.status_code}): check OPENAI_API_KEY")
    if isinstance(error, openai.APITimeoutError):
        return ProviderUnavailable("the provider did not answer in time")
    if isinstance(error, openai.APIConnectionError):
        advice = "check the network and REWRITE_BATCH_PROVIDER_BASE_URL"
        if _never_connected(error):
            return ProviderRefused(f"the provider cannot be reached: {advice}")
        return ProviderUnavailable(f"the connection to the provider broke: {advice}")
    if isinstance(error, openai.APIStatusError):
        said = f"the provider answered {error.status_code}"
        if error.status_code in DEFINITE:
            code = str(error.code or "")
            return ProviderRefused(
                said,
                status=error.status_code,
                code=code if CODE.fullmatch(code) else "",
                retry_after_s=retry_after(
                    error.response.headers.get("retry-after-ms"), error.response.headers.get("retry-after")
                ),
            )
        if is_redirect(error.status_code):
            said = f"{said}, a redirect: set REWRITE_BATCH_PROVIDER_BASE_URL to where it really is"
        return ProviderUnavailable(said, status=error.status_code)
    return ProviderUnavailable(f"the provider's answer could not be read ({type(error).__name__})")


def is_redirect(status: int) -> bool:
    return 300 <= status < 400


def _never_connected(error: "openai.APIConnectionError") -> bool:
    """Refused, or no such host: no byte of the request was sent."""
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__name__ in {"ConnectError", "ConnectTimeout"} or isinstance(cause, ConnectionRefusedError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def retry_after(milliseconds: str | None, value: str | None) -> float | None:
    """`retry-after-ms`, or else Retry-After, which is seconds or a date. Nonsense and the past count as absent."""
    readings = (_seconds(milliseconds, 1000), _seconds(value, 1), _until(value))
    return next((seconds for seconds in readings if seconds is not None and seconds > 0), None)


def _seconds(text: str | None, divisor: int) -> float | None:
    return float(text) / divisor if text and re.fullmatch(r"\s*[0-9]{1,12}(\.[0-9]{1,6})?\s*", text) else None


def _until(text: str | None) -> float | None:
    try:
        return (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds() if text else None
    except (ValueError, TypeError):
        return None
