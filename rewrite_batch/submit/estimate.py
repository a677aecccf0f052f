"""Estimate: characters and a language come in, tokens go out. Pure; for reservations and limits, never for bills.

Until the ledger has something to teach, characters a token come from a table. What was learned replaces the table for
its source language: it is the ratio over the whole input, instructions and data, as that is what a ledger line tells.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil

DEFAULT = 3.0  # a language that is not in the table: careful, so that limits and caps hold
PROMPT = 4.0  # instructions are English, and so are the names of the data's fields
CHARACTERS_A_TOKEN = {
    "en": 4.0,
    "es": 3.8,
    "fr": 3.8,
    "id": 3.8,
    "it": 3.7,
    "pt": 3.8,
    "de": 3.5,
    "nl": 3.5,
    "sv": 3.5,
    "pl": 3.0,
    "tr": 3.0,
    "vi": 3.0,
    "ru": 2.8,
    "uk": 2.8,
    "ar": 2.4,
    "hi": 2.2,
    "th": 1.8,
    "ko": 1.5,
    "ja": 1.2,
    "zh": 1.1,
}
# A ratio outside of this is a fault of the ledger, not a language.
PLAUSIBLE = (0.5, 8.0)
LINE_TOKENS = 100  # the schema and the frames of the messages
ANSWER_TOKENS = 30  # the JSON around the rewritten text
REASONING_TOKENS = 400  # of a model that thinks first, until the ledger knows
GROWTH = 1.3  # a kind sentence is longer than a rude one


def _nothing() -> dict[str, float]:
    return {}


@dataclass(frozen=True, slots=True)
class Estimator:
    learned: Mapping[str, float] = field(default_factory=_nothing)
    learned_reasoning: Mapping[str, float] = field(default_factory=_nothing)

    def input_tokens(self, prompt_chars: int, text_chars: int, language: str) -> int:
        learned = self.learned.get(language)
        if learned is not None and PLAUSIBLE[0] <= learned <= PLAUSIBLE[1]:
            return max(1, ceil((prompt_chars + text_chars) / learned))
        return LINE_TOKENS + ceil(prompt_chars / PROMPT) + ceil(text_chars / characters_a_token(language))

    def output_tokens(self, text_chars: int, target_language: str, source_language: str | None = None) -> int:
        """The denser of the two languages decides: a hundred Chinese characters become many English ones."""
        density = min(characters_a_token(target_language), characters_a_token(source_language or target_language))
        return ANSWER_TOKENS + ceil(text_chars * GROWTH / density)

    def reasoning_tokens(self, model: str) -> int:
        return ceil(self.learned_reasoning.get(model, REASONING_TOKENS))


def characters_a_token(language: str) -> float:
    return CHARACTERS_A_TOKEN.get(language, DEFAULT)
