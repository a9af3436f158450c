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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from vocap.errors import VocapError, log
from vocap.files.io import (
    escape,
    replacing_directory,
    unescape,
    write_text,
)
from vocap.files.written import read_written, written_by
from vocap.languages import Language, natural, read_languages
from vocap.starter.extraction import ENGLISH, Extraction, KeyedRows, read_members, wanted_code
from vocap.starter.packages import package_named

COLUMNS = ("key", "message", "text")
HEADER = "\t".join(COLUMNS)
MISSING = "missing.txt"
DIGITS = 16  # of a key, hexadecimal

SETS = ("development", "test")
# in each set; of a language at most a tenth of its sentences (as held-out lines are
# 500, or 10 %)
MESSAGES = 500
LEAST_PART = 15
REPORT = "report.json"  # beside the merged texts, always
PARALLEL = "parallel"  # the folder beside them, of text that is held out of them


def write_messages(
    output: Path,
    tables: Iterable[tuple[str, KeyedRows]],
    languages: Iterable[str],
    missing: str | None = None,
) -> None:
    """Write the folder of one package, whole or not at all; `tables`: rows by language."""
    with replacing_directory(output, [MISSING, *(f"{code}.tsv" for code in languages)]) as folder:
        for language, rows in tables:
            # keys need no escape, which `table_lines` looks for in every cell
            lines = [f"{key}\t{message}\t{escape(text)}\n" for key, (message, text) in rows.items()]
            content = "".join([HEADER, "\n", *lines])
            (folder / f"{language}.tsv").write_bytes(content.encode())
        if missing:
            write_text(folder / MISSING, missing)


def extract(package: str, archive: Path, output: Path, table: Path | None) -> None:
    """Write the folder of one package from its archive; an empty one is a package that
    could not be had.
    """
    known = package_named(package)
    scripts = {code: language.script for code, language in read_languages(table).items()}
    fetch = f"fetch it with: vocap starter-fetch {package} -o {archive}"
    if not archive.exists():
        raise VocapError(f"{archive}: no such file; {fetch}")
    if archive.stat().st_size == 0:
        reason = read_written(f"{archive}.json", "starter-fetch").get("missing") or "it is empty"
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
    if found.unreadable:
        log.warning("%s: %d files could not be read", package, len(found.unreadable))


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


@dataclass(frozen=True)
class MessageTable:
    """The sentences of one language in all packages, one package after the other.

    `rows`: their number by package; `keys` uint64 [n], of duplicates; `messages` uint64
    [n], the keys of messages, 0 for none; `content`, and in it `starts` and `ends` [n]
    of the sentences.
    """

    rows: dict[str, int]
    keys: NDArray[np.uint64]
    messages: NDArray[np.uint64]
    content: bytes
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def sentences(self, rows: NDArray[np.int64]) -> list[bytes]:
        """Those of some rows, in UTF-8."""
        bounds = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        found = [self.content[start:end] for start, end in bounds]
        return [unescape(one.decode()).encode() if b"\\" in one else one for one in found]


def tables_by_language(
    folders: Sequence[Path], languages: Iterable[str]
) -> Iterator[tuple[str, MessageTable]]:
    """Yield every language with its sentences, the packages in the order of `folders`.

    English comes first (and is read even where `languages` lacks it), then the codes in
    order. Holds one language in memory. Raises VocapError for other tables.
    """
    for language in (ENGLISH, *sorted({*languages} - {ENGLISH})):
        paths = {folder.name: folder / f"{language}.tsv" for folder in folders}
        with written_by("starter-extract", f"{language}.tsv of {', '.join(map(str, folders))}"):
            table = _read_table(paths)
        yield language, table


def _read_table(paths: Mapping[str, Path]) -> MessageTable:
    """The tables of one language that `write_messages` wrote, by package; some may lack.

    A key has `DIGITS` digits, a message as many or none: where the cells are follows
    from where the lines begin, without a search for tabs.
    """
    bodies = {name: _body(path) if path.exists() else b"" for name, path in paths.items()}
    content = b"".join(bodies.values())
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    starts = np.concatenate([[0], ends + 1])[:-1]
    width = 2 * DIGITS + 2  # of both keys with their tabs
    padded = np.frombuffer(content + bytes(width), np.uint8)
    heads = sliding_window_view(padded, width)[starts]
    named = heads[:, DIGITS + 1] != ord("\t")
    messages = np.zeros(len(heads), np.uint64)
    messages[named] = _numbers(heads[named, DIGITS + 1 : -1])
    rows = {name: body.count(b"\n") for name, body in bodies.items()}
    texts = starts + np.where(named, width, DIGITS + 2)
    return MessageTable(rows, _numbers(heads[:, :DIGITS]), messages, content, texts, ends)


def _body(path: Path) -> bytes:
    """The lines of a table below its header."""
    content = path.read_bytes()
    header, _, body = content.partition(b"\n")
    if header.decode() != HEADER or not content.endswith(b"\n"):
        raise ValueError("a table that is cut, or another one")
    return body


def _numbers(digits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The number of each row of hexadecimal digits [n, `DIGITS`]."""
    return np.frombuffer(bytes.fromhex(digits.tobytes().decode()), ">u8").astype(np.uint64)


def _are_in(values: NDArray[np.uint64], known: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each of the values is in `known`, which ascends."""
    padded = np.append(known, ~np.uint64(0))  # a key of no text, for places behind all others
    return padded[np.searchsorted(known, values)] == values


def choose_messages(folders: Sequence[Path], languages: Collection[str]) -> dict[str, list[int]]:
    """The keys of the messages in each of `SETS`, those with a translation in most of
    `languages` first.

    A message takes part where its English is one sentence, that no earlier message has.
    Equally frequent ones are in the order of their keys, which are hashes; the sets
    take turns. Reads the tables once.
    """
    for language, table in tables_by_language(folders, languages):
        if language == ENGLISH:
            english, first = np.unique(table.keys, return_index=True)
            candidates = np.unique(table.messages[first])
            candidates = candidates[candidates > 0]
            counts = np.zeros(len(candidates), np.int64)
        elif language in languages:
            found = table.messages[~_are_in(table.keys, english)]
            places = np.searchsorted(candidates, found[_are_in(found, candidates)])
            counts += np.bincount(places, minlength=len(counts))
    ranked = candidates[np.lexsort((candidates, -counts))].tolist()
    number = min(MESSAGES, len(english) // LEAST_PART, len(ranked) // len(SETS))
    return {name: ranked[place : number * len(SETS) : len(SETS)] for place, name in enumerate(SETS)}


def merge_language(
    table: MessageTable, english: NDArray[np.uint64], chosen: Mapping[str, Sequence[int]]
) -> tuple[NDArray[np.int64], dict[str, list[bytes]]]:
    """Of one language the rows of its text, rising, and the sentences of each set (see
    `_hold_out`): of equal keys the earliest package's sentence stays.

    Sentences that are held out, and those with a key of `english`, are not in it.
    `chosen`: the keys of the messages of each set, as of `choose_messages`.
    """
    messages = np.unique(np.array([*chain.from_iterable(chosen.values())], np.uint64))
    # what is held out of it
    own = np.flatnonzero(_are_in(table.messages, messages))
    own = own[~_are_in(table.keys[own], english)]
    pairs = zip(table.keys[own].tolist(), table.sentences(own), strict=True)
    found = dict(zip(table.messages[own].tolist(), pairs, strict=True))
    keys, first = np.unique(table.keys, return_index=True)
    foreign = ~_are_in(keys, english)
    parallel, held_out = _hold_out(found, chosen, int(foreign.sum()) // LEAST_PART)
    # what is left
    left = foreign & ~_are_in(keys, np.array(sorted(held_out), np.uint64))
    return np.sort(first[left]), parallel


def _hold_out(
    found: Mapping[int, tuple[int, bytes]], chosen: Mapping[str, Sequence[int]], most: int
) -> tuple[dict[str, list[bytes]], set[int]]:
    """Each set's sentences in one language, empty where there is none, and the keys of
    all of them.

    `found`: by message its key and sentence. The first `most` messages of a set are
    taken, and of messages with equal sentences the first.
    """
    taken: set[int] = set()
    parallel = {}
    for name, messages in chosen.items():
        lines, until = dict.fromkeys(messages, b""), len(taken) + most
        for message in filter(found.__contains__, messages):
            key, sentence = found[message]
            if key not in taken and len(taken) < until:
                taken.add(key)
                lines[message] = sentence
        parallel[name] = [*lines.values()]
    return parallel, taken


def write_texts(
    folders: Sequence[Path], output: Path, languages: Mapping[str, Language]
) -> dict[str, Any]:
    """Write the folder of all texts, whole or not at all; returns the content of its
    report.json.
    """
    # choose what is held out
    names = [folder.name for folder in folders]
    missing = {folder.name: reason for folder in folders if (reason := missing_reason(folder))}
    spoken = natural(languages)
    chosen = choose_messages(folders, spoken)
    # write the texts of all languages, and their counts
    entries = {}
    english = np.zeros(0, np.uint64)
    owned = [REPORT, f"{PARALLEL}/", *(f"{code}.txt" for code in languages)]
    with replacing_directory(output, owned if (output / REPORT).exists() else []) as folder:
        for name in SETS:
            (folder / PARALLEL / name).mkdir(parents=True)
        for code, table in tables_by_language(folders, languages):
            kept, parallel = merge_language(table, english, chosen)
            if code == ENGLISH:
                english = np.unique(table.keys)
            if code not in languages:
                continue
            _write_lines(folder / f"{code}.txt", table.sentences(kept))
            borders = np.searchsorted(kept, list(accumulate(table.rows.values(), initial=0)))
            by_package = dict(zip(table.rows, np.diff(borders).tolist(), strict=True))
            entries[code] = {"lines": len(kept), "by_package": by_package}
            if code in spoken:
                for name, translations in parallel.items():
                    _write_lines(folder / PARALLEL / name / f"{code}.txt", translations)
                entries[code][PARALLEL] = {
                    name: sum(map(bool, found)) for name, found in parallel.items()
                }
        report = {"packages": names, "missing_packages": missing, "languages": entries}
        write_text(
            folder / REPORT, json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        )
    return report


def _write_lines(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"\n".join([*lines, b""]))
