"""Prompts: one file a version beside this module; a `prompt_version` comes in, its prompt or nothing goes out.

A version never becomes a path: the folder is listed once, and a version is looked up among the names found there.
A file that was released is never edited, since outputs name the version that made them: write the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

TARGET = "{target_language}"
# What a model reads more surely than a tag. A language that is not here is named by its tag alone.
LANGUAGES = {
    "ar": "Arabic",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}


@dataclass(frozen=True, slots=True)
class Prompt:
    version: str
    text: str

    def instructions(self, target_language: str) -> str:
        """The same for every request with this target. The target comes last, so that the long part before it is the
        same for all and the provider's cache can keep it."""
        name = LANGUAGES.get(target_language)
        named = f"{name} (`{target_language}`)" if name else f"the one with the BCP-47 tag `{target_language}`"
        return self.text.replace(TARGET, named)


@cache
def prompts() -> Mapping[str, Prompt]:
    """Every version there is, by name."""
    files = sorted(Path(__file__).parent.glob("*.md"))
    return MappingProxyType({file.stem: Prompt(file.stem, file.read_text(encoding="utf-8").strip()) for file in files})
