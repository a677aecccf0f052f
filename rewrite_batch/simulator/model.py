"""The stand-in model: an ask and a lot go in, a draft of an answer comes out, good or bad in a known way.

The lot follows from the seed and the line's content without its id, so a retried line gets the same answer.
Failures of the service itself (`TRANSIENT`) follow from the batch instead: a retry may get through.
"""

from dataclasses import dataclass
from itertools import accumulate

from rewrite_batch.simulator.jsontext import encode
from rewrite_batch.simulator.lots import digest, fraction
from rewrite_batch.simulator.phrases import Phrases
from rewrite_batch.simulator.request_body import Ask, Request
from rewrite_batch.simulator.settings import Settings
from rewrite_batch.simulator.tokens import count_tokens

ANSWERS = (
    "refusal",
    "truncated",
    "content_filter",
    "wrong_language",
    "wrong_label",
    "profanity",
    "blame",
    "authority",
    "echo",
    "broken_json",
    "extra_keys",
    "empty",
    "no_message",
    "failed_response",
)
PERMANENT = ("http_400",)
TRANSIENT = ("http_429", "http_500", "status_zero")
BAD_CLASSES = ANSWERS + PERMANENT + TRANSIENT


@dataclass(frozen=True)
class Draft:
    """What the model wrote, before it is put in a Response."""

    text: str = ""
    refusal: str | None = None
    status: str = "completed"
    incomplete_reason: str | None = None
    has_message: bool = True
    split_message: bool = False
    legacy_usage: bool = False


_WITHOUT_TEXT = {
    "content_filter": Draft(status="incomplete", incomplete_reason="content_filter"),
    "failed_response": Draft(status="failed", has_message=False),
    "no_message": Draft(has_message=False),
}


def line_lot(seed: int, request: Request) -> bytes:
    return digest(seed, request.model, request.instructions, request.user_text)


class Odds:
    """The shares of the settings as a wheel, made once a batch: which class of bad answer falls to a line."""

    def __init__(self, settings: Settings) -> None:
        shares = settings.bad_shares or dict.fromkeys(BAD_CLASSES, settings.bad_share / len(BAD_CLASSES))
        self._lasting = _wheel(shares, ANSWERS + PERMANENT)
        self._passing = _wheel(shares, TRANSIENT)

    def draw(self, lot: bytes, place: bytes) -> str | None:
        """`place` is the lot of the batch and the line, `lot` that of the line's content alone."""
        return _stop(self._passing, fraction(place, 0)) or _stop(self._lasting, fraction(lot, 0))


def _wheel(shares: dict[str, float], names: tuple[str, ...]) -> list[tuple[str, float]]:
    ends = accumulate(shares.get(name, 0.0) for name in names)
    return list(zip(names, ends, strict=True))


def _stop(wheel: list[tuple[str, float]], drawn: float) -> str | None:
    if drawn >= wheel[-1][1]:
        return None
    return next(name for name, end in wheel if drawn < end)


def draft_answer(
    phrases: Phrases, settings: Settings, ask: Ask, sort: str | None, lot: bytes, *, limit: int | None
) -> Draft:
    """The answer of this sort; None is a good one, which may still come in an awkward shape."""
    spoken = ask.target_language if phrases.knows(ask.target_language) else "en"
    if sort == "refusal":
        return Draft(refusal=phrases.refusal(spoken, lot))
    if sort in _WITHOUT_TEXT:
        return _WITHOUT_TEXT[sort]
    text = _text(phrases, ask, spoken, sort, lot)
    if sort == "truncated":
        return Draft(text=text[: len(text) // 2], status="incomplete", incomplete_reason="max_output_tokens")
    if limit is not None and count_tokens(text) > limit:
        return Draft(text=_cut(text, limit), status="incomplete", incomplete_reason="max_output_tokens")
    return Draft(
        text=text,
        split_message=fraction(lot, 20) < settings.split_message_share,
        legacy_usage=fraction(lot, 24) < settings.legacy_usage_share,
    )


def _text(phrases: Phrases, ask: Ask, spoken: str, sort: str | None, lot: bytes) -> str:
    """The JSON text of an answer."""
    # A language that the model does not know is answered in English and says so.
    label = ask.target_language if phrases.knows(ask.target_language) else "en"
    if sort in ("profanity", "blame", "authority"):
        rewritten = phrases.unkind(sort, spoken, lot)
    elif sort == "wrong_language":
        rewritten = phrases.kind(ask, phrases.other_than(spoken, lot), lot)
    elif sort == "echo":
        rewritten = ask.original_text
    elif sort == "empty":
        rewritten = ""
    else:
        rewritten = phrases.kind(ask, spoken, lot)
    if sort == "wrong_label":
        label = phrases.other_than(spoken, lot)
    answer = {"rewritten_text": rewritten, "output_language": label}
    if sort == "extra_keys":
        answer["explanation"] = "softened"
    text = encode(answer).decode()
    return text[:-2] if sort == "broken_json" else text


def _cut(text: str, tokens: int) -> str:
    """The longest beginning that fits."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]
