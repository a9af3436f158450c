"""Text on which programs that read the same tokenizer are known to differ: spaces, controls,
marks, compatibility characters, joiners, names of special tokens, code, long runs.
"""

HARD = (
    *("", " ", "   ", "\t", "\n", "\r\n", "a\n\n\nb", "  two  spaces  ", "\u3000", "a\u3000b"),
    *("\0", "a\0b", "\x01\x7f\x85", "\xa0", "a\xa0b", "\u2028", "\ufeff", "\ufeffa", "\u200b"),
    *("e\u0301 é", "A\u030a Å Å", "ﬁne ½ ² ①②③ ｱ ＡＢＣ", "㍿ ™ ﷺ", "ガラス ｶﾞﾗｽ"),
    *("क\u093c क़", "น้ำ ที่", "می‌خواهم", "क्\u200dष", "שָׁלוֹם", "ﺍﻟﺴﻼﻡ ﻻ"),
    *("👩\u200d🚀", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "☺️", "𝒜𝔅", "\U0010ffff", "\ue000", "\ufdd0"),
    *("▁", "▁a", "a▁b", "▁▁", " ▁", "<s>", "</s>", "<s>a</s>", "<pad>", "<unk>", "<mask>"),
    *("a <mask> b", "<0x41>", "<|im_start|>user", "<reserved_0>", "<date>", "C++ and C++x", "①"),
    *("it's we'll I'M 'S", "1234567", "١٢٣٤ 12.5", "3x2", "don't!!", "...", "—…", "a-b_c", "$%&"),
    *("def f(x):\n    return x\n", "\tif\t(a)\r\n", "https://x.org/a?b=c#d", "CamelCaseWord"),
    *("각 \u1100\u1161\u11a8", "ſ 'ſ", "İıß", "Ǆǆ", "x" * 300, "ab " * 200, "日本語テキスト。"),
    *("\u0301a", "\u0301", "€5", "Price €5"),
)
