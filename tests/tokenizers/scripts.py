"""Real words of several scripts, with the marks that make normalisation hard, and tiny
models of them.
"""

import random
import unicodedata
from functools import cache
from pathlib import Path

from tests.tokenizer_files.factories import parse, train_model
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.layout import relayout

TEXTS = {
    "vi": "Tôi không thể hiểu được tiếng Việt vì nó rất phức tạp những người nghiên cứu đã khẳng "
    "định",
    "yo": "Ọ̀rọ̀ yìí ṣe pàtàkì fún gbogbo ènìyàn tó bá fẹ́ kọ́ èdè Yorùbá dáadáa ẹ̀kọ́ ọmọ",
    "el": "ἐν ἀρχῇ ἦν ὁ λόγος καὶ ᾧ τινι ἄνθρωπος ὥρα",
    "hi": "हिन्दी में ज़रूर लड़का पढ़ता है क़लम फ़िल्म ग़ज़ल कि की लिखा क्षत्रिय",
    "th": "ภาษาไทยนี้ ผู้ที่ น้ำ ที่สุด ครั้งหนึ่ง รัฐบาลกล่าวว่า ไม่มี",
    "ja": "ガラス ｶﾞﾗｽ 東京は夜の七時 パーティー ﾊﾟｰﾃｨｰ ㍿ がぎぐ",
    "ar": "العَرَبِيَّةُ لُغَةٌ جَمِيلَةٌ آمَنَ مُؤْمِنٌ رَئِيس ﻻ ﷺ",
    "my": "မြန်မာ့ စကား ကျွန်ုပ် တို့ သည် နေ့ ဦး ချင်း ့် ့်း",
    "ko": "한국어 말뭉치 각각 ㄱㅏ ﾡ 서울",
    "he": "שָׁלוֹם עֲלֵיכֶם בְּרֵאשִׁית יִדיש",
    "en": "the ½ ² ①②③ ﬁne ﬂoor x² Å naïve café <s> </s> <unk> <pad> <mask> <0x41> ™",
}
WORDS = {language: text.split() for language, text in TEXTS.items()}
# what else hostile text is made of: controls, spaces, joiners, marks alone and twice,
# compatibility characters
ODD = [
    *"\x01\x1c\x7f\x85\xa0\xad\t\r \u3000\u200b\u200c\u200d\u2028\u2581\ufeff\ufffd\u0600\u180e",
    *"\u0300\u0301\u0302\u0303\u0307\u0308\u0309\u031b\u0323\u0328\u0338\u0340\u0344\u0345\u05bc\u05c1\u064b\u0651",
    *"\u0653\u0655\u093c\u094d\u09be\u0b3e\u0cd5\u0dca\u0dcf\u0e33\u0eb3\u0e38\u0e48\u1037\u1039\u103a\u102e\u1025",
    *"\u1100\u1161\u11a8\uac00\uff76\uff9e\uff9f\u3099\uffc2\u0f71\u0f73\u0f81\u1e63\u1fb4\u2fa1d\U0001d15e\U00016d67",
    *"\U0001f3fb\U0001f1ebaeoAEOαωקनก<=>½²Ångﬁ①ｱ\U0001d49c\U0001f468",
]


def make_lines(count: int, seed: int = 0) -> list[str]:
    """Lines of one language each, composed and decomposed in turn."""
    rng = random.Random(seed)
    lines = []
    for number in range(count):
        words = rng.choices(WORDS[rng.choice(list(WORDS))], k=rng.randint(2, 8))
        line = ("" if rng.random() < 0.2 else " ").join(words)
        lines.append(unicodedata.normalize(("NFC", "NFD")[number % 2], line))
    return lines


@cache
def model(
    size: int = 420,
    byte_fallback: bool = False,
    symbols: tuple[str, ...] = (),
    coverage: float = 0.98,
    rules: str = "nmt_nfkc",
):
    """A `ModelProto` in the shared layout, trained by SentencePiece on the words
    above.
    """
    trained = train_model(
        make_lines(1500),
        size,
        hard_vocab_limit=False,
        character_coverage=coverage,
        byte_fallback=byte_fallback,
        user_defined_symbols=list(symbols),
        normalization_rule_name=rules,
    )
    return relayout(parse(trained), "made")


def write_forms(folder: Path) -> None:
    """The model and its Hugging Face form in a new folder."""
    folder.mkdir()
    path = folder / "sentencepiece.model"
    path.write_bytes(model().SerializeToString(deterministic=True))
    export_unigram(path, folder / "huggingface")


def processor(proto):
    """SentencePiece's own reading of the model."""
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(
        model_proto=proto.SerializeToString(deterministic=True)
    )
