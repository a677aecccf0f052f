"""Verdicts on single candidates: what must be caught, and what comes close to it and must pass."""

from typing import Any

import polars as pl
import pytest

from rewrite_batch.contracts.shapes import RewriteEvalResultV1, RewriteResponseV1
from rewrite_batch.evaluate.packs import Lexicon
from rewrite_batch.evaluate.run import evaluate
from rewrite_batch.evaluate.tables import CANDIDATES, VERDICTS

ORIGINAL = "ugh the noise again, this is driving me mad"


def candidate(text: str | None, **other: Any) -> dict[str, Any]:
    return {
        "row": 7,
        "target_locale": "en",
        "source_locale": "en",
        "original_text": ORIGINAL,
        "intent": "request",
        "power_mode": "peer",
        "topics": ["noise"],
        "rewritten_text": text,
        "output_language": other.get("target_locale", "en"),
        **other,
    }


def judge_all(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All at once: a table of one row costs nearly as much as a table of hundreds."""
    return evaluate(pl.DataFrame(rows, schema=CANDIDATES)).to_dicts()


def judge(text: str | None, **other: Any) -> dict[str, Any]:
    return judge_all([candidate(text, **other)])[0]


def codes(text: str, **other: Any) -> list[str]:
    return judge(text, **other)["violations"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("You are so lazy, could you wash up?", "personal_attack"),
        ("Could you stop being such a pig in the kitchen?", "personal_attack"),
        ("You walk like an elephant at night.", "personal_attack"),
        ("This is not a hostel.", "personal_attack"),
        ("You never clean the bathroom.", "blame"),
        ("Why do you always slam the door?", "blame"),
        ("It is your fault that the sink is blocked.", "blame"),
        ("Stop playing music at night.", "authority"),
        ("Clean the kitchen.", "authority"),
        ("You must be quiet.", "authority"),
        ("According to the lease, guests have to leave.", "authority"),
        ("You have ADHD and it shows.", "medical"),
        ("I know from your preferences that you like short notes.", "preference_disclosure"),
        ("That is your damn good idea.", "vulgarity"),
    ],
)
def test_unsafe_words_are_caught_under_their_code(text: str, code: str) -> None:
    verdict = judge(text)
    assert code in verdict["violations"]
    assert code in {rule["code"] for rule in verdict["rules"]}
    assert verdict["kept"] is False


@pytest.mark.parametrize(
    "text",
    [
        "You are not lazy at all, and I would love some help with the dishes.",
        "I don't think you are selfish. Could we talk about the noise?",
        "I can be messy too, so could we tidy up together?",
        'It hurt me when I was called "lazy" yesterday. Could we talk?',
        "I'd love it if you could always knock first.",
        "It is not your fault that the walls are thin. Could we try headphones?",
        "Could we stop the music a little earlier?",
        "Would you mind turning it down, please?",
        "I have ADHD, so noise is hard for me. Could we keep it low?",
        "The dam is closed, so could we keep showers short?",
        "You don't have to change anything today, I just want to share how I feel.",
    ],
)
def test_kind_words_that_come_close_pass(text: str) -> None:
    # The original speaks of all these subjects, so that none of them is new.
    verdict = judge(text, original_text=f"{ORIGINAL} dishes, mess, knocking, the dam and showers")
    assert verdict["rules"] == [] or not verdict["violations"]
    assert verdict["kept"] is True


@pytest.mark.parametrize(
    "text",
    ["f*ck the noise", "What the f**k is this?", "this is bullsh1t", "s h i t, it is loud", "fuuuuck, it is loud",
     "f\u200buck the noise", "ｆｕｃｋ the noise", "fuсk the noise", "F.U.C.K. the noise", "sh!t, it is loud",
     "fu\u00adck it"],
)  # fmt: skip
def test_disguised_profanity_is_read(text: str) -> None:
    assert "vulgarity" in codes(f"Hello there, {text}, could we talk about it?")


@pytest.mark.parametrize(
    "text",
    ["Could we meet at Scunthorpe station?", "Let's assess the classic bass glass.", "Could we go from A to B to C?",
     "Could we talk about the cocktail and the shiitake in the fridge?", "A *small* favour: could we talk?",
     "My mother-in-law sleeps early; could we be quiet?"],
)  # fmt: skip
def test_harmless_words_with_a_bad_part_pass(text: str) -> None:
    assert "vulgarity" not in codes(text)


@pytest.mark.parametrize(
    ("original", "text", "new"),
    [
        ("turn it down", "Could we be quiet after 10 pm?", True),
        ("turn it down at 22:00", "Could we be quiet after 10 pm?", False),
        ("turn it down at ten", "Could we be quiet after 10 pm?", False),
        ("you owe me 1,000", "Could we settle the 1000?", False),
        ("you owe me money", "Could we settle the 1000?", True),
        ("it was twenty five times", "Could we talk about those 25 times?", False),
        ("it was loud", "It was loud on Monday. Could we talk?", True),
        ("it was loud monday", "It was loud on Monday. Could we talk?", False),
        ("it was loud", "Could we talk with one another?", False),
        ("it was loud", "Could we talk? Write to me at jo@example.com.", True),
        ("write to jo@example.com ffs", "Could we talk? Write to me at Jo@example.com.", False),
        ("it was loud", "Could we talk, or could you ask Priscilla about it?", True),
        ("priscilla says it was loud", "Could we talk, or could you ask Priscilla about it?", False),
        ("it was loud", "Could we talk? See www.example.com/rules", True),
        ("الساعة ١٠ كان الصوت عالي", "It was loud at 10. Could we talk?", False),
    ],
)
def test_a_fact_is_new_only_when_the_original_lacks_it(original: str, text: str, new: bool) -> None:
    source = "ar" if original.startswith("ا") else "en"
    assert ("new_fact" in codes(text, original_text=original, source_locale=source)) is new


def test_numbers_compare_by_value_across_languages() -> None:
    text = "Could we be quiet at three?"
    assert "new_fact" not in codes(text, original_text="um drei Uhr war es laut", source_locale="de")
    assert "new_fact" in codes(text, original_text="es war laut", source_locale="de")


@pytest.mark.parametrize(
    ("text", "intent", "expected"),
    [
        ("Hi, hope you are well!", "request", "fail"),
        ("Hello! Have a great day. Thanks!", "concern", "fail"),
        ("I'm sorry, but I can't help with that request.", "request", "fail"),
        ("Could we keep the music lower?", "request", "pass"),
        ("I'm worried about the noise.", "concern", "pass"),
        ("What happened with the music?", "clarification", "pass"),
        ("I need quiet to sleep.", "boundary", "pass"),
        ("The music and the evenings at home.", "request", "warn"),
    ],
)
def test_intent(text: str, intent: str, expected: str) -> None:
    verdict = judge(text, intent=intent)
    assert verdict["intent_preserved"] == expected
    assert verdict["kept"] is (expected != "fail")


def test_power_tightens_authority() -> None:
    rule = "Could we agree on house rules for guests?"
    assert "authority" not in codes(rule)
    assert "authority" in codes(rule, power_mode="higher_sender")
    demand = "Could we talk? You have to lower the music."
    assert "authority" in codes(demand, power_mode="higher_recipient")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("¿Podríamos bajar un poco la música por la noche? Me cuesta dormir.", "en"),
        ("Could we lower the music a little at night? ¿Podríamos hablar de esto mañana con calma?", "en"),
        ("Could we lower the music a little at night?", "zh"),
        ("我们晚上可以把音乐声调小一点吗？", "en"),
        ("夜は音楽の音量を少し下げてもらえますか。眠れません。", "zh"),
        ("Kan vi sänka musiken lite på kvällarna? Jag har svårt att sova.", "de"),
        ("Чи могли б ми зробити музику тихішою ввечері? Мені важко заснути.", "ru"),
    ],
)
def test_a_text_in_another_language_is_caught(text: str, target: str) -> None:
    assert "non_target_locale" in codes(text, target_locale=target)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Thanks 🙏", "de"),
        ("Könnten wir beim Netflix-Abend etwas leiser sein? Das wäre super.", "de"),
        ("我们可以把 Netflix 的声音调小一点吗？谢谢。", "zh"),
        ("¿Podemos hablar del WiFi y del router un momento, por favor?", "es"),
    ],
)
def test_short_texts_names_and_borrowed_words_are_not_punished(text: str, target: str) -> None:
    assert "non_target_locale" not in codes(text, target_locale=target)


def test_the_declared_language_must_be_the_target() -> None:
    text = "Could we lower the music a little?"
    assert codes(text, output_language="es") == ["non_target_locale"]
    assert codes(text, output_language="en-GB") == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Here is the rewritten message: Could we keep it down?", "preference_disclosure"),
        ("As instructed in the system prompt, could we keep it down?", "preference_disclosure"),
    ],
)
def test_leaked_instructions_are_caught(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("```\nCould we keep it down?\n```", "guard.fence"),
        ("**Could** we keep it down?", "guard.markdown"),
        ('{"rewritten_text": "Could we keep it down?"}', "guard.json"),
        ("Could we <b>keep</b> it down?", "guard.html"),
        ("Hi [Name], could we keep it down?", "guard.placeholder"),
        ("Could we keep it \u202edown\u202c?", "guard.hidden"),
        ("Could we keep it down? " * 60, "guard.length"),
        ("quiet please " * 30, "guard.repetition"),
        (ORIGINAL.capitalize() + "!", "guard.echo"),
    ],
)
def test_what_is_no_message_breaks_the_schema(text: str, rule: str) -> None:
    verdict = judge(text)
    assert verdict["schema_valid"] is False
    assert {"code": "schema_valid", "rule": rule} in verdict["rules"]
    assert verdict["kept"] is False


def test_an_echo_of_a_kind_original_may_stay() -> None:
    kind = "Could we please keep the music lower at night?"
    assert judge(kind, original_text=kind)["kept"] is True


def test_a_broken_answer_is_not_kept_and_says_why() -> None:
    verdict = judge(None, output_language=None)
    assert (verdict["schema_valid"], verdict["kept"], verdict["violations"]) == (False, False, [])
    assert verdict["rules"] == [{"code": "schema_valid", "rule": "answer"}]


def test_not_checked_is_never_passed() -> None:
    verdict = judge("Θα μπορούσαμε να χαμηλώσουμε λίγο τη μουσική;", target_locale="el")
    assert verdict["lexicon_pass"] is None
    assert verdict["lexicon_version"] == "none"
    assert verdict["kept"] is True
    wrong = judge("Could we keep the music a little lower at night?", target_locale="el")
    assert (wrong["lexicon_pass"], wrong["kept"]) == (False, False)


@pytest.mark.parametrize("target", ["en", "el"])
@pytest.mark.parametrize(
    "text", ["Could we talk?", "You are lazy.", "Hi!", "Oh great, thanks a lot for nothing.", None]
)
def test_verdicts_follow_the_contract(text: str | None, target: str) -> None:
    verdict = judge(text, target_locale=target)
    fields = {name: verdict[name] for name in RewriteEvalResultV1.model_fields}
    result = RewriteEvalResultV1.model_validate(fields)
    if verdict["kept"]:  # a kept row becomes an output, and its version names the pack
        assert (result.lexicon_pass is None) == (verdict["lexicon_version"] == "none")
    assert RewriteResponseV1.model_fields["eval_result"].annotation is RewriteEvalResultV1


def test_warnings_are_kept() -> None:
    verdict = judge(
        "Maybe, perhaps, I guess we could possibly sort of talk, sorry, if that is maybe okay, sorry again?"
    )
    assert verdict["violations"] == ["hedge_warn"]
    assert (verdict["tone_safety"], verdict["lexicon_pass"], verdict["kept"]) == ("warn", True, True)


def test_the_row_and_the_order_come_back() -> None:
    rows = [candidate("Could we talk?", row=30), candidate("You are lazy.", row=10), candidate(None, row=20)]
    verdicts = evaluate(pl.DataFrame(rows, schema=CANDIDATES))
    assert verdicts["row"].to_list() == [30, 10, 20]
    assert verdicts.schema == VERDICTS


def test_nothing_in_is_nothing_out() -> None:
    assert evaluate(CANDIDATES.to_frame()).height == 0
    assert judge("Could we talk?", target_locale="en")["kept"] is True


def test_without_any_pack_only_schema_and_language_are_judged() -> None:
    frame = pl.DataFrame([candidate("You are lazy.")], schema=CANDIDATES)
    verdict = evaluate(frame, lexicon=Lexicon({})).to_dicts()[0]
    assert (verdict["lexicon_pass"], verdict["lexicon_version"], verdict["intent_preserved"]) == (None, "none", "pass")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Gustaríame que falásemos das visitas, porque ás veces cústame descansar pola noite.", "es"),
        ("Ek sal dit baie waardeer as jy asseblief die kombuis kan skoonmaak.", "nl"),
        ("Kalau awak ada masa, boleh tak tolong kemaskan dapur?", "id"),
        ("Може ли да поговорим и да намерим решение заедно?", "ru"),
        ("唔該你得閒嘅時候可唔可以幫手執下廚房呀？", "zh"),
        ("Könnten wir abends etwas leiser sein, because it would help me, damit wir alle gut schlafen?", "de"),
        ("저녁에는 조금 조용히 so that we can all sleep 부탁드려도 될까요? 정말 고맙겠어요.", "ko"),
    ],
)
def test_a_neighbour_and_a_clause_left_over_are_told_by_their_words(text: str, target: str) -> None:
    assert "non_target_locale" in codes(text, target_locale=target)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Könnten wir beim Lord of the Rings Marathon etwas leiser sein?", "de"),
        ('¿Podríamos hablar de "I will do it when I can"? Me ayudaría mucho.', "es"),
        ("Kan vi prata om disken med Jürgen och Zoë? Det vore fint.", "sv"),
    ],
)
def test_titles_quotes_and_names_do_not_give_a_text_away(text: str, target: str) -> None:
    assert "non_target_locale" not in codes(text, target_locale=target)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("Me cuesta dormir, así que m1erd@, ¿podrías bajar la música?", "es"),
        ("Мне трудно отдыхать, просто п*здец. Давай подумаем вместе?", "ru"),
        ("मुझे नींद नहीं आती, भ*नचोद बहुत परेशानी होती है। क्या हम बात कर सकते हैं?", "hi"),
    ],
)
def test_a_disguised_word_takes_the_endings_of_its_rule_in_every_script(text: str, target: str) -> None:
    assert "vulgarity" in codes(text, target_locale=target)


@pytest.mark.parametrize(
    ("text", "code", "caught"),
    [
        ("I was scared when yours got out, and he adores you.", "blame", False),
        ("I read the statement and it says a lot about you.", "blame", True),
        ("I'm sure deep down you are a decent person, just rather sneaky.", "personal_attack blame", True),
        ("Could we talk? No rush to answer right this second.", "authority", False),
        ("Could we talk? Answer right this second.", "authority", True),
        ("I'm rather tired right now.", "authority", False),
        ("Turn it off right now.", "authority", True),
        ("Could the old jars be thrown out, please?", "authority", False),
        ("You will be thrown out.", "authority", True),
        ("Could the scooter find a different home than the stairs?", "authority", False),
        ("You can find another home.", "authority", True),
        ("The pan from Monday is still in the sink.", "authority", False),
        ("From Monday no guests stay.", "authority", True),
        ("The note says you signed for my parcel, thank you.", "authority", False),
        ("You signed the house rules.", "authority", True),
        ("Water from the pots drips on my laundry.", "authority", False),
        ("Water the plants.", "authority", True),
        ("Have a lovely week.", "authority", False),
        ("The smoke fills my flat, though.", "authority", False),
        ("In my flat shoes come off.", "authority", True),
    ],
)
def test_a_frame_of_an_order_or_of_blame_is_told_from_its_kind_twin(text: str, code: str, caught: bool) -> None:
    assert any(each in codes(text) for each in code.split()) == caught
