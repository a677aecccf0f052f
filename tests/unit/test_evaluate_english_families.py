"""Families of English wording that code decides, not the pack: each with a near miss that stays kind."""

import pytest

from rewrite_batch.evaluate.added import on_top
from rewrite_batch.evaluate.intents import refuses
from rewrite_batch.evaluate.new_subjects import opens
from rewrite_batch.evaluate.pleasantries import says_more
from rewrite_batch.evaluate.same_name import same_name
from tests.unit.evaluate_said import rules_of, said


@pytest.mark.parametrize(
    "text",
    ["It is f---ing loud.", "I can't hear sh¡t.", "A sh-itty week.", "The dog drives me bat-sh.t crazy.", "f--- it"],
)
def test_profanity_behind_dashes_and_turned_signs_is_seen(text: str) -> None:
    assert any(rule.startswith("vulgarity:disguised") for rule in rules_of(said(text, "en", "Stop it.")))


@pytest.mark.parametrize(
    "text", ["Could you try plan B-- the other one?", "I--well--hoped you could help.", "Could the X-ray stay here?"]
)
def test_a_dash_after_a_single_letter_hides_nothing(text: str) -> None:
    assert not any("disguised" in rule for rule in rules_of(said(text, "en", "Stop it, plan B, x-ray.")))


@pytest.mark.parametrize(
    ("sentence", "original", "source", "new"),
    [
        ("your crayons have marked the wall as well", " stop leaving lego in the living room ", "en", True),
        ("the postman was bitten too so keep him inside", " tu perro ladra mucho ", "es", True),
        ("the dog has been barking too", " der flur ist voll mit schuhen ", "de", True),
        ("the hall is full of shoes too", " der flur ist voll mit schuhen ", "de", False),
        ("the kitchen was messy too", " you left the kitchen a mess and the bath ", "en", False),
        ("your comfort matters too", " stop leaving lego in the living room ", "en", False),
        ("i am tired too", " stop leaving lego in the living room ", "en", False),
        ("the dog could come too", " stop leaving lego in the living room ", "en", False),
        ("the tulips look sad too", " tu perro ladra mucho y las flores ", "es", False),
    ],
)
def test_a_complaint_that_ends_with_too_is_new(sentence: str, original: str, source: str, new: bool) -> None:
    assert on_top(sentence, original, source) is new


@pytest.mark.parametrize(
    ("rest", "refused"), [(" your request ", True), (" your homework any more ", False), (" that ", True), (" ", True)]
)
def test_a_refusal_names_the_task(rest: str, refused: bool) -> None:
    assert refuses("i can't help with", rest) is refused


def test_a_greeting_before_a_statement_keeps_the_matter() -> None:
    assert says_more(["hey to be honest nobody told me about the change of plans"])
    assert says_more(["thanks in advance for waiting"])
    assert says_more(["hey the bins"])
    assert not says_more(["hey i hope you are having a wonderful day with your whole family"])
    assert not says_more(["hello there"])


@pytest.mark.parametrize(
    ("name", "original", "source", "same"),
    [
        ("Wang", "你能不能别用我的杯子", "zh", False),
        ("Wang", "王先生说你太吵", "zh", True),
        ("Anna", "安娜说你太吵", "zh", True),
        ("Kim", "조용히 해 주세요", "ko", False),
        ("Kim", "김 선생님이 화났어요", "ko", True),
        ("Tanaka", "静かにしてください", "ja", False),
        ("Tanaka", "田中さんが困っています", "ja", True),
    ],
)  # fmt: skip
def test_a_surname_of_another_script_is_in_the_original_or_new(
    name: str, original: str, source: str, same: bool
) -> None:
    assert same_name(name, original, source, "en") is same


def test_a_greeting_that_goes_on_to_ask_opens_a_rewrite() -> None:
    assert opens(" hello could the window be fixed ", "en")
    assert not opens(" hello could we have a word ", "en")
    assert not opens(" hi i hope you are well ", "en")


def test_scots_is_no_english() -> None:
    scots = "Wid ye gie the doors a wee saft push? Ah cannae sleep wi aw the bangin, an Ah'm fair wabbit the morn."
    assert "non_target_locale:read_language" in rules_of(said(scots, "en", "Stop slamming the doors."))
    mild = "Could ye turn the telly down a wee bit, mate? Aye, thanks."
    assert "non_target_locale:read_language" not in rules_of(said(mild, "en", "Turn the telly down."))
