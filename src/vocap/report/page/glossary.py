"""The words that the page explains: a button at the first of each in a section, and the
glossary.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import yaml
from markupsafe import Markup, escape

# these elements stay as they are, and all tags
WHOLE = r"<(a|code|strong)\b.*?</\1>|<[^>]*>"


@dataclass(frozen=True)
class Term:
    """A word of the glossary; `words` is a regular expression of its forms, `concept`
    the section of docs/concepts.md that explains it at length.
    """

    term: str
    text: str
    words: str = ""
    concept: str = ""

    @property
    def id(self) -> str:
        """Of its text on the page."""
        return "term-" + re.sub(r"\W+", "-", self.term)


@cache
def terms() -> dict[str, Term]:
    """All words in the order of the file, by the names of their groups in `_forms`."""
    return {
        f"t{k}": Term(**entry)
        for k, entry in enumerate(
            yaml.safe_load((resources.files("vocap.report") / "glossary.yaml").read_bytes())
        )
    }


@cache
def _forms() -> re.Pattern[str]:
    """What stays whole, or a form of a word, in the group of its name."""
    forms = (
        f"(?P<{name}>{one.words or re.escape(escape(one.term))})" for name, one in terms().items()
    )
    return re.compile(rf"{WHOLE}|(?<![\w/.-])(?:{'|'.join(forms)})(?![\w/.-]*\w)")


@dataclass
class Marker:
    """Marks each term once in the texts of one section."""

    marked: set[str] = field(default_factory=set)

    def __call__(self, text: str) -> Markup:
        """The text, escaped where it is not Markup, with a button for each new term."""
        return Markup(_forms().sub(self._replaced, escape(text)))

    def _replaced(self, match: re.Match[str]) -> str:
        name = match.lastgroup
        if name is None or name in self.marked:
            return match[0]
        self.marked.add(name)
        term = terms()[name]
        return (
            f'<button type="button" class="term" popovertarget="{term.id}" '
            f'title="{escape(term.text)}">{match[0]}</button>'
        )
