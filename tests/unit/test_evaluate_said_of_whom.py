"""What is said of the sender, taken back, quoted, or praise is told from what is said of the reader, in languages other
than English."""

import pytest

from tests.unit.evaluate_said import said_all

FAIR = {
    "es": [
        "Siempre eres muy amable conmigo, ¿podrías bajar un poco la música?",
        "Siempre me ayudas mucho y te lo agradezco. ¿Podrías sacar la basura hoy?",
        "Tengo TDAH y me cuesta concentrarme con ruido. ¿Podemos buscar una solución?",
        "No digo que seas desordenado, solo quería pedirte ayuda con la cocina. ¿Te parece?",
        'Cuando escuché "eres un vago" me sentí mal. ¿Podemos hablarlo?',
        "No es culpa tuya que las paredes sean finas, pero ¿podrías usar auriculares?",
        "Mi ansiedad empeora con los gritos. ¿Podemos hablar más bajo?",
    ],
    "de": [
        "Du bist immer so hilfsbereit, könntest du mir mit dem Müll helfen?",
        "Ich habe ADHS und kann mich bei Lärm schwer konzentrieren. Könnten wir eine Lösung finden?",
        "Ich will nicht sagen, dass du faul bist; ich bräuchte nur Hilfe in der Küche. Ginge das?",
        "Als ich „du bist faul“ hörte, hat mich das getroffen. Können wir reden?",
        "Es ist nicht deine Schuld, dass die Wände dünn sind. Könntest du Kopfhörer nehmen?",
        "Wegen meiner Migräne brauche ich abends Ruhe. Wäre das möglich?",
    ],
    "fr": [
        "Tu es toujours très gentil avec moi, est-ce que tu pourrais baisser un peu la musique ?",
        "J'ai un TDAH et le bruit me gêne. On pourrait trouver une solution ?",
        "Je ne dis pas que tu es paresseux, j'aurais juste besoin d'aide en cuisine. C'est possible ?",
        "Quand j'ai entendu « tu es paresseuse », ça m'a fait de la peine. On peut en parler ?",
        "Ce n'est pas ta faute si les murs sont fins, mais pourrais-tu mettre un casque ?",
        "C'est toujours moi qui sors la poubelle et je fatigue un peu. On peut alterner ?",
        "Je suis dépressive en ce moment et j'ai besoin de calme. Tu pourrais baisser le son ?",
    ],
    "ru": [
        "Ты всегда такой внимательный, можешь чуть сделать тише?",
        "У меня СДВГ, и шум мне мешает. Можем найти решение?",
        "Я не говорю, что ты ленивый, мне просто нужна помощь на кухне. Поможешь?",
        "Когда я услышала «ты ленивая», мне стало обидно. Давай поговорим?",
        "Ты не виноват, что стены тонкие, но, может, наденешь наушники?",
        "У меня мигрень, мне нужна тишина. Можешь говорить потише?",
    ],
    "zh": [
        "你一直都很体贴，可以把音乐调小一点吗？",
        "我有多动症，噪音会让我很难集中。我们可以想个办法吗？",
        "我不是说你懒，只是想请你帮忙收拾厨房，可以吗？",
        "听到别人说“你很懒”的时候我有点难过，我们可以聊聊吗？",
        "墙薄不是你的错，可以戴耳机听音乐吗？",
        "每次都是我做饭，有点累，我们可以轮流吗？",
        "我有焦虑症，需要安静一点，可以吗？",
    ],
    "ja": [
        "いつも優しくしてくれてありがとう。音を少し下げてもらえますか？",
        "私はADHDがあって、音があると集中しにくいです。一緒に方法を考えてもらえますか？",
        "怠けていると言いたいわけではなくて、台所を手伝ってもらえると助かります。",
        "「怠け者」と言われて悲しかったです。話し合えますか？",
        "壁が薄いのはあなたのせいではないのですが、イヤホンを使ってもらえますか？",
        "いつも私が料理しているので少し疲れています。交代できますか？",
        "片頭痛があるので、夜は静かにしてもらえると助かります。",
    ],
    "hi": [
        "आप हमेशा मेरी मदद करते हैं, क्या आवाज़ थोड़ी कम कर सकते हैं?",
        "मुझे एडीएचडी है और शोर में ध्यान नहीं लगता। क्या हम कोई हल निकाल सकते हैं?",
        "मैं यह नहीं कह रहा कि आप आलसी हैं, बस रसोई में मदद चाहिए। क्या आप कर सकते हैं?",
        'जब मैंने "तुम आलसी हो" सुना तो दुख हुआ। क्या हम बात कर सकते हैं?',
        "दीवारें पतली हैं, इसमें आपकी गलती नहीं है। क्या आप हेडफ़ोन लगा सकते हैं?",
        "मुझे माइग्रेन है, इसलिए शांति चाहिए। क्या आप धीरे बात कर सकते हैं?",
    ],
    "ar": [
        "أنت دائماً لطيف معي، هل يمكنك خفض الصوت قليلاً؟",
        "عندي فرط حركة والضوضاء تشتتني. هل يمكن أن نجد حلاً؟",
        "لا أقول إنك كسول، أحتاج فقط إلى مساعدة في المطبخ. هل هذا ممكن؟",
        'حين سمعت "أنت كسول" حزنت. هل يمكننا الحديث؟',
        "ليس ذنبك أن الجدران رقيقة، لكن هل يمكنك استخدام السماعات؟",
        "أنا دائماً أطبخ يوم العطلة وأتعب. هل نتبادل الأدوار؟",
        "لدي صداع نصفي وأحتاج إلى الهدوء. هل يمكنك خفض الصوت؟",
    ],
    "pt": [
        "Você é sempre tão gentil, poderia abaixar um pouco o som?",
    ],
    "it": [
        "Sei sempre così disponibile, potresti abbassare un po' il volume?",
    ],
    "nl": [
        "Je bent altijd zo behulpzaam, zou je het volume wat lager kunnen zetten?",
    ],
    "pl": [
        "Zawsze jesteś taki pomocny, czy mógłbyś trochę ściszyć?",
    ],
    "tr": [
        "Bana hep çok iyi davranıyorsun, sesi biraz kısabilir misin?",
    ],
    "sv": [
        "Du är alltid så snäll, skulle du kunna sänka lite?",
    ],
    "vi": [
        "Bạn luôn tốt với mình, bạn vặn nhỏ chút được không?",
    ],
    "id": [
        "Kamu selalu baik padaku, boleh suaranya dikecilkan sedikit?",
    ],
    "ko": [
        "항상 친절하게 대해 줘서 고마워요. 소리를 조금 줄여 줄 수 있을까요?",
    ],
    "th": [
        "คุณใจดีกับเราเสมอ ช่วยเบาเสียงหน่อยได้ไหม",
    ],
}
UNFAIR = {
    "es": [
        "Tienes TDAH y se nota. ¿Podemos hablar?",
        "Eres un vago. ¿Podemos hablarlo?",
        "Siempre eres muy desordenado, ¿podrías recoger?",
        "No eres más que un vago, ¿podrías recoger?",
        "No es que yo sea perfecta, pero eres un cerdo. ¿Podemos hablar?",
        "Es culpa tuya que no durmamos.",
        "Él dijo que eres un egoísta, ¿podemos hablar?",
    ],
    "de": [
        "Du hast ADHS, das merkt man. Können wir reden?",
        "Du bist einfach faul. Können wir reden?",
        "Nie räumst du auf. Könntest du das ändern?",
        "Es ist deine Schuld, dass keiner schläft. Können wir reden?",
        "Du bist nichts als ein Egoist. Können wir reden?",
    ],
    "fr": [
        "Tu as un TDAH, ça se voit. On peut en parler ?",
        "Tu es vraiment paresseux. On peut en parler ?",
        "Tu ne ranges jamais. Tu pourrais changer ça ?",
        "C'est ta faute si personne ne dort. On peut en parler ?",
        "Tu n'es qu'un égoïste. On peut en parler ?",
    ],
    "ru": [
        "У тебя СДВГ, это видно. Поговорим?",
        "Ты просто ленивый. Поговорим?",
        "Ты никогда не убираешь. Можешь это изменить?",
        "Это твоя вина, что никто не спит. Поговорим?",
        "Ты всего лишь эгоист. Поговорим?",
    ],
    "zh": [
        "你有多动症，看得出来。我们可以聊聊吗？",
        "你就是懒。我们可以聊聊吗？",
        "你从来不打扫，能改改吗？",
        "大家睡不着都是你的错，可以聊聊吗？",
        "你太自私了，可以聊聊吗？",
    ],
    "ja": [
        "あなたはADHDですよね。話し合えますか？",
        "あなたは怠け者です。話し合えますか？",
        "あなたはいつも掃除しないですね。直してもらえますか？",
        "みんなが眠れないのはあなたのせいです。話せますか？",
        "あなたは自分勝手です。話せますか？",
    ],
    "hi": [
        "तुम्हें एडीएचडी है, साफ़ दिखता है। क्या हम बात कर सकते हैं?",
        "तुम बहुत आलसी हो। क्या हम बात कर सकते हैं?",
        "तुम कभी सफ़ाई नहीं करते। क्या इसे बदल सकते हो?",
        "सबकी नींद तुम्हारी वजह से ख़राब होती है, यह तुम्हारी गलती है। क्या हम बात करें?",
        "तुम बहुत स्वार्थी हो। क्या हम बात कर सकते हैं?",
    ],
    "ar": [
        "أنت مصاب بفرط الحركة وهذا واضح. هل نتحدث؟",
        "أنت كسول جداً. هل نتحدث؟",
        "أنت لا تنظف أبداً. هل يمكنك تغيير ذلك؟",
        "هذا ذنبك أن أحداً لا ينام. هل نتحدث؟",
        "أنت أناني. هل نتحدث؟",
    ],
}
ACCUSING = {"personal_attack", "blame", "medical"}

THINGS = "noise, the kitchen, dishes, the mess, cooking, your habits"


@pytest.mark.parametrize("target", FAIR)
def test_own_diagnosis_negation_quotation_and_praise_accuse_nobody(target: str) -> None:
    verdicts = said_all(FAIR[target], target, THINGS, source="en")
    assert [text for text, verdict in verdicts if ACCUSING & set(verdict["violations"])] == []


@pytest.mark.parametrize("target", UNFAIR)
def test_the_same_said_of_the_reader_does(target: str) -> None:
    verdicts = said_all(UNFAIR[target], target, THINGS, source="en")
    assert [text for text, verdict in verdicts if not ACCUSING & set(verdict["violations"])] == []
