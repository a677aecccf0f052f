"""Neighbours: five texts of one household in each of the languages that are mistaken for one another."""

import pytest

from tests.unit.evaluate_said import said_all

TEXTS = {
    "es": [
        "¿Podrías recoger los platos cuando termines? Me ayudaría mucho.",
        "Me cuesta dormir con la música, ¿la bajas un poco?",
        "Gracias por avisarme de las visitas con tiempo.",
        "¿Te importa cerrar la puerta del baño al salir?",
        "Quería hablar contigo de la basura, si te viene bien.",
    ],
    "pt": [
        "Você poderia recolher os pratos quando terminar? Ajudaria muito.",
        "Tenho dificuldade para dormir com a música, pode baixar um pouco?",
        "Obrigada por avisar das visitas com antecedência.",
        "Importas-te de fechar a porta da casa de banho ao sair?",
        "Queria conversar contigo sobre o lixo, se te der jeito.",
    ],
    "ca": [
        "Podries recollir els plats quan acabis? M'ajudaria molt.",
        "Em costa dormir amb la música, la pots abaixar una mica?",
        "Gràcies per avisar-me de les visites amb temps.",
        "T'importa tancar la porta del lavabo en sortir?",
        "Volia parlar amb tu de les escombraries, si et va bé.",
    ],
    "gl": [
        "Poderías recoller os pratos cando remates? Axudaríame moito.",
        "Cústame durmir coa música, podes baixala un pouco?",
        "Grazas por avisarme das visitas con tempo.",
        "Impórtache pechar a porta do baño ao saír?",
        "Quería falar contigo do lixo, se che vén ben.",
    ],
    "sv": [
        "Skulle du kunna plocka undan tallrikarna när du är klar? Det skulle hjälpa mig mycket.",
        "Jag har svårt att sova med musiken, kan du sänka lite?",
        "Tack för att du säger till om gäster i god tid.",
        "Kan du stänga dörren till badrummet när du går ut?",
        "Jag ville prata med dig om soporna om det passar.",
    ],
    "no": [
        "Kunne du rydde bort tallerkenene når du er ferdig? Det ville hjulpet meg mye.",
        "Jeg har vanskelig for å sove med musikken, kan du skru ned litt?",
        "Takk for at du sier fra om gjester i god tid.",
        "Kan du lukke døren til badet når du går ut?",
        "Jeg ville snakke med deg om søpla hvis det passer.",
    ],
    "da": [
        "Kunne du rydde tallerknerne væk, når du er færdig? Det ville hjælpe mig meget.",
        "Jeg har svært ved at sove med musikken, kan du skrue lidt ned?",
        "Tak fordi du siger til om gæster i god tid.",
        "Kan du lukke døren til badeværelset, når du går ud?",
        "Jeg ville tale med dig om skraldet, hvis det passer.",
    ],
    "id": [
        "Boleh tolong bereskan piringnya kalau sudah selesai? Itu sangat membantu.",
        "Aku susah tidur karena musiknya, bisa dikecilkan sedikit?",
        "Makasih sudah kasih tahu soal tamu dari jauh hari.",
        "Bisakah kamu menutup pintu kamar mandi setelah keluar?",
        "Aku mau bicara soal sampah kalau kamu ada waktu.",
    ],
    "ms": [
        "Boleh tak awak kemaskan pinggan bila dah siap? Ia sangat membantu saya.",
        "Saya susah nak tidur sebab muzik, boleh perlahankan sikit?",
        "Terima kasih kerana beritahu awal tentang tetamu.",
        "Boleh awak tutup pintu bilik air lepas keluar?",
        "Saya nak cakap pasal sampah kalau awak ada masa.",
    ],
    "zh": [
        "用完以后可以把盘子收一下吗？这样会帮我很多。",
        "音乐声让我睡不着，可以小声一点吗？",
        "谢谢你提前告诉我客人的事。",
        "出来的时候可以关一下浴室门吗？",
        "方便的话想和你聊聊垃圾的事。",
    ],
    "yue": [
        "用完之後可唔可以執返啲碟呀？咁樣會幫到我好多。",
        "啲音樂嘈到我瞓唔着，可唔可以細聲啲？",
        "多謝你早啲話我知有客人嚟。",
        "出嚟嗰陣可唔可以閂咗廁所門？",
        "得閒嘅話想同你傾下啲垃圾嘅事。",
    ],
    "hi": [
        "क्या आप काम के बाद प्लेटें उठा सकते हैं? इससे मुझे बहुत मदद मिलेगी।",
        "संगीत से मुझे नींद नहीं आती, क्या थोड़ा धीमा कर सकते हैं?",
        "मेहमानों के बारे में पहले बताने के लिए धन्यवाद।",
        "क्या आप बाहर निकलते समय बाथरूम का दरवाज़ा बंद कर सकते हैं?",
        "समय हो तो कचरे के बारे में बात करनी थी।",
    ],
    "mr": [
        "काम झाल्यावर तुम्ही ताटे उचलू शकाल का? मला खूप मदत होईल.",
        "संगीतामुळे मला झोप येत नाही, थोडा आवाज कमी कराल का?",
        "पाहुण्यांबद्दल आधी सांगितल्याबद्दल धन्यवाद.",
        "बाहेर पडताना न्हाणीघराचे दार बंद कराल का?",
        "वेळ असेल तर कचऱ्याबद्दल बोलायचे होते.",
    ],
    "sr": [
        "Можеш ли да склониш тањире кад завршиш? То би ми много помогло.",
        "Тешко спавам уз музику, можеш ли мало да стишаш?",
        "Хвала ти што си ми на време рекао за госте.",
        "Можеш ли да затвориш врата купатила кад изађеш?",
        "Хтео сам да попричамо о смећу ако имаш времена.",
    ],
    "hr": [
        "Možeš li pospremiti tanjure kad završiš? To bi mi puno pomoglo.",
        "Teško spavam uz glazbu, možeš li malo stišati?",
        "Hvala ti što si mi na vrijeme rekao za goste.",
        "Možeš li zatvoriti vrata kupaonice kad izađeš?",
        "Htio sam razgovarati o smeću ako imaš vremena.",
    ],
    "bs": [
        "Možeš li skloniti tanjire kad završiš? To bi mi mnogo pomoglo.",
        "Teško spavam uz muziku, možeš li malo utišati?",
        "Hvala ti što si mi na vrijeme rekao za goste.",
        "Možeš li zatvoriti vrata kupatila kad izađeš?",
        "Htio sam popričati o smeću ako imaš vremena.",
    ],
    # No neighbours here, but languages without a list of common words: what they share with others is theirs too.
    "cs": ["Mohl bys prosím uklidit nádobí? Moc by mi to pomohlo.", "Díky, že jsi mi o hostech řekl včas."],
    "fi": ["Voisitko siivota lautaset, kun olet valmis? Se auttaisi minua paljon."],
    "ro": [
        "Ai putea să strângi farfuriile după ce termini? M-ar ajuta mult.",
        "Mulțumesc că mi-ai spus din timp de musafiri.",
    ],
    "hu": ["Össze tudnád szedni a tányérokat, ha végeztél? Sokat segítene nekem."],
}
# Told apart by words or letters. Serbian in Latin letters from Croatian, and written Cantonese from Mandarin, are not.
APART = {
    "es": ["pt", "ca", "gl"],
    "pt": ["es", "ca", "gl"],
    "ca": ["es", "pt"],
    "gl": ["es", "pt"],
    "sv": ["no", "da"],
    "no": ["sv"],
    "da": ["sv"],
    "id": ["ms"],
    "zh": ["yue"],
    "hi": ["mr"],
    "mr": ["hi"],
    "hr": ["es"],
    "bs": ["es"],
}
THINGS = "the dishes, the music, guests, the door, the trash"


def taken_for_foreign(target: str, texts: list[str]) -> list[str]:
    verdicts = said_all(texts, target, THINGS, source="en")
    return [text for text, verdict in verdicts if "non_target_locale" in verdict["violations"]]


@pytest.mark.parametrize("target", TEXTS)
def test_a_text_in_its_language_is_not_taken_for_a_neighbours(target: str) -> None:
    assert taken_for_foreign(target, TEXTS[target]) == []


@pytest.mark.parametrize("target", APART)
def test_a_neighbours_text_is_caught(target: str) -> None:
    texts = [text for other in APART[target] for text in TEXTS[other]]
    assert taken_for_foreign(target, texts) == texts
