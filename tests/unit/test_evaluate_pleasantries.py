"""Pleasantries alone lose the matter, in every language with a pack; a few words of matter keep it."""

import pytest

from rewrite_batch.evaluate.packs import shipped
from tests.unit.evaluate_said import rules_of, said_all

LOST = {
    "es": [
        "Hola, espero que estés bien. ¡Que tengas un buen día!",
        "¡Hola! ¿Cómo estás? Espero que todo vaya bien. ¡Gracias por todo!",
        "Buenos días, solo quería saludarte y desearte una bonita semana.",
        "Hola, me alegra mucho vivir contigo. Eres una gran compañera. ¡Un abrazo!",
        "Gracias por ser tan buena persona. ¡Cuídate mucho!",
        "Hola, ¿qué tal tu semana? Solo pasaba a saludarte. ¡Un abrazo enorme!",
        "Buenas tardes. Deseo que hayas tenido un día maravilloso. Muchísimas gracias por tu amabilidad.",
        "Querida Ana, espero que todo te vaya genial. ¡Feliz fin de semana!",
    ],
    "de": [
        "Hallo, ich hoffe, es geht dir gut. Hab einen schönen Tag!",
        "Hi! Wie geht's dir? Ich hoffe, alles ist gut bei dir. Danke für alles!",
        "Guten Morgen, ich wollte dir nur eine schöne Woche wünschen.",
        "Hallo, ich freue mich sehr, mit dir zusammenzuwohnen. Du bist eine tolle Mitbewohnerin. Liebe Grüße!",
        "Danke, dass du so ein netter Mensch bist. Pass auf dich auf!",
        "Guten Abend! Ich hoffe, du hattest einen tollen Tag. Vielen Dank für deine Freundlichkeit.",
        "Hey, wie war deine Woche? Wollte nur kurz hallo sagen. Bis bald!",
        "Liebe Anna, alles Gute und ein schönes Wochenende!",
    ],
    "fr": [
        "Bonjour, j'espère que tu vas bien. Bonne journée !",
        "Salut ! Comment ça va ? J'espère que tout se passe bien pour toi. Merci pour tout !",
        "Coucou, je voulais juste te souhaiter une bonne semaine.",
        "Bonjour, je suis très contente de vivre avec toi. Tu es une super colocataire. Bises !",
        "Merci d'être aussi gentil. Prends soin de toi !",
        "Bonsoir ! J'espère que ta journée s'est bien passée. Merci beaucoup pour ta gentillesse.",
        "Coucou, comment s'est passée ta semaine ? Je passais juste dire bonjour. À bientôt !",
        "Chère Anna, plein de bonnes choses et bon week-end !",
    ],
    "pt": [
        "Olá, espero que você esteja bem. Tenha um ótimo dia!",
        "Oi! Tudo bem com você? Espero que esteja tudo certo. Obrigada por tudo!",
        "Bom dia, só queria te desejar uma ótima semana.",
        "Oi, fico muito feliz de morar com você. Você é um ótimo colega. Um abraço!",
        "Obrigado por ser uma pessoa tão legal. Se cuida!",
        "Boa noite! Espero que seu dia tenha sido maravilhoso. Muito obrigado pela gentileza.",
        "Oi, como foi sua semana? Só passei para dar um oi. Até logo!",
        "Querida Ana, tudo de bom e um ótimo fim de semana!",
    ],
    "it": [
        "Ciao, spero che tu stia bene. Buona giornata!",
        "Ciao! Come stai? Spero che vada tutto bene. Grazie di tutto!",
        "Buongiorno, volevo solo augurarti una bella settimana.",
        "Ciao, sono molto felice di vivere con te. Sei un'ottima coinquilina. Un abbraccio!",
        "Grazie per essere una persona così gentile. Abbi cura di te!",
        "Buonasera! Spero che la tua giornata sia andata bene. Grazie mille per la tua gentilezza.",
        "Ehi, com'è andata la settimana? Volevo solo farti un saluto. A presto!",
        "Cara Anna, tanti auguri e buon fine settimana!",
    ],
    "nl": [
        "Hallo, ik hoop dat het goed met je gaat. Fijne dag nog!",
        "Hoi! Hoe gaat het met je? Ik hoop dat alles goed is. Bedankt voor alles!",
        "Goedemorgen, ik wilde je alleen een fijne week wensen.",
        "Hoi, ik ben heel blij dat ik met je samenwoon. Je bent een geweldige huisgenoot. Groetjes!",
        "Dankjewel dat je zo'n lief mens bent. Zorg goed voor jezelf!",
        "Goedenavond! Ik hoop dat je een fijne dag hebt gehad. Heel erg bedankt voor je vriendelijkheid.",
        "Hé, hoe was je week? Ik wilde alleen even gedag zeggen. Tot snel!",
        "Lieve Anna, het allerbeste en een fijn weekend!",
    ],
    "pl": [
        "Cześć, mam nadzieję, że u ciebie wszystko dobrze. Miłego dnia!",
        "Hej! Co u ciebie słychać? Mam nadzieję, że wszystko w porządku. Dzięki za wszystko!",
        "Dzień dobry, chciałam tylko życzyć ci miłego tygodnia.",
        "Cześć, bardzo się cieszę, że razem mieszkamy. Jesteś świetną współlokatorką. Pozdrawiam!",
        "Dziękuję, że jesteś taką miłą osobą. Trzymaj się!",
        "Dobry wieczór! Mam nadzieję, że miałaś udany dzień. Bardzo dziękuję za twoją życzliwość.",
        "Hej, jak minął ci tydzień? Chciałem się tylko przywitać. Do zobaczenia!",
        "Droga Anno, wszystkiego dobrego i udanego weekendu!",
    ],
    "tr": [
        "Merhaba, umarım iyisindir. İyi günler!",
        "Selam! Nasılsın? Umarım her şey yolundadır. Her şey için teşekkürler!",
        "Günaydın, sadece sana güzel bir hafta dilemek istedim.",
        "Merhaba, seninle yaşadığım için çok mutluyum. Harika bir ev arkadaşısın. Sevgiler!",
        "Bu kadar iyi bir insan olduğun için teşekkür ederim. Kendine iyi bak!",
        "İyi akşamlar! Umarım günün güzel geçmiştir. Nezaketin için çok teşekkür ederim.",
        "Selam, haftan nasıl geçti? Sadece merhaba demek istedim. Görüşürüz!",
        "Sevgili Ayşe, her şey gönlünce olsun, iyi hafta sonları!",
    ],
    "ru": [
        "Привет, надеюсь, у тебя всё хорошо. Хорошего дня!",
        "Привет! Как дела? Надеюсь, всё в порядке. Спасибо за всё!",
        "Доброе утро, просто хотела пожелать тебе хорошей недели.",
        "Привет, я очень рада, что мы живём вместе. Ты замечательная соседка. Обнимаю!",
        "Спасибо, что ты такой хороший человек. Береги себя!",
        "Добрый вечер! Надеюсь, твой день прошёл хорошо. Большое спасибо за твою доброту.",
        "Привет, как прошла неделя? Просто решила поздороваться. До встречи!",
        "Дорогая Анна, всего самого доброго и хороших выходных!",
    ],
    "sv": [
        "Hej, jag hoppas att du mår bra. Ha en fin dag!",
        "Hej! Hur mår du? Hoppas att allt är bra. Tack för allt!",
        "God morgon, jag ville bara önska dig en trevlig vecka.",
        "Hej, jag är så glad att vi bor ihop. Du är en fantastisk rumskompis. Kram!",
        "Tack för att du är en så snäll person. Ta hand om dig!",
        "God kväll! Hoppas att din dag har varit bra. Tack så mycket för din vänlighet.",
        "Hej, hur var din vecka? Ville bara säga hej. Vi ses!",
        "Kära Anna, allt gott och trevlig helg!",
    ],
    "vi": [
        "Chào bạn, mong bạn vẫn khỏe. Chúc bạn một ngày tốt lành!",
        "Chào bạn! Bạn khỏe không? Mong mọi chuyện đều ổn. Cảm ơn bạn vì tất cả!",
        "Chào buổi sáng, mình chỉ muốn chúc bạn một tuần vui vẻ.",
        "Chào bạn, mình rất vui được sống cùng bạn. Bạn là một người bạn cùng nhà tuyệt vời. Thân mến!",
        "Cảm ơn bạn đã luôn tốt bụng. Giữ gìn sức khỏe nhé!",
        "Chào buổi tối! Hy vọng hôm nay của bạn thật tuyệt. Cảm ơn bạn rất nhiều vì sự tử tế.",
        "Chào bạn, tuần này của bạn thế nào? Mình chỉ muốn chào một tiếng. Hẹn gặp lại!",
    ],
    "id": [
        "Halo, semoga kamu baik-baik saja. Semoga harimu menyenangkan!",
        "Hai! Apa kabar? Semoga semuanya lancar. Terima kasih untuk semuanya!",
        "Selamat pagi, aku cuma mau mendoakan minggu yang indah untukmu.",
        "Halo, aku senang sekali tinggal bersamamu. Kamu teman serumah yang hebat. Salam hangat!",
        "Terima kasih sudah menjadi orang yang baik. Jaga diri ya!",
        "Selamat malam! Semoga harimu berjalan baik. Terima kasih banyak atas kebaikanmu.",
        "Hai, bagaimana minggumu? Aku cuma mau menyapa. Sampai jumpa!",
    ],
    "hi": [
        "नमस्ते, आशा है आप ठीक होंगे। आपका दिन शुभ हो!",
        "हाय! कैसे हो? उम्मीद है सब ठीक है। हर चीज़ के लिए धन्यवाद!",
        "सुप्रभात, बस आपको एक अच्छे हफ़्ते की शुभकामनाएँ देना चाहती थी।",
        "नमस्ते, आपके साथ रहकर बहुत खुशी होती है। आप बहुत अच्छे साथी हैं। प्यार!",
        "इतने अच्छे इंसान होने के लिए शुक्रिया। अपना ख़याल रखना!",
        "शुभ संध्या! उम्मीद है आपका दिन अच्छा रहा होगा। आपकी मेहरबानी के लिए बहुत शुक्रिया।",
        "नमस्ते, आपका हफ़्ता कैसा रहा? बस हाल पूछना था। फिर मिलेंगे!",
    ],
    "ar": [
        "مرحباً، أتمنى أن تكون بخير. أتمنى لك يوماً سعيداً!",
        "أهلاً! كيف حالك؟ آمل أن يكون كل شيء على ما يرام. شكراً على كل شيء!",
        "صباح الخير، أردت فقط أن أتمنى لك أسبوعاً جميلاً.",
        "السلام عليكم، أنا سعيد جداً بالعيش معك. أنت شريك سكن رائع. تحياتي!",
        "شكراً لأنك شخص طيب. اعتنِ بنفسك!",
        "مساء الخير! أتمنى أن يكون يومك قد مر بسلام. شكراً جزيلاً على لطفك.",
        "أهلاً، كيف كان أسبوعك؟ أردت فقط أن أسلم عليك. إلى اللقاء!",
    ],
    "zh": [
        "你好，希望你一切都好。祝你今天愉快！",
        "嗨！最近怎么样？希望一切顺利。谢谢你做的一切！",
        "早上好，只是想祝你这周过得愉快。",
        "你好，很高兴能和你一起住。你是个很棒的室友。祝好！",
        "谢谢你这么善良。照顾好自己！",
        "晚上好！希望你今天过得很开心。非常感谢你的善良。",
        "你好，这周过得怎么样？就是想打个招呼。再见！",
    ],
    "ja": [
        "こんにちは、お元気でお過ごしでしょうか。良い一日を！",
        "こんにちは！お元気ですか？順調だといいですね。いつもありがとうございます！",
        "おはようございます。良い一週間になりますように。",
        "こんにちは、一緒に暮らせてとてもうれしいです。素敵なルームメイトですね。よろしくお願いします。",
        "いつも優しくしてくれてありがとう。お体に気をつけてください！",
        "こんばんは。今日も良い一日でしたか？ご親切に感謝しています。",
        "こんにちは、今週はいかがでしたか？ご挨拶まで。またね！",
    ],
    "ko": [
        "안녕하세요, 잘 지내고 계시길 바라요. 좋은 하루 보내세요!",
        "안녕! 어떻게 지내? 다 잘되고 있길 바라. 여러 가지로 고마워!",
        "좋은 아침이에요. 즐거운 한 주 보내시길 바랄게요.",
        "안녕하세요, 함께 살게 되어 정말 기뻐요. 정말 좋은 룸메이트예요. 감사합니다!",
        "항상 친절하게 대해 줘서 고마워요. 건강 잘 챙기세요!",
        "좋은 저녁이에요! 오늘 하루 즐겁게 보내셨길 바라요. 친절하게 대해 주셔서 정말 감사합니다.",
        "안녕, 이번 주는 어땠어? 그냥 인사하고 싶었어. 또 봐!",
    ],
    "th": [
        "สวัสดี หวังว่าคุณจะสบายดี ขอให้เป็นวันที่ดีนะ",
        "สวัสดีค่ะ สบายดีไหม หวังว่าทุกอย่างจะเรียบร้อยดี ขอบคุณสำหรับทุกอย่างนะ",
        "อรุณสวัสดิ์ แค่อยากอวยพรให้มีสัปดาห์ที่ดี",
        "สวัสดีครับ ดีใจมากที่ได้อยู่ด้วยกัน คุณเป็นเพื่อนร่วมห้องที่ยอดเยี่ยม รักนะ",
        "ขอบคุณที่เป็นคนใจดี ดูแลตัวเองด้วยนะ",
        "สวัสดีตอนเย็น หวังว่าวันนี้จะเป็นวันที่ดีของคุณ ขอบคุณมากสำหรับความใจดี",
    ],
}
KEPT = {
    "es": [
        "Hola, ¿hablamos? ¡Gracias!",
        "Gracias por bajar la música. ¡Un abrazo!",
        "¿Cómo estás? Me cuesta dormir con la música.",
        "Espero que estés bien. La cocina sigue sucia.",
    ],
    "de": [
        "Hallo, reden wir? Danke!",
        "Wie geht's dir? Die Musik war nachts sehr laut.",
    ],
    "fr": [
        "Salut, on en parle ? Merci !",
        "Merci pour le calme le soir !",
        "J'espère que tu vas bien. La musique me réveille la nuit.",
    ],
    "pt": [
        "Oi, podemos conversar? Obrigada!",
        "Tudo bem? A louça ficou na pia.",
    ],
    "it": [
        "Ciao, ne parliamo? Grazie!",
        "Come stai? I piatti sono ancora lì.",
    ],
    "nl": [
        "Hoi, praten we even? Bedankt!",
        "Hoe gaat het met je? De vaat staat er nog.",
    ],
    "pl": [
        "Hej, pogadamy? Dzięki!",
    ],
    "tr": [
        "Selam, konuşalım mı? Teşekkürler!",
        "Nasılsın? Bulaşıklar hâlâ duruyor.",
    ],
    "ru": [
        "Привет, поговорим? Спасибо!",
        "Как дела? Посуда всё ещё стоит.",
    ],
    "sv": [
        "Hej, ska vi prata? Tack!",
        "Hur mår du? Disken står kvar.",
    ],
    "vi": [
        "Chào bạn, nói chuyện nhé? Cảm ơn!",
        "Bạn khỏe không? Bát đĩa vẫn còn đó.",
    ],
    "id": [
        "Hai, bisa ngobrol? Makasih!",
        "Apa kabar? Piringnya masih ada.",
    ],
    "hi": [
        "नमस्ते, बात करें? धन्यवाद!",
        "कैसे हो? बर्तन अभी भी पड़े हैं।",
    ],
    "ar": [
        "مرحباً، هل نتحدث؟ شكراً!",
        "كيف حالك؟ ما زالت الصحون هناك.",
    ],
    "zh": [
        "你好，聊聊？谢谢！",
        "最近怎么样？碗还没洗。",
    ],
    "ja": [
        "こんにちは、話せますか？ありがとう！",
        "お元気ですか？お皿がまだ残っています。",
    ],
    "ko": [
        "안녕, 얘기할까? 고마워!",
        "잘 지내? 그릇이 아직 있어.",
    ],
    "th": [
        "สวัสดี คุยกันไหม ขอบคุณนะ",
        "สบายดีไหม จานยังอยู่",
    ],
}


def test_every_language_but_english_is_tried() -> None:
    assert set(LOST) == set(KEPT) == set(shipped().packs) - {"en"}  # English has its own in test_evaluate_verdicts


@pytest.mark.parametrize("target", LOST)
def test_pleasantries_alone_fail(target: str) -> None:
    for text, verdict in said_all(LOST[target], target, "Music!", source="en"):
        assert (text, verdict["intent_preserved"], verdict["kept"]) == (text, "fail", False)
        assert rules_of(verdict) & {"intent_preserved:matter_lost", "intent_preserved:only_greets"}


@pytest.mark.parametrize("target", KEPT)
def test_a_few_words_of_matter_beside_them_keep_it(target: str) -> None:
    verdicts = said_all(KEPT[target], target, "Music!", source="en")
    assert [text for text, verdict in verdicts if verdict["intent_preserved"] == "fail"] == []
