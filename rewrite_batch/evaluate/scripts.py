"""Which script a language is written in; and traditional Chinese characters, which packs write in their simple form."""

import numpy as np

from rewrite_batch.evaluate.chars import SCRIPTS, SIZE, Ints

# Pairs, traditional then simple: the characters that household talk and our packs use.
_PAIRS = (
    "妳你們们來来說说話话會会這这個个時时間间過过還还請请讓让對对沒没開开關关門门東东"
    "乾干淨净髒脏懶懒總总從从應应該该規规聲声點点樣样為为嗎吗麼么幾几兩两後后給给覺觉"
    "聽听謝谢歡欢興兴難难裡里裏里廚厨廁厕衛卫間间電电視视機机燈灯車车錢钱買买賣卖費费"
    "罵骂豬猪蠢蠢醜丑無无責责錯错誤误壞坏毀毁亂乱滾滚閉闭嘴嘴媽妈爺爷們们誰谁臟脏雜杂"
    "藥药療疗醫医診诊斷断憂忧鬱郁躁躁強强恐恐須须務务據据約约條条違违罰罚擁拥權权産产產产"
    "業业東东歸归屬属準准許许經经當当發发現现實实際际進进運运動动離离舉举辦办讀读寫写"
    "週周號号歲岁質质變变響响環环邊边處处歷历師师學学習习書书號号題题風风飛飞飯饭餐餐"
    "餓饿館馆馬马驚惊體体鬧闹魚鱼鳥鸟麗丽龍龙齊齐龜龟別别則则剛刚創创劃划動动勞劳勢势"
    "區区協协單单卻却參参雙双嚴严圍围園园圓圆圖图團团執执報报場场塊块夢梦夾夹奪夺奮奋"
    "婦妇媽妈嬰婴寧宁寶宝將将專专尋寻導导屆届層层屬属歲岁島岛帶带幣币幫帮庫库廢废廣广"
    "張张彈弹彎弯彙汇徑径復复態态慣惯慮虑憤愤憶忆懷怀戰战戲戏戶户拋抛掃扫掛挂揮挥換换"
    "損损搖摇撿捡擁拥擇择擔担據据擠挤擾扰攔拦敗败數数斂敛時时晚晚曉晓暫暂條条棄弃樂乐"
    "標标樓楼機机檔档檢检欄栏歐欧歸归殘残殺杀氣气氾泛決决沖冲況况洩泄溫温滅灭滿满漲涨"
    "潔洁潛潜澆浇濕湿灣湾災灾煙烟煩烦熱热燒烧營营爛烂爭争爾尔牆墙狀状獨独獲获獸兽瑪玛"
    "畫画異异療疗瘋疯盡尽監监盤盘眾众睏困瞭了確确碼码禮礼禍祸種种稱称積积穩稳窗窗窩窝"
    "競竞筆笔節节簡简簽签籃篮類类糧粮糾纠紅红級级紙纸細细結结絕绝統统絲丝綁绑綠绿維维"
    "網网緊紧線线緒绪編编緩缓練练縮缩繞绕織织繳缴繼继續续罷罢職职聯联聰聪肅肃腦脑臉脸"
    "臨临與与舊旧艙舱艱艰莊庄葉叶著着蓋盖薦荐藏藏蘇苏處处虛虚螞蚂蟲虫蠻蛮衝冲補补裝装"
    "複复見见親亲觀观觸触計计訂订訊讯討讨訓训記记訪访設设訴诉試试詢询詳详認认語语誠诚"
    "課课調调談谈論论諒谅講讲證证識识譯译議议護护豐丰貓猫負负財财貨货貪贪貴贵貼贴資资"
    "賓宾賠赔趕赶趙赵跡迹踐践蹤踪軟软較较載载輕轻輛辆輪轮輸输轉转農农連连遲迟遠远適适"
    "選选遺遗還还邏逻鄰邻醒醒鈴铃鋪铺鋼钢錄录鎖锁鍋锅鍵键鏡镜鐘钟鑰钥陳陈陸陆陰阴隊队"
    "階阶隨随險险隱隐雖虽靜静響响頁页頂顶順顺預预頭头頻频顆颗額额顏颜願愿顧顾顯显類类"
)
TRADITIONAL_TO_SIMPLE: Ints = np.arange(SIZE, dtype=np.uint32)
for _old, _new in zip(_PAIRS[::2], _PAIRS[1::2], strict=True):
    TRADITIONAL_TO_SIMPLE[ord(_old)] = ord(_new)

# The scripts that a language is written in, where it is not Latin.
SCRIPTS_OF: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk", "kk", "ky", "mn", "tg"), ("cyrillic",)),
    "sr": ("cyrillic", "latin"),
    "el": ("greek",),
    **dict.fromkeys(("he", "yi"), ("hebrew",)),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ug", "sd"), ("arabic",)),
    **dict.fromkeys(("hi", "mr", "ne"), ("devanagari",)),
    "th": ("thai",),
    "ko": ("hangul",),
    "ja": ("kana", "han"),
    **dict.fromkeys(("zh", "yue"), ("han",)),
}

# Letters that a language does not have and its neighbours of the same script do.
FOREIGN_LETTERS: dict[str, str] = {
    "ru": "іїєґўћђљњџјѓќѕІЇЄҐЎЋЂЉЊЏЈЃЌЅ",
    "tr": "əƏ",
    "hi": "ळऴ",
    "ar": "پچژگکیٹڈڑےہںھۀە",
    "zh": "".join(map(chr, range(0x3041, 0x30FB)))
    + "嘅唔咁㗎冇佢哋喺咗嚟啲嗰噉乜嘢攞啱喎嗌瞓畀",  # Japanese, Cantonese
    "ja": "你们这吗请谢说话时间门关开对让给谁难过还从为么很吧呢它她没边钟样觉听见现讲该应净扫厨厕",
}
# Written without spaces, or by a script that no other known language has.
UNSPACED = frozenset({"zh", "ja", "ko", "th", "yue"})
_BASIC = "abcdefghijklmnopqrstuvwxyz"
# The letters of a Latin alphabet, with those of words that it commonly borrows.
ALPHABETS: dict[str, str] = {
    "es": _BASIC + "áéíóúüñªº",
    "pt": _BASIC + "áéíóúâêôãõàçüªº",
    "it": _BASIC + "àèéìíîòóùúªº",
    "fr": _BASIC + "àâæçéèêëîïôœùûüÿñ",
    "de": _BASIC + "äöüßéèêàçáñ",
    "nl": _BASIC + "áéíóúäëïöüàèêçñĳûâî",
    "sv": _BASIC + "åäöéàüèáç",
    "pl": _BASIC + "ąćęłńóśźżéèü",
    "tr": _BASIC.translate({ord(c): None for c in "qwx"}) + "çğıöşüâîûé\u0307",
    "id": _BASIC + "éè",
}
# A letter that stands for a syllable or a word weighs as many.
_WEIGHTS = {"han": 3, "kana": 2, "hangul": 2}
WEIGHT: Ints = np.array([_WEIGHTS.get(name, 1) for name in SCRIPTS])
