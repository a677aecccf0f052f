"""Locales: any valid BCP-47 tag comes in, its primary language goes on (`en-US` → `en`, `iw` → `he`)."""

import re
from functools import lru_cache

# langcodes also reads en_US, which is not BCP-47.
TAG_PATTERN = r"^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,15}$"
# Subtags that BCP-47 allows and that name no language: undetermined, multiple, uncoded, no language at all,
# and those that are left to private agreement.
NAMES_NO_LANGUAGE = re.compile(r"und|mul|mis|zxx|q[a-t][a-z]")

# The languages of our lexicon packs, as the registry of all of them (a fifth of a second to load) has them too.
AT_HAND = frozenset({
    "ar", "de", "en", "es", "fr", "hi", "id", "it", "ja", "ko", "nl", "pl", "pt", "ru", "sv", "th", "tr", "vi", "zh",
})  # fmt: skip

_is_tag = re.compile(TAG_PATTERN).fullmatch


@lru_cache(maxsize=4096)
def normalise_locale(tag: str) -> str:
    """The primary language of a tag, or ValueError. Deterministic, so that lanes and group keys are too."""
    if tag in AT_HAND:
        return tag
    language = registered_language(tag) if _is_tag(tag) else ""
    if not 2 <= len(language) <= 3 or NAMES_NO_LANGUAGE.fullmatch(language):
        raise ValueError("must be a BCP-47 tag of a known language, such as en or pt-BR; never unknown")
    return language


def registered_language(tag: str) -> str:
    """Of a tag by the registry; empty when it is not valid."""
    from langcodes import Language as Tag  # noqa: PLC0415
    from langcodes import standardize_tag, tag_is_valid  # noqa: PLC0415
    from langcodes.tag_parser import LanguageTagError  # noqa: PLC0415

    try:
        # macro: cmn is zh, and arb is ar, for a reader and for a model.
        return Tag.get(standardize_tag(tag, macro=True)).language or "" if tag_is_valid(tag) else ""
    except LanguageTagError:
        return ""


def lane_of(source_locale: str, target_locale: str) -> str:
    """The lane is derived from the two locales, never chosen."""
    same = normalise_locale(source_locale) == normalise_locale(target_locale)
    return "same_language" if same else "cross_language"
