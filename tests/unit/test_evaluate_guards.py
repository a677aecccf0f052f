"""The guards of what no answer may be, tried in every language: what a model says instead of a message."""

import pytest

from tests.unit.evaluate_said import rules_of, said, said_all

KIND = {
    "es": "¿Podrías bajar la música por la noche?",
    "de": "Könntest du die Musik nachts leiser machen?",
    "fr": "Pourrais-tu baisser la musique le soir ?",
    "pt": "Você pode abaixar a música à noite?",
    "it": "Potresti abbassare la musica la sera?",
    "nl": "Zou je de muziek 's avonds zachter willen zetten?",
    "pl": "Czy możesz ściszyć muzykę wieczorem?",
    "tr": "Akşamları müziği biraz kısabilir misin?",
    "ru": "Можешь сделать музыку вечером потише?",
    "sv": "Kan du sänka musiken på kvällen?",
    "vi": "Buổi tối bạn vặn nhỏ nhạc giúp mình nhé?",
    "id": "Bisakah kamu mengecilkan musik di malam hari?",
    "hi": "क्या आप रात को संगीत धीमा कर सकते हैं?",
    "ar": "هل يمكنك خفض الموسيقى في الليل؟",
    "zh": "晚上可以把音乐调小一点吗？谢谢你。",
    "ja": "夜は音楽を小さくしてもらえますか？",
    "ko": "밤에는 음악을 조금 줄여 줄 수 있을까요?",
    "th": "ตอนกลางคืนช่วยเบาเพลงหน่อยได้ไหม",
}
# Said as it came: an echo of it is refused.
HARSH = {
    "es": "La cocina está hecha un desastre por tu culpa otra vez",
    "de": "Die Küche ist wegen dir schon wieder ein Saustall",
    "fr": "La cuisine est encore une porcherie à cause de toi",
    "pt": "A cozinha está um chiqueiro de novo por sua causa",
    "it": "La cucina è di nuovo un porcile per colpa tua",
    "nl": "De keuken is door jou weer een zwijnenstal",
    "pl": "Kuchnia to znowu chlew i to przez ciebie",
    "tr": "Mutfak senin yüzünden yine ahıra dönmüş",
    "ru": "Кухня опять превратилась в свинарник из-за тебя",
    "sv": "Köket är en svinstia igen på grund av dig",
    "vi": "Bếp lại bẩn như chuồng lợn vì bạn đấy",
    "id": "Dapur jadi kandang babi lagi gara-gara kamu",
    "hi": "रसोई फिर तुम्हारी वजह से कूड़ाघर बन गई है",
    "ar": "المطبخ صار زريبة مرة أخرى بسببك أنت",
    "zh": "厨房又被你弄得像猪圈一样脏死了真受不了你啊我的天",
    "ja": "あなたのせいで台所がまた豚小屋みたいになってるんだけど",
    "ko": "너 때문에 부엌이 또 돼지우리가 됐잖아 진짜 못 살겠다",
    "th": "ครัวรกเหมือนคอกหมูอีกแล้วเพราะเธอคนเดียวเลยนะ",
}
# Two refusals and a talk of being a model; then an announced rewrite and a leaked prompt.
MODEL_TALK = {
    "es": [
        "Lo siento, pero no puedo ayudar con esa solicitud.",
        "Lo siento, no puedo reescribir este mensaje porque contiene lenguaje ofensivo.",
        "Como modelo de lenguaje, no puedo ayudarte con esto.",
        "Aquí tienes el mensaje reescrito: ¿Podrías bajar la música?",
        "Según las instrucciones del sistema, ¿podrías bajar la música?",
    ],
    "de": [
        "Tut mir leid, aber dabei kann ich nicht helfen.",
        "Ich kann diese Nachricht leider nicht umschreiben.",
        "Als KI-Sprachmodell kann ich das nicht tun.",
        "Hier ist die umformulierte Nachricht: Könntest du die Musik leiser machen?",
        "Gemäß den Anweisungen des Systems: Könntest du die Musik leiser machen?",
    ],
    "fr": [
        "Désolé, je ne peux pas vous aider avec cette demande.",
        "Je ne suis pas en mesure de reformuler ce message.",
        "En tant que modèle de langage, je ne peux pas faire cela.",
        "Voici le message reformulé : Pourrais-tu baisser la musique ?",
        "Conformément aux instructions du système, pourrais-tu baisser la musique ?",
    ],
    "pt": [
        "Desculpe, não posso ajudar com esse pedido.",
        "Não consigo reescrever esta mensagem.",
        "Como modelo de linguagem, não posso fazer isso.",
        "Aqui está a mensagem reescrita: Você pode abaixar a música?",
        "Conforme as instruções do sistema, você pode abaixar a música?",
    ],
    "it": [
        "Mi dispiace, ma non posso aiutarti con questa richiesta.",
        "Non posso riscrivere questo messaggio.",
        "In quanto modello linguistico, non posso farlo.",
        "Ecco il messaggio riscritto: Potresti abbassare la musica?",
        "Secondo le istruzioni del sistema, potresti abbassare la musica?",
    ],
    "nl": [
        "Sorry, ik kan je niet helpen met dit verzoek.",
        "Ik kan dit bericht niet herschrijven.",
        "Als taalmodel kan ik dit niet doen.",
        "Hier is het herschreven bericht: Zou je de muziek zachter willen zetten?",
        "Volgens de systeeminstructies: zou je de muziek zachter willen zetten?",
    ],
    "pl": [
        "Przykro mi, ale nie mogę pomóc w tej sprawie.",
        "Nie mogę przeredagować tej wiadomości.",
        "Jako model językowy nie mogę tego zrobić.",
        "Oto przeredagowana wiadomość: Czy możesz ściszyć muzykę?",
        "Zgodnie z instrukcjami systemu: czy możesz ściszyć muzykę?",
    ],
    "tr": [
        "Üzgünüm, bu istekte yardımcı olamam.",
        "Bu mesajı yeniden yazamam.",
        "Bir dil modeli olarak bunu yapamam.",
        "İşte yeniden yazılmış mesaj: Müziği kısabilir misin?",
        "Sistem talimatlarına göre: Müziği kısabilir misin?",
    ],
    "ru": [
        "Извините, но я не могу помочь с этим запросом.",
        "Я не могу переписать это сообщение.",
        "Как языковая модель, я не могу этого сделать.",
        "Вот переписанное сообщение: Можешь сделать музыку тише?",
        "Согласно системным инструкциям: можешь сделать музыку тише?",
    ],
    "sv": [
        "Tyvärr kan jag inte hjälpa till med den här begäran.",
        "Jag kan inte skriva om det här meddelandet.",
        "Som språkmodell kan jag inte göra det.",
        "Här är det omskrivna meddelandet: Kan du sänka musiken?",
        "Enligt systeminstruktionerna: Kan du sänka musiken?",
    ],
    "vi": [
        "Xin lỗi, tôi không thể hỗ trợ yêu cầu này.",
        "Tôi không thể viết lại tin nhắn này.",
        "Là một mô hình ngôn ngữ, tôi không thể làm điều đó.",
        "Đây là tin nhắn đã viết lại: Bạn vặn nhỏ nhạc giúp mình nhé?",
        "Theo hướng dẫn hệ thống: Bạn vặn nhỏ nhạc giúp mình nhé?",
    ],
    "id": [
        "Maaf, saya tidak bisa membantu permintaan ini.",
        "Saya tidak dapat menulis ulang pesan ini.",
        "Sebagai model bahasa, saya tidak bisa melakukannya.",
        "Berikut pesan yang sudah ditulis ulang: Bisakah kamu mengecilkan musik?",
        "Sesuai instruksi sistem: Bisakah kamu mengecilkan musik?",
    ],
    "hi": [
        "क्षमा करें, मैं इस अनुरोध में मदद नहीं कर सकता।",
        "मैं यह संदेश दोबारा नहीं लिख सकता।",
        "एक भाषा मॉडल के रूप में मैं यह नहीं कर सकता।",
        "यह रहा फिर से लिखा गया संदेश: क्या आप संगीत धीमा कर सकते हैं?",
        "सिस्टम निर्देशों के अनुसार: क्या आप संगीत धीमा कर सकते हैं?",
    ],
    "ar": [
        "عذراً، لا يمكنني المساعدة في هذا الطلب.",
        "لا أستطيع إعادة صياغة هذه الرسالة.",
        "بصفتي نموذجاً لغوياً، لا يمكنني فعل ذلك.",
        "إليك الرسالة المعاد صياغتها: هل يمكنك خفض الموسيقى؟",
        "وفقاً لتعليمات النظام: هل يمكنك خفض الموسيقى؟",
    ],
    "zh": [
        "抱歉，我无法协助处理这个请求。",
        "我不能改写这条信息。",
        "作为一个语言模型，我不能这样做。",
        "以下是改写后的信息：可以把音乐调小吗？",
        "根据系统提示：可以把音乐调小吗？",
    ],
    "ja": [
        "申し訳ありませんが、このリクエストにはお応えできません。",
        "このメッセージを書き換えることはできません。",
        "言語モデルとして、それはできません。",
        "以下は書き直したメッセージです：音楽を小さくしてもらえますか？",
        "システムの指示に従い、音楽を小さくしてもらえますか？",
    ],
    "ko": [
        "죄송하지만 이 요청은 도와드릴 수 없습니다.",
        "이 메시지를 다시 작성할 수 없습니다.",
        "언어 모델로서 그렇게 할 수 없습니다.",
        "다음은 다시 작성한 메시지입니다: 음악을 줄여 줄 수 있을까요?",
        "시스템 지침에 따라: 음악을 줄여 줄 수 있을까요?",
    ],
    "th": [
        "ขออภัย ฉันไม่สามารถช่วยเหลือคำขอนี้ได้",
        "ฉันไม่สามารถเขียนข้อความนี้ใหม่ได้",
        "ในฐานะโมเดลภาษา ฉันไม่สามารถทำเช่นนั้นได้",
        "นี่คือข้อความที่เขียนใหม่: ช่วยเบาเพลงหน่อยได้ไหม",
        "ตามคำสั่งของระบบ ช่วยเบาเพลงหน่อยได้ไหม",
    ],
}
FORMS = {
    "fence": "```\n{}\n```",
    "markdown": "**{}**",
    "json": '{{"rewritten_text": "{}"}}',
    "html": "<b>{}</b>",
    "placeholder": "[Name] {}",
    "list": "- {0}\n- {0}",
    "hidden": "\u202e{}\u202c",
}


AGAIN = "the music again"


@pytest.mark.parametrize("target", KIND)
def test_a_kind_message_passes(target: str) -> None:
    assert said(KIND[target], target, AGAIN, source="en")["kept"] is True


@pytest.mark.parametrize("target", KIND)
def test_markup_and_hidden_signs_break_the_schema(target: str) -> None:
    texts = [form.format(KIND[target]) for form in FORMS.values()]
    for name, (_, verdict) in zip(FORMS, said_all(texts, target, AGAIN, source="en"), strict=True):
        assert f"schema_valid:guard.{name}" in rules_of(verdict)
        assert (verdict["schema_valid"], verdict["kept"]) == (False, False)


@pytest.mark.parametrize("target", KIND)
def test_endless_text_and_repetition_break_the_schema(target: str) -> None:
    again = KIND[target][:6] * 40 if target in {"zh", "ja", "th"} else f"{KIND[target].split()[0]} " * 40
    endless, circling = said_all([f"{KIND[target]} " * 200, again], target, "x" * 200)
    assert "schema_valid:guard.length" in rules_of(endless[1])
    assert "schema_valid:guard.repetition" in rules_of(circling[1])


@pytest.mark.parametrize("target", HARSH)
def test_an_echo_of_a_harsh_original_breaks_the_schema(target: str) -> None:
    assert "schema_valid:guard.echo" in rules_of(said(f"{HARSH[target]}!", target, HARSH[target]))


@pytest.mark.parametrize("target", MODEL_TALK)
def test_refusals_and_leaked_instructions_are_not_kept(target: str) -> None:
    for text, verdict in said_all(MODEL_TALK[target], target, AGAIN, source="en"):
        assert (text, verdict["kept"]) == (text, False)
        assert any("refusal" in rule or rule.startswith("preference_disclosure") for rule in rules_of(verdict))
