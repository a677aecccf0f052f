"""What a rewrite brings in that the original does not have, what it drops, and what a model says of its task."""

from typing import Any

import pytest

from rewrite_batch.evaluate.lines import Line, candidates_of
from rewrite_batch.evaluate.packs import shipped
from rewrite_batch.evaluate.run import evaluate
from rewrite_batch.evaluate.subjects import fields, subjects
from rewrite_batch.evaluate.told import hour_late, told


def verdict(original: str, rewritten: str, source: str = "en", topics: list[Any] | None = None) -> dict[str, Any]:
    line = Line(
        id="1", target_locale="en", source_locale=source, original_text=original, intent="request",
        power_mode="peer", rewritten_text=rewritten, output_language="en", topics=topics or ["other"],
    )  # fmt: skip
    return evaluate(candidates_of([line])).row(0, named=True)


def rules(*arguments: Any, **named: Any) -> list[str]:
    return [fired["rule"] for fired in verdict(*arguments, **named)["rules"]]


@pytest.mark.parametrize(
    ("source", "original", "added", "subject"),
    [
        ("en", "do the dishes", "The bathroom has been messy too.", "bath"),
        ("es", "lava los platos", "I would also like less noise.", "sound"),
        ("de", "Räum die Küche auf", "The neighbours have complained.", "neighbor"),
        ("fr", "baisse la musique", "The rent is due as well.", "money"),
        ("pt", "limpa o fogão", "The landlord would like that.", "landlord"),
        ("it", "abbassa la tv", "My headache is back.", "sick"),
        ("nl", "doe de afwas", "The dog has been restless.", "pet"),
        ("pl", "pozmywaj naczynia", "My exam is close.", "study"),
        ("tr", "müziği kıs", "The hair in the drain is difficult.", "hair"),
        ("ru", "вынеси мусор", "Your boyfriend could help.", "partner"),
        ("sv", "släck lampan", "The laundry is waiting.", "laundry"),
        ("zh", "把垃圾倒了", "The smoke is difficult for me.", "smoke"),
        ("ja", "皿を洗って", "The wifi is slow.", "wifi"),
        ("ko", "음악 좀 줄여", "The plants are dry.", "plant"),
        ("hi", "दरवाज़ा बंद करो", "There are ants.", "pest"),
        ("ar", "اغسل الصحون", "The driveway was blocked again.", "car"),
        ("vi", "đổ rác đi", "My son has a nap then.", "child"),
        ("id", "kecilkan musik", "The leftovers are gone.", "food"),
        ("th", "ล้างจานด้วย", "There is mould.", "mold"),
    ],
)
def test_a_subject_that_the_original_lacks_is_new(source: str, original: str, added: str, subject: str) -> None:
    assert f"subject:{subject}" in rules(original, f"Could you help with this? {added}", source=source)


@pytest.mark.parametrize(
    "added",
    ["It has been like this for weeks.", "My exam is tomorrow.", "It happened several times.", "As we agreed, please.",
     "Everyone else feels this way.", "I had to wash them.", "I noticed it last night.", "It is every day."],
)  # fmt: skip
def test_times_reasons_and_others_are_new(added: str) -> None:
    assert any(rule.startswith("subject:") for rule in rules("do the dishes", f"Could you do the dishes? {added}"))


@pytest.mark.parametrize(
    ("source", "original", "rewritten"),
    [
        ("en", "your dirty plates again", "Could the dishes in the kitchen sink be washed?"),
        ("en", "that bass is shaking my wall", "Could the music be a bit quieter at night? It would help me sleep."),
        ("de", "Der Biomüll lebt, da sind Maden drin", "I noticed maggots in the compost bin. Could we empty it?"),
        ("zh", "遛狗回来擦擦狗爪子", "Could the dog's paws be wiped after a walk? That keeps the floor clean."),
        ("ko", "새벽 두 시에 세탁기 돌리지 마", "The washing machine at 2 am wakes me. Could it wait?"),
        ("pl", "Po 22 nie skacz, mieszkam pod tobą", "Hello from downstairs! Could the jumping end by 10 pm?"),
        ("en", "turn it down", "Hi neighbour! Could it be quieter? Have a lovely week."),
    ],
)  # fmt: skip
def test_what_the_original_says_in_other_words_is_not_new(source: str, original: str, rewritten: str) -> None:
    assert verdict(original, rewritten, source)["kept"]


@pytest.mark.parametrize(
    ("original", "rewritten"),
    [
        ("Makeup smeared on every white towel I own.", "My white towels have makeup stains. Could you use others?"),
        ("You hung your bike on my coat hook.", "My coat got torn by the bike. Could it hang elsewhere?"),
        ("Can you chew with your mouth closed?", "I notice the chewing. Could it be a bit quieter?"),
    ],
)  # fmt: skip
def test_what_is_said_of_the_matter_itself_is_not_new(original: str, rewritten: str) -> None:
    assert verdict(original, rewritten)["kept"]


@pytest.mark.parametrize(
    ("original", "rewritten", "subject"),
    [
        ("Your bike is in the way.", "The bike is in the way, and it scratched the wall. Could you move it?", "broken"),
        ("Your friends are loud.", "Your friends were loud and smoked inside. Could we talk?", "smoke"),
        ("Your bike is in the way.", "The bike has been in the bathroom as well. Could you move it?", "bath"),
        ("Your bike is in the way.", "The bike scared my daughter. Could you move it?", "child"),
        ("Your bike is in the way.", "The bike has been there for weeks. Could you move it?", "week"),
    ],
)
def test_what_comes_on_top_of_the_matter_is_new(original: str, rewritten: str, subject: str) -> None:
    assert f"subject:{subject}" in rules(original, rewritten)


def test_the_opening_tells_the_matter_over_again_and_nothing_after_it() -> None:
    opens = "Hi there! The parrot carries into my meetings. Could his cage be covered?"
    assert verdict("Can you please shut your bird up?", opens)["kept"]
    later = "Could the cage be covered? It carries into my meetings."
    assert "subject:work" in rules("Can you please shut your bird up?", later)
    assert "subject:child" in rules("Can you please shut your bird up?", "The parrot wakes my daughter. Could we talk?")


def test_the_chosen_topic_excuses_its_subject() -> None:
    rewritten = "Could we talk about it? The noise is hard for me."
    assert verdict("это невозможно", rewritten, "ru", ["noise"])["kept"]
    assert "subject:sound" in rules("это невозможно", rewritten, "ru", ["other"])


def test_a_source_language_without_a_list_is_not_judged() -> None:
    assert verdict("Szólj a dolgokról", "Could we talk about the bathroom?", "hu")["kept"]


def test_every_pack_has_a_list_and_every_excuse_has_words() -> None:
    wanted = {field for known in subjects().values() for field in known.excuses["field"]}
    assert set(fields()) == set(shipped().packs)
    # `snore` and the like may be missing nowhere: an original could not excuse them.
    assert {
        name: wanted - set(table["field"]) for name, table in fields().items() if wanted - set(table["field"])
    } == {}


@pytest.mark.parametrize(
    ("value", "said", "normal", "language"),
    [
        ("30", {("number", "8")}, " nach halb acht ", "de"),
        ("7", {("number", "8")}, " nach halb acht ", "de"),
        ("15", set[tuple[str, str]](), " over een kwartier ", "nl"),
        ("48", {("number", "2")}, " depuis deux jours ", "fr"),
        ("2", {("number", "15")}, " hace quince días ", "es"),
        ("7", set[tuple[str, str]](), " od tygodnia ", "pl"),
        ("7", {("number", "6"), ("number", "45")}, " at 6 45am ", "en"),
        ("2", set[tuple[str, str]](), " रात ढाई बजे ", "hi"),
    ],
)
def test_times_told_in_other_words_are_known(
    value: str, said: set[tuple[str, str]], normal: str, language: str
) -> None:
    assert told(value, said, normal, language)


def test_other_numbers_are_not_excused() -> None:
    assert not told("9", {("number", "8")}, " nach acht ", "de")
    assert not told("30", {("number", "8")}, " um acht ", "de")


def test_a_half_to_the_hour_is_not_a_half_past_it() -> None:
    assert hour_late(" from 8 30 on ", " vanaf half acht ", "nl")
    assert hour_late(" from half past eleven ", " erst ab halb elf ", "de")
    assert not hour_late(" from 10 30 on ", " erst ab halb elf ", "de")
    assert not hour_late(" at half past ten ", " at half ten ", "en")


@pytest.mark.parametrize(
    "rewritten",
    ["Dear Mr. Osei, could you do the dishes?", "Could you do the dishes?\nThanks!\n- Ravi",
     "Could you do the dishes? Ravi thinks so too.", "Could you do the dishes? Greta and I would be glad."],
)  # fmt: skip
def test_names_after_titles_in_signatures_and_before_speech_are_new(rewritten: str) -> None:
    assert "new_fact" in verdict("do the dishes", rewritten)["violations"]


def test_a_form_of_address_is_no_name() -> None:
    assert verdict("Mevrouw De Dijker, wanneer komt mijn borg?", "Dear Mrs De Dijker, when is the deposit due?", "nl")[
        "kept"
    ]


@pytest.mark.parametrize(
    ("rewritten", "guard"),
    [
        ("I'm sorry, but I'm not able to rewrite this message.", "guard.refused"),
        ("This request falls outside what can be discussed here.", "guard.refused"),
        ("Could it be lower? Let me know if you'd like me to make it shorter.", "guard.offered"),
        ("Here's a warmer take. Could it be lower?", "guard.offered"),
        ("The sender would like the music to be lower.", "guard.task"),
        ("In a gentle tone as requested: could it be lower?", "guard.task"),
        ("Translation: could it be lower?", "guard.label"),
        ("<tone>gentle</tone> Could it be lower?", "guard.tag"),
        ("Hi {recipient}, could it be lower?", "guard.tag"),
        ("Dear recipient, could it be lower?", "guard.addressed"),
        ("- Could it be lower?\n- Thank you!", "guard.list"),
        ("*Could it* be lower?", "guard.list"),
        ('In short: "turn the music down you lazy sod", thanks!', "guard.quoted"),
        ("Turn the music down, lazy sod.", "guard.echo"),
    ],
)
def test_what_a_model_says_of_its_task_is_no_message(rewritten: str, guard: str) -> None:
    assert guard in rules("turn the music down you lazy sod", rewritten)


def test_what_housemates_say_is_no_talk_of_the_task() -> None:
    assert verdict("I can't do bins", "I'm sorry, I can't help with the bins. Would you be able to?")["kept"]
    assert verdict("send the money", "I'm not able to send money now. Could we talk? <3")["kept"]


@pytest.mark.parametrize(
    "rewritten",
    ["Hi! I hope you're having a lovely day. Take care and talk soon!", "Hi there, how are you? Take care!",
     "Feel free to keep the music as loud as you like!", "There's no need to turn the music down."],
)  # fmt: skip
def test_a_message_that_is_only_nice_has_lost_its_matter(rewritten: str) -> None:
    assert verdict("turn the music down", rewritten)["intent_preserved"] == "fail"


@pytest.mark.parametrize(
    "rewritten",
    ["Hi, I'd rather not lend it. Thanks for understanding.", "I hope you're well. My drill is for my own use.",
     "You're welcome to use the drill, but please ask first."],
)  # fmt: skip
def test_nice_words_around_the_matter_do_no_harm(rewritten: str) -> None:
    assert verdict("don't use my drill, the music at night", rewritten)["intent_preserved"] != "fail"


@pytest.mark.parametrize(
    ("original", "rewritten", "new"),
    [
        ("Coffee grounds block the sink", "Coffee grounds block our sink. Would you mind using the bin?", False),
        ("Coffee grounds block the sink", "Coffee grounds block our sink. Could you also empty the bin?", True),
        ("Coffee grounds block the sink", "Coffee grounds block our sink. The bin is full.", True),
        ("wash your plates", "Could you wash the plates, since there are ants?", True),
        ("wash your plates", "Could you ask the landlord about the plates?", True),
        ("water in the cellar", "Dear landlord, there is water in the cellar. Could you help?", False),
    ],
)
def test_a_subject_counts_in_a_request_only_on_top_or_as_a_reason(original: str, rewritten: str, new: bool) -> None:
    assert any(rule.startswith("subject:") for rule in rules(original, rewritten)) == new


@pytest.mark.parametrize(
    ("source", "original", "rewritten", "new"),
    [
        ("en", "You said 8.15. It's 8.50.", "We'd said quarter past eight and it's ten to nine.", False),
        ("en", "You've had it a month", "You've had it for about four weeks. Could I have it?", False),
        ("en", "You've had it a month", "You've had it for about five weeks. Could I have it?", True),
        ("en", "gone for a fortnight", "Gone for two weeks. Could we talk?", False),
        ("en", "your ex is here", "Could the two of you meet elsewhere?", False),
        ("zh", "半夜打游戏小声点", "Could gaming at midnight be quieter?", False),
        ("zh", "打游戏小声点", "Could gaming at midnight be quieter?", True),
    ],
)
def test_clocks_months_and_fortnights_are_told_in_many_ways(
    source: str, original: str, rewritten: str, new: bool
) -> None:
    assert ("new_fact" in verdict(original, rewritten, source)["violations"]) == new


def test_no_phrase_and_no_field_is_empty() -> None:
    """It would stand between any two rows that are looked through together."""
    phrases = [(name, p) for name, known in subjects().items() for p in (*known.phrases["pattern"], *known.harmless)]
    words = [(name, p) for name, table in fields().items() for p in table["pattern"]]
    assert [each for each in phrases + words if not each[1].strip()] == []
