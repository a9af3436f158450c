"""Whether a piece is text of a language: by the scripts of its letters."""

from collections import Counter
from collections.abc import Iterable

from fontTools.unicodedata import category, script, script_extension

from vocap.languages import DOMAINS, UNICODE_SCRIPTS, read_languages

NO_ONE_SCRIPT = ("Zyyy", "Zinh")  # Common and Inherited: digits, punctuation, accents
TOGETHER = {"Hira": "Jpan", "Kana": "Jpan", "Hang": "Kore"}  # scripts written with others


def find_scripts(language: str, blocks: Iterable[list[str]]) -> frozenset[str]:
    """The scripts of a language: those of the table of languages, and that of most
    letters of its text.

    Empty, which stands for any, for a domain such as code, and for text without letters.
    """
    known = read_languages().get(language)
    if known is not None and known.resource in DOMAINS:
        return frozenset()
    characters, letters = Counter[str](), Counter[str]()
    for lines in blocks:
        characters.update("".join(lines))
    for character, times in characters.items():
        if category(character)[0] in "LM" and script(character) not in NO_ONE_SCRIPT:
            letters[script(character)] += times
    written = [TOGETHER.get(most, most) for most, _ in letters.most_common(1)]
    written += [known.script] if known is not None else []
    return frozenset(one for name in written for one in UNICODE_SCRIPTS.get(name, (name,)))


def is_foreign(piece: str, scripts: frozenset[str]) -> bool:
    """Whether a character of the piece is of another script alone."""
    return bool(scripts) and any(
        script(character) not in NO_ONE_SCRIPT and scripts.isdisjoint(script_extension(character))
        for character in piece
    )


def is_own(piece: str, scripts: frozenset[str]) -> bool:
    """Whether a piece is a letter or mark of the scripts, with others or characters of
    no one script; or a single character that is not foreign, which text would lack.

    >>> [is_own(piece, frozenset({"Thai"})) for piece in ("▁ก1", "***", ",000", "COVID", "%")]
    [True, False, False, False, True]
    """
    if not scripts or is_foreign(piece, scripts):
        return not scripts
    return len(piece) == 1 or any(
        category(character)[0] in "LM" and not scripts.isdisjoint(script_extension(character))
        for character in piece
    )
