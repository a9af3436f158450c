"""The programs whose translations make the starter corpus: versions, hashes, licences, paths, language codes."""

import re
from collections.abc import Container
from dataclasses import dataclass

from vocap.errors import UsageError


@dataclass(frozen=True)
class Package:
    """One program. `pattern` matches the paths of its catalogues and captures `code`, their language."""

    name: str
    kind: str  # "wheel", fetched by pip, or "deb", fetched by apt-get
    version: str  # of a deb: the version known here; the mirror keeps only the newest
    sha256: str
    licence: str
    pattern: str
    catalogue: str  # "json", "mo" or "po"
    wikitext: bool = False  # messages are in MediaWiki's markup
    english_ids: bool = True  # the message ids of a gettext catalogue are English sentences, not keys
    # programming language to a pattern of the paths of its files, as a tuple of pairs
    code: tuple[tuple[str, str], ...] = ()

    def match(self, path: str) -> re.Match[str] | None:
        """The match of the path of a catalogue; None for any other file."""
        return re.fullmatch(self.pattern, path)

    def code_of(self, path: str) -> str | None:
        """The programming language of a file of source code that belongs to the corpus; None for any other."""
        return next((language for language, pattern in self.code if re.fullmatch(pattern, path)), None)


# In the order in which their lines are taken: of equal lines the first package's stays.
_ALL = (
    Package(
        "mediawiki",
        "deb",
        "1:1.39.17-1+deb12u2",
        "dee6a9e1f11cf72ff9764f94815df980e120102984d15d489af079de7e980bba",
        "GPL-2.0-or-later",
        r"(?:[^/]+/)*i18n/(?:[^/]+/)*(?P<code>[^/.]+)\.json",
        "json",
        wikitext=True,
    ),
    Package(
        "homeassistant",
        "wheel",
        "2025.4.4",
        "b7970fe3ce3a9d032a3a5dee3cbf71b227e7f23fad14a23855ee252542ef2631",
        "Apache-2.0",
        r"homeassistant/components/(?:[^/]+/)*translations/(?:[^/.]+\.)?(?P<code>[^/.]+)\.json",
        "json",
    ),
    Package(
        "gramps",
        "wheel",
        "6.0.8",
        "56f03bcb643320eb9f9892d4c3f8bbe7c4c4d2e4c71e56f598584af24561ec1c",
        "GPL-2.0-or-later",
        r"(?:[^/]+/)*locale/(?P<code>[^/]+)/LC_MESSAGES/[^/]+\.mo",
        "mo",
    ),
    Package(
        "weblate",
        "wheel",
        "2026.10.1",
        "27a779ceb05fec3665081df0d3f46f4b6ac0e3f499160a1c3cb145e8e35853d2",
        "GPL-3.0-or-later",
        r"weblate/locale/(?P<code>[^/]+)/LC_MESSAGES/[^/]+\.mo",
        "mo",
    ),
    Package(
        "plone.app.locales",
        "wheel",
        "7.0.4",
        "de96a5d0dc1fe5ab540fa6f993805c09da80a9518aa7a309e8cd1f433e3ae6aa",
        "GPL-2.0-only",
        r"(?:[^/]+/)*locales/(?P<code>[^/]+)/LC_MESSAGES/[^/]+\.mo",
        "mo",
        english_ids=False,
    ),
    Package(
        "django",
        "wheel",
        "6.1.3",
        "a0530e3fdac55d34ccc5893c36f6c57d7a7083064f3d414537e51473648b3290",
        "BSD-3-Clause",
        r"(?:[^/]+/)*locale/(?P<code>[^/]+)/LC_MESSAGES/[^/]+\.po",
        "po",
        code=(
            ("python", r"django/(?:core|forms|http|template|utils|views)/(?:[^/]+/)*[^/]+\.py"),
            ("javascript", r"django/(?!.*/vendor/)(?:[^/]+/)*[^/]+\.js"),  # vendor: of other projects
        ),
    ),
)
PACKAGES = {package.name: package for package in _ALL}
# Where Debian's package cannot be had: the same messages from MediaWiki's own site.
MEDIAWIKI_ARCHIVE = "https://releases.wikimedia.org/mediawiki/1.39/mediawiki-1.39.17.tar.gz"
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
# Regions that add nothing to the language. Others are varieties (pt-br, de-at, zh-hk) and stay out.
_HOME = {
    ("bn", "bd"), ("bg", "bg"), ("cs", "cz"), ("da", "dk"), ("el", "gr"), ("et", "ee"), ("fa", "ir"), ("fi", "fi"),
    ("he", "il"), ("hi", "in"), ("hr", "hr"), ("hu", "hu"), ("hy", "am"), ("id", "id"), ("is", "is"), ("it", "it"),
    ("ja", "jp"), ("ka", "ge"), ("km", "kh"), ("ko", "kr"), ("lo", "la"), ("lt", "lt"), ("lv", "lv"), ("mk", "mk"),
    ("my", "mm"), ("ne", "np"), ("nn", "no"), ("pl", "pl"), ("ro", "ro"), ("ru", "ru"), ("si", "lk"), ("sk", "sk"),
    ("sl", "si"), ("sq", "al"), ("sv", "se"), ("ta", "in"), ("te", "in"), ("th", "th"), ("tr", "tr"), ("uk", "ua"),
    ("ur", "pk"), ("vi", "vn"),
}  # fmt: skip


def package_named(name: str) -> Package:
    """The package called `name`; raises UsageError for one that is not in the table."""
    if name not in PACKAGES:
        raise UsageError(f"unknown starter package {name!r}; the known ones are: {', '.join(PACKAGES)}")
    return PACKAGES[name]


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
