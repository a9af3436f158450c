"""One text for each language out of the tables of the packages, and parallel text that is held out of it.

A table, which `vocap starter-extract` writes, has columns `language key message text`, English first, then by
code: the key that equal sentences share, the key of the message that is this sentence alone (else empty), the
sentence. Its first rows, of language `-`, describe it: `package`, and `missing` with the reason where the package
could not be had. Messages of one key are translations of each other. The two sets of parallel text, `SETS`, hold
disjoint messages, and no sentence of them stays in the text of its language, from whatever package.
"""

import heapq
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter

from vocap.errors import VocapError
from vocap.files.tsv import read_tsv, write_tsv
from vocap.starter.extraction import ENGLISH, Row

COLUMNS = ("language", "key", "message", "text")
NOTE = "-"
Sentence = tuple[str, str, str]  # duplicate key, message key or "", the sentence
REMEDY = "make it again with: vocap starter-extract"

SETS = ("development", "test")
MESSAGES = 500  # in each set; of a language at most a tenth of its sentences (as held-out lines are 500, or 10 %)
LEAST_PART = 15


def write_messages(path: str | os.PathLike, package: str, rows: Iterable[Row], missing: str | None = None) -> None:
    """Write the (language, key, message key, sentence) rows of one package, whole or not at all."""
    notes = [(NOTE, "package", "", package)] + [(NOTE, "missing", "", missing or "")] * bool(missing)
    write_tsv(path, COLUMNS, chain(notes, rows))


@dataclass
class MessageFile:
    """A table open for reading; `rows`: of all languages, one pass."""

    path: str
    package: str
    missing: str | None
    rows: Iterator[Row]

    def by_language(self) -> Iterator[tuple[tuple[bool, str], str, list[Sentence]]]:
        """The place of each language in the order of tables, the package, its sentences."""
        last = (False, "")
        for language, rows in groupby(self.rows, key=itemgetter(0)):
            place = _place(language)
            if place <= last:
                raise VocapError(f"{self.path}: {language!r} is out of order; {REMEDY}")
            last = place
            yield place, self.package, [row[1:] for row in rows]


def open_messages(path: str | os.PathLike) -> MessageFile:
    """Open one table; raises VocapError for a file that `vocap starter-extract` did not write."""
    rows = (tuple(row.values()) for row in read_tsv(path, COLUMNS))
    notes, first = {}, []
    for row in rows:
        if row[0] != NOTE:
            first = [row]
            break
        notes[row[1]] = row[3]
    if "package" not in notes:
        raise VocapError(f"{path}: names no package; {REMEDY}")
    return MessageFile(str(path), notes["package"], notes.get("missing"), chain(first, rows))


def _place(language: str) -> tuple[bool, str]:
    return (language != ENGLISH, language)


def by_language(
    files: Sequence[MessageFile], languages: Iterable[str]
) -> Iterator[tuple[str, dict[str, list[Sentence]]]]:
    """Yield every language with its rows by package, the packages in the order of `files`.

    English comes first (and is read even where `languages` lacks it), then the codes in order. Holds a language of
    each package in memory.
    """
    wanted = sorted(map(_place, {*languages, ENGLISH}))
    tables = [file.by_language() for file in files]
    merged = heapq.merge(((place, "", []) for place in wanted), *tables, key=itemgetter(0))
    for place, group in groupby(merged, key=itemgetter(0)):
        rows = {package: sentences for _, package, sentences in group}
        if "" in rows:  # the language is wanted
            yield place[1], {file.package: rows.get(file.package, []) for file in files}


@dataclass
class Text:
    """The merged sentences of one language, how many each package gave, and its parallel text.

    `parallel`: for each of `SETS` the sentences of the chosen messages, in their order; "" where there is none.
    """

    language: str
    sentences: list[str] = field(default_factory=list)
    by_package: dict[str, int] = field(default_factory=dict)
    parallel: dict[str, list[str]] = field(default_factory=dict)


def choose_messages(files: Sequence[MessageFile], languages: Collection[str]) -> dict[str, list[str]]:
    """The keys of the messages in each of `SETS`, those with a translation in most of `languages` first.

    A message takes part where its English is one sentence, that no earlier message has. Equally frequent ones are
    in the order of their keys, which are hashes; the sets take turns. Reads the tables once.
    """
    english: set[str] = set()
    found: Counter[str] = Counter()
    for language, packages in by_language(files, languages):
        rows = [row for rows in packages.values() for row in rows]
        if language == ENGLISH:
            for key, message, _ in rows:
                if key not in english and message:
                    found[message] = 0
                english.add(key)
        elif language in languages:
            found.update(message for key, message, _ in rows if message in found and key not in english)
    ranked = sorted(found, key=lambda message: (-found[message], message))
    number = min(MESSAGES, len(english) // LEAST_PART, len(ranked) // len(SETS))
    return {name: ranked[place : number * len(SETS) : len(SETS)] for place, name in enumerate(SETS)}


def merge(
    files: Sequence[MessageFile], languages: Iterable[str], chosen: Mapping[str, Sequence[str]]
) -> Iterator[Text]:
    """Yield the text of every language: of equal keys the earliest file's sentence stays.

    Sentences that are held out, and English text of any package in another language, are not in it. `chosen`: the
    keys of the messages of each set, as of `choose_messages`. Holds one language and the English keys in memory.
    """
    languages, messages = set(languages), {message for listed in chosen.values() for message in listed}
    english: set[str] = set()
    for language, packages in by_language(files, languages):
        keys = {key for rows in packages.values() for key, _, _ in rows} - english
        found = {
            message: (key, sentence)
            for rows in packages.values()
            for key, message, sentence in rows
            if message in messages and key in keys
        }
        text = Text(language)
        text.parallel, held_out = _hold_out(found, chosen, len(keys) // LEAST_PART)
        keys -= held_out
        if language == ENGLISH:
            english = keys | held_out
        for package, rows in packages.items():
            before = len(text.sentences)
            for key, _, sentence in rows:
                if key in keys:
                    keys.remove(key)
                    text.sentences.append(sentence)
            text.by_package[package] = len(text.sentences) - before
        if language in languages:
            yield text


def _hold_out(
    found: Mapping[str, tuple[str, str]], chosen: Mapping[str, Sequence[str]], most: int
) -> tuple[dict[str, list[str]], set[str]]:
    """Each set's sentences in one language, "" where there is none, and the keys of all of them.

    `found`: by message its key and sentence. The first `most` messages of a set are taken, and of messages with
    equal sentences the first.
    """
    taken: set[str] = set()
    parallel = {}
    for name, messages in chosen.items():
        lines, left = [], most
        for message in messages:
            key, sentence = found.get(message, ("", ""))
            free = left > 0 and sentence != "" and key not in taken
            lines.append(sentence if free else "")
            if free:
                taken.add(key)
                left -= 1
        parallel[name] = lines
    return parallel, taken
