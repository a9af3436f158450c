"""One text for each language out of the packages' messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from vocap.corpora.starter.extraction import ENGLISH
from vocap.corpora.starter.messages import MessageFile
from vocap.errors import VocapError


@dataclass
class Text:
    """The merged sentences of one language and how many each package gave."""

    language: str
    sentences: list[str] = field(default_factory=list)
    by_package: dict[str, int] = field(default_factory=dict)


class _Groups:
    """The languages of one table, asked for in its own order; a language that it lacks has no rows."""

    def __init__(self, file: MessageFile) -> None:
        self.file = file
        self.language, self.rows, self.place = None, None, (-1, "")
        self._advance()

    def _advance(self) -> None:
        self.language, self.rows = next(self.file.groups, (None, None))
        if self.language is not None:
            place = _place(self.language)
            if place <= self.place:
                raise VocapError(
                    f"{self.file.path}: {self.language!r} stands out of order; "
                    "make it again with: vocap starter-extract"
                )
            self.place = place

    def take(self, language: str) -> Iterator[tuple[str, str]]:
        while self.language is not None and _place(self.language) < _place(language):
            self._advance()  # a language that nobody asked for
        if self.language == language:
            for _, key, sentence in self.rows:
                yield key, sentence
            self._advance()


def _place(language: str) -> tuple[int, str]:
    return (language != ENGLISH, language)


def merge(files: Sequence[MessageFile], languages: Iterable[str]) -> Iterator[Text]:
    """Yield the text of every language: of equal keys the earliest file's sentence stays.

    English comes first (and is read even where `languages` lacks it), then the codes in order; what is English in
    any package is left out of the other languages. Holds one language and the English keys in memory.
    """
    groups = [_Groups(file) for file in files]
    languages = set(languages)
    english: set[str] = set()
    for language in sorted(languages | {ENGLISH}, key=_place):
        text, keys = Text(language), set()
        for group in groups:
            before = len(text.sentences)
            for key, sentence in group.take(language):
                if key not in keys and key not in english:
                    keys.add(key)
                    text.sentences.append(sentence)
            text.by_package[group.file.package] = len(text.sentences) - before
        if language == ENGLISH:
            english = keys
        if language in languages:
            yield text
