"""Estimates: at least one token, never fewer for more text, and what was learned prevails."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite_batch.submit.estimate import CHARACTERS_A_TOKEN, Estimator

languages = st.sampled_from([*CHARACTERS_A_TOKEN, "ast", ""])
chars = st.integers(0, 1_000_000)
ratios = st.dictionaries(languages, st.floats())


@given(ratios, languages, languages, chars, chars, chars, chars)
def test_more_characters_are_never_fewer_tokens(
    learned: dict[str, float], source: str, target: str, prompt: int, text: int, more_prompt: int, more_text: int
) -> None:
    estimator = Estimator(learned)
    few = estimator.input_tokens(prompt, text, source)
    assert 1 <= few <= estimator.input_tokens(prompt + more_prompt, text + more_text, source)
    assert 1 <= estimator.output_tokens(text, target) <= estimator.output_tokens(text + more_text, target)
    both = estimator.output_tokens(text, target, source)
    assert estimator.output_tokens(text, target) <= both <= estimator.output_tokens(text + more_text, target, source)


def test_what_was_learned_replaces_the_table_for_its_language_alone() -> None:
    taught, untaught = Estimator({"de": 5.0}), Estimator()
    assert taught.input_tokens(5_000, 500, "de") == 1_100
    assert taught.input_tokens(5_000, 500, "en") == untaught.input_tokens(5_000, 500, "en")


@pytest.mark.parametrize("ratio", [0, -1, math.nan, math.inf, 1e-9, 1_000])
def test_a_ratio_that_no_language_has_is_not_believed(ratio: float) -> None:
    assert Estimator({"de": ratio}).input_tokens(5_000, 500, "de") == Estimator().input_tokens(5_000, 500, "de")


def test_dense_scripts_take_more_tokens_a_character() -> None:
    tokens = [Estimator().input_tokens(0, 1_000, language) for language in ("en", "de", "ru", "th", "zh")]
    assert tokens == sorted(tokens)


def test_an_unknown_language_is_estimated_with_care() -> None:
    assert Estimator().input_tokens(0, 1_000, "ast") > Estimator().input_tokens(0, 1_000, "en")


def test_a_dense_source_makes_a_longer_answer() -> None:
    assert Estimator().output_tokens(100, "en", "zh") > Estimator().output_tokens(100, "en")
