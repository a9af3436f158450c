"""The words that the page explains: a button at the first of each in a section, and the
glossary.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import yaml
from markupsafe import Markup, escape

SKIPPED = ("a", "code", "strong")  # elements whose words stay as they are


@dataclass(frozen=True)
class Term:
    """A word of the glossary; `words` is a regular expression of its forms."""

    term: str
    text: str
    words: str = ""

    @property
    def id(self) -> str:
        """Of its text on the page."""
        return "term-" + re.sub(r"\W+", "-", self.term).strip("-").lower()


@cache
def terms() -> tuple[Term, ...]:
    """All words, in the order of the file."""
    text = resources.files("vocap.report").joinpath("glossary.yaml").read_bytes()
    return tuple(Term(**entry) for entry in yaml.safe_load(text))


@cache
def _forms() -> re.Pattern[str]:
    """All forms, the longest first, or a tag; the group of a term has its number."""
    order = sorted(range(len(terms())), key=lambda k: -len(terms()[k].words or terms()[k].term))
    forms = (terms()[k].words or re.escape(str(escape(terms()[k].term))) for k in order)
    named = "|".join(f"(?P<t{k}>{form})" for k, form in zip(order, forms, strict=True))
    return re.compile(rf"(?P<tag><[^>]*>)|(?<![\w/.-])(?:{named})(?![\w/.-]*\w)")


@dataclass
class Marker:
    """Marks each term once in the texts of one section."""

    marked: set[int] = field(default_factory=set)

    def __call__(self, text: str) -> Markup:
        """The text, escaped where it is not Markup, with a button for each new term."""
        inside = 0  # of the skipped elements

        def replaced(match: re.Match[str]) -> str:
            nonlocal inside
            if tag := match["tag"]:
                if re.match(rf"</?({'|'.join(SKIPPED)})\b", tag):
                    inside += -1 if tag.startswith("</") else 1
                return tag
            number = int(str(match.lastgroup)[1:])
            if inside or number in self.marked:
                return match[0]
            self.marked.add(number)
            term = terms()[number]
            return (
                f'<button type="button" class="term" popovertarget="{term.id}" '
                f'title="{escape(term.text)}">{match[0]}</button>'
            )

        return Markup(_forms().sub(replaced, str(escape(text))))
