"""Letters of a text by their script, as Unicode has it."""

import unicodedata
from functools import cache
from typing import NamedTuple

from vocap.languages import UNICODE_SCRIPTS


class Letters(NamedTuple):
    """Characters of a text, counted.

    `own`, `foreign`: letters of the script asked for, and of other ones; `common`:
    letters that belong to no one script (Common, Inherited: the Japanese long vowel
    mark); `marks`; `visible`: characters but white space.
    """

    own: int
    foreign: int
    common: int
    marks: int
    visible: int

    @property
    def total(self) -> int:
        """Letters and marks."""
        return self.own + self.foreign + self.common + self.marks


class _Classes(dict[int, str]):
    """For str.translate: i letter of the script, n of none, x of another, m mark,
    space, and . for others.
    """

    def __init__(self, script: str) -> None:
        super().__init__()
        self.scripts = UNICODE_SCRIPTS.get(script, (script,))

    def __missing__(self, code_point: int) -> str:
        from fontTools.unicodedata import script

        character = chr(code_point)
        category = unicodedata.category(character)
        if category[0] == "L":
            own = script(character)
            result = "n" if own in ("Zyyy", "Zinh") else "x"
            if own in self.scripts:
                result = "i"
        elif category[0] == "M":
            result = "m"
        else:
            result = " " if character.isspace() else "."
        self[code_point] = result
        return result


_classes = cache(_Classes)


def count_letters(text: str, script: str) -> Letters:
    """The letters of `text`; `script`: an ISO 15924 code.

    >>> count_letters("Ja, да 2", "Latn")
    Letters(own=2, foreign=2, common=0, marks=0, visible=6)
    """
    classes = text.translate(_classes(script))
    return Letters(
        own=classes.count("i"),
        foreign=classes.count("x"),
        common=classes.count("n"),
        marks=classes.count("m"),
        visible=len(classes) - classes.count(" "),
    )
