"""The language codes of other programs as the codes of `config/languages.tsv`."""

from collections.abc import Container

# The same language in the same script under another name.
_SAME = {
    "nb": "no",
    "nb-no": "no",
    "fil": "tl",
    "iw": "he",
    "zh-hans": "zh",
    "zh-cn": "zh",
    "zh-hans-cn": "zh",
    "sr-ec": "sr",
    "sr-cyrl": "sr",
    "sr@cyrl": "sr",
    "kk-cyrl": "kk",
    "tt-cyrl": "tt",
    "tg-cyrl": "tg",
    "ug-arab": "ug",
    "uz-latn": "uz",
    "pt-pt": "pt",
    "es-419": "es",
}

# Regions that say no more than the language does. Others are varieties (pt-br, de-at, zh-hk) and stay out.
_HOME = {
    ("bn", "bd"), ("bg", "bg"), ("cs", "cz"), ("da", "dk"), ("el", "gr"), ("et", "ee"), ("fa", "ir"), ("fi", "fi"),
    ("he", "il"), ("hi", "in"), ("hr", "hr"), ("hu", "hu"), ("hy", "am"), ("id", "id"), ("is", "is"), ("it", "it"),
    ("ja", "jp"), ("ka", "ge"), ("km", "kh"), ("ko", "kr"), ("lo", "la"), ("lt", "lt"), ("lv", "lv"), ("mk", "mk"),
    ("my", "mm"), ("ne", "np"), ("nn", "no"), ("pl", "pl"), ("ro", "ro"), ("ru", "ru"), ("si", "lk"), ("sk", "sk"),
    ("sl", "si"), ("sq", "al"), ("sv", "se"), ("ta", "in"), ("te", "in"), ("th", "th"), ("tr", "tr"), ("uk", "ua"),
    ("ur", "pk"), ("vi", "vn"),
}  # fmt: skip


def paper_code(code: str, known: Container[str]) -> str | None:
    """The code among `known` that means the same language and script as `code`, or None.

    >>> paper_code("zh_CN", {"zh", "pt"}), paper_code("pt_BR", {"zh", "pt"})
    ('zh', None)
    """
    code = code.lower().replace("_", "-")
    if code in known:
        return code
    if code in _SAME:
        code = _SAME[code]
    else:
        language, _, region = code.partition("-")
        if (language, region) in _HOME:
            code = language
    return code if code in known else None
