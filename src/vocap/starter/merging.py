"""The packages' sentences in one text for each language, and parallel text of messages that are held out of it.

Messages of one key are translations of each other. The two sets of parallel text, `SETS`, hold disjoint messages,
and no sentence of them stays in the text of its language, from whatever package.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vocap.starter.extraction import ENGLISH
from vocap.starter.messages import MessageFile, by_language

SETS = ("development", "test")
MESSAGES = 500  # in each set; of a language at most a tenth of its sentences (as held-out lines are 500, or 10 %)
LEAST_PART = 15


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
