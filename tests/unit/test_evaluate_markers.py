"""The common words that tell a language from its neighbours."""

import pytest

from rewrite_batch.evaluate.markers import common, folded, values


@pytest.mark.parametrize("target", sorted(common()))
def test_common_words_are_folded_alike_for_every_target(target: str) -> None:
    """They are folded once. A capital `I`, which Turkish folds to a letter of its own, would break that."""
    words = frozenset[str]().union(*(each.words for each in common().values()))
    assert folded(words, target) == folded(words, "")


def test_a_word_of_the_target_and_of_another_language_counts_for_neither() -> None:
    assert "es" in folded(common()["de"].words, "de") & folded(common()["es"].words, "es")
    assert "es" not in values("de")
    assert values("de")["nicht"] == -1
    assert values("en")["nicht"] == 1
