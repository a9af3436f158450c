"""One text for each language out of the messages of the packages, and parallel text
that is held out of it.

`vocap starter-extract` writes the messages of a package into a folder of its name, a
table `{lang}.tsv` for each language with columns `key message text`: the key that equal
sentences share, the key of the message that is this sentence alone (else empty), the
sentence. Messages of one key are translations of each other. A package that could not
be had is a folder with the reason in `MISSING`. The two sets of parallel text, `SETS`,
hold disjoint messages, and no sentence of them stays in the text of its language, from
whatever package.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from vocap.errors import UsageError, VocapError, log
from vocap.files.io import (
    escape,
    read_object,
    read_tsv,
    replacing_directory,
    unescape,
    write_text,
)
from vocap.languages import Language, natural, read_languages
from vocap.starter.extraction import ENGLISH, Extraction, Row, read_members, wanted_code
from vocap.starter.packages import package_named

COLUMNS = ("key", "message", "text")
MISSING = "missing.txt"
# of the sentences of a package: duplicate keys, message keys or "", and the sentences
Sentences = tuple[list[str], list[str], list[str]]

SETS = ("development", "test")
# in each set; of a language at most a tenth of its sentences (as held-out lines are
# 500, or 10 %)
MESSAGES = 500
LEAST_PART = 15
REPORT = "report.json"  # beside the merged texts, always
PARALLEL = "parallel"  # the folder beside them, of text that is held out of them


def write_messages(
    output: Path, rows: Iterable[Row], languages: Iterable[str], missing: str | None = None
) -> None:
    """Write the folder of one package, whole or not at all; `rows`: those of a language
    together.
    """
    with replacing_directory(output, [MISSING, *(f"{code}.tsv" for code in languages)]) as folder:
        for language, found in groupby(rows, key=itemgetter(0)):
            # keys need no escape, which `table_lines` looks for in every cell
            lines = [f"{key}\t{message}\t{escape(text)}\n" for _, key, message, text in found]
            content = "".join(["\t".join(COLUMNS), "\n", *lines])
            (folder / f"{language}.tsv").write_bytes(content.encode())
        if missing:
            write_text(folder / MISSING, missing)


def extract(package: str, archive: Path, output: Path, table: str | None) -> None:
    """Write the folder of one package from its archive; an empty one is a package that
    could not be had.
    """
    known = package_named(package)
    scripts = {code: language.script for code, language in read_languages(table).items()}
    fetch = f"fetch it with: vocap starter-fetch {package} -o {archive}"
    if not archive.exists():
        raise VocapError(f"{archive}: no such file; {fetch}")
    if archive.stat().st_size == 0:
        reason = read_object(f"{archive}.json", fetch).get("missing") or "it is empty"
        write_messages(output, (), scripts, missing=reason)
        log.warning("%s: an empty archive, no text from %s: %s", archive, package, reason)
        return
    members = read_members(archive, lambda name: wanted_code(known, name, scripts) is not None)
    if not members:
        raise VocapError(
            f"{archive}: holds no catalogue of {package}; is it another package's archive?"
        )
    found = Extraction(known, members, scripts)
    write_messages(output, found.rows(), scripts)
    for message in found.unreadable[:5]:
        log.warning("skipped: %s", message)
    log.info(
        "%s: %d sentences out of %d messages in %d catalogues (%d more could not be read)",
        package, found.sentences, found.messages, found.catalogues - len(found.unreadable),
        len(found.unreadable),
    )  # fmt: skip


def missing_reason(folder: Path) -> str | None:
    """Why a package could not be had, None for one that was; VocapError for a folder of
    anything else.
    """
    if (folder / MISSING).exists():
        return (folder / MISSING).read_text("utf-8")
    if not any(folder.glob("*.tsv")):
        raise VocapError(
            f"{folder}: not the messages of a package; make them with: vocap starter-extract"
        )
    return None


def sentences_by_language(
    folders: Sequence[Path], languages: Iterable[str]
) -> Iterator[tuple[str, dict[str, Sentences]]]:
    """Yield every language with its sentences by package, in the order of `folders`.

    English comes first (and is read even where `languages` lacks it), then the codes in
    order. Holds a language of each package in memory.
    """
    for language in (ENGLISH, *sorted({*languages} - {ENGLISH})):
        yield language, {folder.name: _sentences(folder / f"{language}.tsv") for folder in folders}


def _sentences(table: Path) -> Sentences:
    """The columns of one of the tables that `write_messages` writes, read in a tenth of
    the time of `read_tsv`.
    """
    content = table.read_text("utf-8") if table.exists() else ""
    lines = content.partition("\n")[2].removesuffix("\n")
    cells = lines.replace("\n", "\t").split("\t") if lines else []
    width = len(COLUMNS)
    if cells and len(cells) != width * (lines.count("\n") + 1):
        list(read_tsv(table, COLUMNS))  # raises the error, with its line
    keys, messages, texts = (cells[place::width] for place in range(width))
    return keys, messages, list(map(unescape, texts)) if "\\" in lines else texts


@dataclass
class StarterText:
    """The merged sentences of one language, how many each package gave, and its parallel text.

    `parallel`: for each of `SETS` the sentences of the chosen messages, in their order;
    "" where there is none.
    """

    language: str
    sentences: list[str] = field(default_factory=list)
    by_package: dict[str, int] = field(default_factory=dict)
    parallel: dict[str, list[str]] = field(default_factory=dict)


def choose_messages(folders: Sequence[Path], languages: Collection[str]) -> dict[str, list[str]]:
    """The keys of the messages in each of `SETS`, those with a translation in most of
    `languages` first.

    A message takes part where its English is one sentence, that no earlier message has.
    Equally frequent ones are in the order of their keys, which are hashes; the sets
    take turns. Reads the tables once.
    """
    english: set[str] = set()
    found: Counter[str] = Counter()
    for language, packages in sentences_by_language(folders, languages):
        for keys, messages, _ in packages.values():
            if language == ENGLISH:
                for key, message in zip(keys, messages, strict=True):
                    if key not in english and message:
                        found[message] = 0
                    english.add(key)
            elif language in languages:
                if not english.isdisjoint(keys):
                    rows = zip(keys, messages, strict=True)
                    messages = [message for key, message in rows if key not in english]
                found.update(filter(found.__contains__, messages))
    ranked = sorted(found, key=lambda message: (-found[message], message))
    number = min(MESSAGES, len(english) // LEAST_PART, len(ranked) // len(SETS))
    return {name: ranked[place : number * len(SETS) : len(SETS)] for place, name in enumerate(SETS)}


def merge_packages(
    folders: Sequence[Path], languages: Iterable[str], chosen: Mapping[str, Sequence[str]]
) -> Iterator[StarterText]:
    """Yield the text of every language: of equal keys the earliest package's sentence stays.

    Sentences that are held out, and English text of any package in another language,
    are not in it. `chosen`: the keys of the messages of each set, as of
    `choose_messages`. Holds one language and the English keys in memory.
    """
    languages, messages = (
        set(languages),
        {message for listed in chosen.values() for message in listed},
    )
    english: set[str] = set()
    for language, packages in sentences_by_language(folders, languages):
        keys = set(chain.from_iterable(columns[0] for columns in packages.values())) - english
        found = {
            message: (key, sentence)
            for columns in packages.values()
            for key, message, sentence in zip(*columns, strict=True)
            if message in messages and key in keys
        }
        text = StarterText(language)
        text.parallel, held_out = _hold_out(found, chosen, len(keys) // LEAST_PART)
        keys -= held_out
        if language == ENGLISH:
            english = keys | held_out
        for package, columns in packages.items():
            before = len(text.sentences)
            for key, _, sentence in zip(*columns, strict=True):
                if key in keys:
                    keys.remove(key)
                    text.sentences.append(sentence)
            text.by_package[package] = len(text.sentences) - before
        if language in languages:
            yield text


def _hold_out(
    found: Mapping[str, tuple[str, str]], chosen: Mapping[str, Sequence[str]], most: int
) -> tuple[dict[str, list[str]], set[str]]:
    """Each set's sentences in one language, "" where there is none, and the keys of all
    of them.

    `found`: by message its key and sentence. The first `most` messages of a set are
    taken, and of messages with equal sentences the first.
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


def write_texts(
    folders: Sequence[Path], output: Path, languages: Mapping[str, Language]
) -> dict[str, Any]:
    """Write the folder of all texts, whole or not at all; returns the content of its
    report.json.
    """
    # choose what is held out
    names = [folder.name for folder in folders]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"the package {repeated[0]} is given {len(repeated)} times; give it once")
    missing = {folder.name: reason for folder in folders if (reason := missing_reason(folder))}
    spoken = natural(languages)
    chosen = choose_messages(folders, spoken)
    # write the texts of all languages, and their counts
    entries = {}
    owned = [REPORT, f"{PARALLEL}/", *(f"{code}.txt" for code in languages)]
    with replacing_directory(output, owned if (output / REPORT).exists() else []) as folder:
        for name in SETS:
            (folder / PARALLEL / name).mkdir(parents=True)
        for text in merge_packages(folders, languages, chosen):
            code = text.language
            _write_lines(folder / f"{code}.txt", text.sentences)
            entries[code] = {"lines": len(text.sentences), "by_package": text.by_package}
            if code in spoken:
                for name, translations in text.parallel.items():
                    _write_lines(folder / PARALLEL / name / f"{code}.txt", translations)
                entries[code][PARALLEL] = {
                    name: sum(map(bool, found)) for name, found in text.parallel.items()
                }
        report = {"packages": names, "missing_packages": missing, "languages": entries}
        write_text(
            folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        )
    return report


def _write_lines(path: Path, lines: list[str]) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
