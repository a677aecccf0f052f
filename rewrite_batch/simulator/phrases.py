"""What the model can say: one JSON file a language, of openers, sentences by topic and intent, closers."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rewrite_batch.errors import ConfigurationError
from rewrite_batch.simulator.jsontext import Json, JsonError, decode, object_of
from rewrite_batch.simulator.lots import pick
from rewrite_batch.simulator.request_body import Ask

PACKAGED = Path(__file__).parent / "answers"
_UNSPACED = ("zh", "ja")


@lru_cache(maxsize=256)
def primary(language: str) -> str:
    """`pt-BR` and `pt_BR` are both `pt`."""
    return language.replace("_", "-").split("-")[0].lower()


@dataclass(frozen=True)
class Phrases:
    """Every language's phrases. Texts are chosen by a lot, so the same line always gets the same text."""

    by_language: dict[str, Json]

    def knows(self, language: str) -> bool:
        return primary(language) in self.by_language

    def kind(self, ask: Ask, language: str, lot: bytes) -> str:
        """A plausible, kind rewrite in a language that is known."""
        sentences = self.by_language[primary(language)]["sentences"]
        topic = sentences.get(ask.topic) or next(iter(sentences.values()))
        choices = topic.get(ask.intent) or next(iter(topic.values()))
        return self._around(language, pick(choices, lot, 8), lot)

    def unkind(self, sort: str, language: str, lot: bytes) -> str:
        """A rewrite that breaks a rule: profanity, blame or authority."""
        return self._around(language, pick(self._bad(sort, language), lot, 8), lot)

    def refusal(self, language: str, lot: bytes) -> str:
        return pick(self._bad("refusal", language), lot, 8)

    def other_than(self, language: str, lot: bytes) -> str:
        """Another language, for an answer in the wrong one."""
        others = sorted(known for known in self.by_language if known != primary(language))
        return pick(others or ["en"], lot, 12)

    def _bad(self, sort: str, language: str) -> list[str]:
        data = self.by_language[primary(language)]["bad"]
        return data.get(sort) or self.by_language["en"]["bad"][sort]

    def _around(self, language: str, sentence: str, lot: bytes) -> str:
        data = self.by_language[primary(language)]
        parts = (pick(data["openers"], lot, 4), sentence, pick(data["closers"], lot, 16))
        return ("" if primary(language) in _UNSPACED else " ").join(parts)


@lru_cache(maxsize=4)
def load_phrases(directory: Path) -> Phrases:
    by_language: dict[str, Json] = {}
    for path in sorted(directory.glob("*.json")):
        try:
            data = object_of(decode(path.read_bytes()))
        except JsonError:
            data = None
        if data is None or not {"openers", "sentences", "closers", "bad"} <= set(data):
            raise ConfigurationError(f"{path.name} in the simulator's answers is not a file of phrases: repair it")
        by_language[path.stem] = data
    if "en" not in by_language:
        raise ConfigurationError("the simulator's answers need at least en.json: install the whole package")
    return Phrases(by_language)
