"""New names and numbers in languages other than English: what is one, and what only looks like one."""

import pytest

from rewrite_batch.evaluate.same_name import same_name
from tests.unit.evaluate_said import rules_of, said

THUS = {
    "es": "esto así no puede seguir", "de": "so geht das nicht weiter", "fr": "ça ne peut plus durer",
    "pt": "assim não dá mais", "it": "così non si va avanti", "nl": "zo kan het niet langer",
    "pl": "tak dalej być nie może", "tr": "bu böyle gitmez", "ru": "так больше нельзя",
    "sv": "så här kan det inte fortsätta", "vi": "không thể như vậy mãi được", "id": "nggak bisa begini terus",
    "hi": "ऐसे नहीं चलेगा", "ar": "لا يمكن أن يستمر هذا", "zh": "这样下去不行", "ja": "このままじゃ困る",
    "ko": "이대로는 안 되겠어", "th": "แบบนี้ต่อไปไม่ไหวแล้ว",
}  # fmt: skip


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("nl", "'s Nachts hoor ik de deur. Kun je zachter doen?"),
        ("nl", "Hartstikke bedankt :) Kun je het licht uitdoen?"),
        ("nl", "Lief van je <3 Zou je het raam dicht willen doen?"),
        ("nl", "Anders kunnen we er samen naar kijken, goed?"),
        ("tr", "Ana kapıyı kilitler misin lütfen?"),
        ("es", "Hola,\nQuería pedirte que cerraras la puerta, ¿puedes?"),
        ("pl", "Cześć, Chciałam zapytać, czy możesz zamknąć drzwi?"),
        ("id", "Aku sedih karena Ayah sudah tahu. Boleh kita bicara?"),
        ("pl", "Babcia śpi, a mnie o to prosiła Mama. Czy możesz ściszyć?"),
    ],
)
def test_a_capital_that_begins_a_sentence_or_names_a_relative_is_no_name(target: str, text: str) -> None:
    assert "new_fact" not in said(text, target, THUS[target])["violations"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("nl", "Zou je Roos kunnen vragen om zachter te doen?"),
        ("nl", "Kun je het licht uitdoen?\nGroetjes,\nWillemijn"),
        ("es", "¿Podrías pedirle a Marcos que baje la música?"),
        ("es", "Hola, Marcos, ¿podrías bajar la música?"),
        ("pl", "Cześć Justyno, czy możesz zamknąć drzwi?"),
        ("vi", "Bạn nhắn giúp anh Hùng đóng cửa được không?"),
        ("id", "Bisakah kamu bilang ke Rudi supaya menutup pintu?"),
        ("de", "Könntest du Katharina bitten, die Tür zu schließen?"),
    ],
)
def test_a_name_that_the_original_lacks_is_new(target: str, text: str) -> None:
    assert "new_fact:name" in rules_of(said(text, target, THUS[target]))


@pytest.mark.parametrize(
    ("name", "original", "source", "target", "same"),
    [
        ("Майк", "Mike used my towel", "en", "ru", True),
        ("Джон", "tell john to stop", "en", "ru", True),
        ("Steve", "скажи Стиву, чтобы спросил", "ru", "en", True),
        ("Göran", "goran har klagat", "sv", "sv", True),
        ("Zosię", "you forgot zosia", "en", "pl", True),
        ("İstanbul", "Your trip to Istanbul", "en", "tr", True),
        ("Varsovia", "the trip to Warsaw", "en", "es", True),
        ("Tom", "it is time to tell them", "en", "es", False),
        ("Marcos", "Your friend Jake made noise", "en", "es", False),
        ("Серёжу", "Tell Jake to be quiet", "en", "ru", False),
        ("Rudi", "小明太吵了", "zh", "id", True),  # another script: nobody can say
    ],
)
def test_a_name_is_known_in_another_spelling(name: str, original: str, source: str, target: str, same: bool) -> None:
    assert same_name(name, original, source, target) is same


IDIOMS = [
    ("es", "¿Tendrías cinco minutos para hablar de esto?", "Llegaste cinco minutos tarde. ¿Podemos hablar?"),
    ("de", "Hättest du fünf Minuten Zeit zum Reden?", "Du warst fünf Minuten zu spät. Können wir reden?"),
    ("de", "Könnten wir unter vier Augen sprechen?", "Vier Leute waren laut. Können wir reden?"),
    ("fr", "Est-ce que tu as 5 minutes pour en parler ?", "La musique a duré 5 minutes. On en parle ?"),
    ("pt", "Concordo cem por cento, podemos conversar?", "Eram cem pratos, podemos conversar?"),
    ("it", "Potresti farlo quando hai cinque minuti liberi?", "C'erano cinque piatti, potresti lavarli?"),
    ("nl", "Kunnen we onder vier ogen praten?", "Er stonden vier borden, zou je ze afwassen?"),
    ("pl", "Możemy porozmawiać w cztery oczy?", "Były tam cztery talerze, czy możesz je umyć?"),
    ("tr", "Cevabını dört gözle bekliyorum, yardım eder misin?", "Dört tabak kalmış, yıkar mısın?"),
    ("ru", "Есть две минутки? Хочу поговорить.", "Там остались две тарелки, сможешь помыть?"),
    ("sv", "Kan vi prata mellan fyra ögon?", "Det var fyra tallrikar kvar, kan du diska?"),
    ("vi", "Mình ngồi tám chuyện một chút nhé, được không?", "Còn tám cái đĩa, bạn rửa giúp mình nhé?"),
    ("id", "Boleh bicara empat mata sebentar?", "Ada empat piring kotor, boleh dicuci?"),
    ("hi", "क्या हम एक दो दिन में बात कर सकते हैं?", "दो दिन से बर्तन पड़े हैं, क्या आप धो दोगे?"),
    ("ar", "ألف شكر لك! هل يمكنك الترتيب؟", "بقي ألف صحن، هل يمكنك غسلها؟"),
    ("ar", "أود حلاً يريحنا نحن الاثنين، هل نتحدث؟", "هل نتحدث يوم الاثنين؟"),
    ("zh", "一两天内能麻烦你收拾一下吗？", "已经两天了，能麻烦你收拾一下吗？"),
    ("ja", "音が下がれば十分です。お願いできますか？", "十分後に静かにしてもらえますか？"),
    ("ko", "그대로 두시면 감사하겠습니다.", "두시에 조용히 해 줄 수 있을까요?"),
    ("th", "คุยกันสองต่อสองได้ไหม", "ช่วยเก็บจาน 2 ใบได้ไหม"),
]


@pytest.mark.parametrize(("target", "idiom", "number"), IDIOMS)
def test_a_number_in_an_idiom_counts_nothing(target: str, idiom: str, number: str) -> None:
    assert "new_fact" not in said(idiom, target, THUS[target])["violations"]
    assert "new_fact" in said(number, target, THUS[target])["violations"]
