"""Prices: a dated price book comes from a file; tokens of a model on a day become money, exactly, or None.

None is "no price known", never "free": the caller decides what to do with it. Rates are USD per million tokens with at
most six decimals, so a price has at most twelve, and the ledger's columns hold twelve: nothing is ever rounded.
"""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal, Inexact, localcontext
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rewrite_batch.errors import ConfigurationError

_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$", re.ASCII)
_MILLIONTH = -6
_EXACT = Context(prec=80, traps=[Inexact])  # a digit that would be lost is an error
PROVIDER = "openai"

Rate = Annotated[Decimal, Field(ge=0, le=1500, allow_inf_nan=False, decimal_places=6)]
Mode = Literal["batch", "synchronous"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the provider counted for one call. Cached and cache-write tokens are part of the input, reasoning is part
    of the output."""

    input_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int = 0


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rates(_Entry):
    input: Rate
    cached_input: Rate
    cache_write: Rate
    output: Rate

    def price(self, usage: Usage) -> Decimal:
        """A count that contradicts itself (more cached than there was input) is charged for what it names."""
        plain = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
        with localcontext(_EXACT):
            millionths = (
                self.input * plain
                + self.cached_input * usage.cached_tokens
                + self.cache_write * usage.cache_write_tokens
                + self.output * usage.output_tokens
            )
            return millionths.scaleb(_MILLIONTH)


class LongPrompt(_Entry):
    """A call whose whole input is above this many tokens pays these rates for all of its tokens."""

    above_tokens: Annotated[int, Field(ge=1)]
    batch: Rates
    synchronous: Rates


class ModelPrices(_Entry):
    batch: Rates
    synchronous: Rates
    long_prompt: LongPrompt | None = None

    def of(self, usage: Usage, mode: Mode) -> Rates:
        dear = self.long_prompt is not None and usage.input_tokens > self.long_prompt.above_tokens
        tier = self.long_prompt if dear and self.long_prompt else self
        return tier.batch if mode == "batch" else tier.synchronous


class Book(_Entry):
    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,99}$")]
    provider: Annotated[str, Field(min_length=1)] = PROVIDER
    effective_from: date
    models: dict[str, ModelPrices]


def _dated_once(books: list[Book]) -> list[Book]:
    dated = {(book.provider, book.effective_from) for book in books}
    if len(dated) < len(books) or len({book.version for book in books}) < len(books):
        raise ValueError("each book needs a version and a date of its own")
    return books


class PriceBook(_Entry):
    note: str = ""
    books: Annotated[list[Book], Field(min_length=1), AfterValidator(_dated_once)]

    def book(self, at: date, provider: str = PROVIDER) -> Book | None:
        """The book of that day; its version belongs beside whatever it priced."""
        begun = [book for book in self.books if book.provider == provider and book.effective_from <= at]
        return max(begun, key=lambda book: book.effective_from, default=None)

    def model(self, model: str, at: date, provider: str = PROVIDER) -> ModelPrices | None:
        book = self.book(at, provider)
        return book.models.get(family(model)) if book else None

    def rates(self, model: str, at: date, provider: str = PROVIDER) -> Rates | None:
        """The batch rates of an ordinary prompt."""
        prices = self.model(model, at, provider)
        return prices.batch if prices else None

    def price(
        self, model: str, usage: Usage, at: date, *, mode: Mode = "batch", provider: str = PROVIDER
    ) -> Decimal | None:
        """What one call costs, to the last digit; None when no book of that day knows the model."""
        prices = self.model(model, at, provider)
        return prices.of(usage, mode).price(usage) if prices else None

    def estimate(self, model: str, input_tokens: int, output_tokens: int, at: date) -> Decimal | None:
        """For many calls at once, before they are made: batch rates, nothing cached, no long prompts."""
        rates = self.rates(model, at)
        return rates.price(Usage(input_tokens, 0, 0, output_tokens)) if rates else None


def family(model: str) -> str:
    """A dated snapshot costs what its family costs; any other name is a model of its own."""
    return _SNAPSHOT.sub("", model)


def price_book(path: Path | None = None) -> PriceBook:
    """From `path`, or the one that came with this release."""
    file = path or Path(__file__).with_name("prices.json")
    try:
        return PriceBook.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        wrong = f"at {'.'.join(map(str, first['loc'])) or 'its top'}: {first['msg']}"
    except OSError as error:
        wrong = type(error).__name__
    raise ConfigurationError(f"{file} is no price book that can be used ({wrong}): compare it with the release's own")
