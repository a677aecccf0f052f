"""Locales: any BCP-47 tag comes in, its primary language goes on; what names no language is refused."""

from itertools import product
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.contracts.locale import AT_HAND, lane_of, normalise_locale, registered_language
from tests.contract.documents import LAW, TAGS


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        *TAGS.items(),
        ("pt", "pt"),
        ("eng", "en"),
        ("ger", "de"),
        ("in", "id"),
        ("ji", "yi"),
        ("mo", "ro"),
        ("tl", "fil"),
        ("arb", "ar"),
        ("zh-cmn-Hans", "zh"),
        ("zh-yue", "yue"),
        # Norwegian is written in two ways, and its speakers care which.
        ("nb", "nb"),
        ("nn", "nn"),
        ("no", "no"),
    ],
)
def test_a_tag_becomes_its_primary_language(tag: str, language: str) -> None:
    assert normalise_locale(tag) == language


@pytest.mark.parametrize(
    "tag",
    [
        *("", " ", "unknown", "none", "null", "english", "English", "xx", "a", "root", "C", "*"),
        *("und", "UND", "und-US", "und-Latn", "mul", "mis", "zxx", "qaa", "qtz", "x-private", "x-en"),
        *("en US", "en_US", "en-", "-en", "en--US", " en", "en\n", "en\x00", "en-u-", "en-US-US", "en,de"),
        *("ｅｎ", "еn", "İd", "\ud800", "en" * 500, "en-x-" + "-".join("a" * 100)),
    ],
)
def test_what_names_no_language_is_refused_and_not_quoted(tag: str) -> None:
    with pytest.raises(ValueError, match="must be a BCP-47 tag") as refused:
        normalise_locale(tag)
    assert str(refused.value) == "must be a BCP-47 tag of a known language, such as en or pt-BR; never unknown"


@pytest.mark.parametrize("tag", sorted(AT_HAND))
def test_a_language_at_hand_is_what_the_registry_says(tag: str) -> None:
    assert registered_language(tag) == tag


def normalised_or_none(tag: str) -> str | None:
    try:
        return normalise_locale(tag)
    except ValueError:
        return None


def test_normalising_twice_changes_nothing_for_every_language_there_is() -> None:
    subtags = ["".join(letters) for size in (2, 3) for letters in product(ascii_lowercase, repeat=size)]
    languages = {normalised_or_none(tag) for tag in subtags} - {None}
    assert len(languages) > 7_000
    assert all(normalised_or_none(language or "") == language for language in languages)


@LAW
@given(
    st.text()
    | st.from_regex(r"[a-zA-Z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?(-x-[a-z]{1,8})?", fullmatch=True)
    | st.lists(st.sampled_from([*TAGS, "US", "x", "u", "ca", "419", "Hant"]), min_size=1).map("-".join)
)
def test_any_string_is_refused_or_becomes_a_language_that_stays(tag: str) -> None:
    language = normalised_or_none(tag)
    if language is not None:
        assert language.isascii() and language.islower() and len(language) in {2, 3}
        assert normalise_locale(language) == language


@pytest.mark.parametrize(
    ("source", "target", "lane"),
    [
        ("en", "en", "same_language"),
        ("en-US", "en-NZ", "same_language"),
        ("zh-Hant-TW", "cmn-Hans", "same_language"),
        ("he", "iw-IL", "same_language"),
        ("en", "es", "cross_language"),
        ("pt-BR", "es-AR", "cross_language"),
        ("nb", "nn", "cross_language"),
        ("zh", "yue", "cross_language"),
    ],
)
def test_the_lane_follows_from_the_languages_and_not_from_the_regions(source: str, target: str, lane: str) -> None:
    assert lane_of(source, target) == lane
    assert lane_of(target, source) == lane


def test_there_is_no_lane_without_two_languages() -> None:
    with pytest.raises(ValueError, match="BCP-47"):
        lane_of("en", "unknown")
