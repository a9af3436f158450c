"""The clean sentences of one package, language by language: out of its archive and its
translation catalogues.
"""

import struct
import subprocess
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson
import polib

from vocap.errors import VocapError
from vocap.starter.cleaning import duplicate_keys, line_key, sentences_of
from vocap.starter.packages import Package, paper_code

ENGLISH = "en"
Message = tuple[str, str]  # its key (JSON) or English text (gettext), and the text itself
Keyed = tuple[str, str]  # the key of a message (`message_key`), its text
KeyedRows = dict[str, tuple[str, str]]  # by duplicate key: message key or "", sentence


def read_members(path: str | Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The content of every file of a wheel, Debian package or .tar.gz whose path is
    `wanted`, in order of path.

    Nothing is unpacked to disk. Raises VocapError for an archive that is corrupt, or of
    another kind.
    """
    path = Path(path)
    with path.open("rb") as file:
        magic = file.read(8)
    try:
        if magic.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(path) as archive:
                members = {name: archive.read(name) for name in archive.namelist() if wanted(name)}
        elif magic == b"!<arch>\n":
            with subprocess.Popen(
                ["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE
            ) as unpacking:
                assert unpacking.stdout is not None  # a pipe
                members = _tar_members(wanted, fileobj=unpacking.stdout, mode="r|")
                unpacking.stdout.read()  # what follows the archive's end
            if unpacking.returncode:
                raise ValueError("dpkg-deb cannot read it")
        else:
            members = _tar_members(wanted, name=path, mode="r|gz")
    except Exception as error:  # of many kinds, by format
        raise VocapError(
            f"{path}: a corrupt archive ({error}); delete it and fetch it again with: vocap "
            "starter-fetch"
        ) from None
    return dict(sorted(members.items()))


def _tar_members(wanted: Callable[[str], bool], **source: Any) -> dict[str, bytes]:
    members = {}
    with tarfile.open(**source) as archive:
        for entry in archive:
            name = entry.name.removeprefix("./")
            if entry.isfile() and wanted(name) and (file := archive.extractfile(entry)):
                members[name] = file.read()
    return members


def messages(kind: str, content: bytes, path: str) -> list[Message]:
    """All messages of a catalogue of `kind` (json, mo, po), in file order, without
    fuzzy and obsolete ones.

    Raises VocapError, naming `path`, for one that is corrupt.
    """
    try:
        if kind == "json":
            found: list[Message] = []
            _add_strings(orjson.loads(content).items(), "", found)
            return found
        if kind == "mo":
            entries = polib.mofile(content, encoding="utf-8")
        else:
            entries = polib.pofile(content.decode("utf-8-sig"))
        return [message for entry in entries for message in _forms(entry)]
    except (ValueError, AttributeError, OSError, struct.error, RecursionError) as error:
        raise VocapError(f"{path}: a corrupt .{kind} catalogue: {error}") from None


def _add_strings(entries: Iterable[tuple[str, object]], prefix: str, found: list[Message]) -> None:
    """Add every string of nested JSON objects, its keys joined by dots; the metadata of
    MediaWiki's files left out.
    """
    for name, value in entries:
        if isinstance(value, str):
            found.append((prefix + name, value))
        elif isinstance(value, dict) and name != "@metadata":
            _add_strings(value.items(), f"{prefix}{name}.", found)


def _forms(entry: polib.POEntry | polib.MOEntry) -> Iterable[Message]:
    """Singular and plural sources with as many texts as the language has forms; the
    first is the singular's.
    """
    if entry.obsolete or "fuzzy" in entry.flags:
        return ()
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    texts = [text for _, text in sorted(entry.msgstr_plural.items())]
    sources = [entry.msgid] + [entry.msgid_plural] * max(1, len(texts) - 1)
    return zip_longest(sources, texts, fillvalue="")


def wanted_code(package: Package, path: str, scripts: Mapping[str, str]) -> str | None:
    """The language, a key of `scripts`, of the catalogue or source code at `path`; None
    for any other file.
    """
    match = package.match(path)
    code = paper_code(match["code"], scripts) if match else package.code_of(path)
    return code if code in scripts else None


class Extraction:
    """The clean sentences of one package, out of its `members` (path to content);
    `rows` once, then what is `unreadable`.

    `scripts` maps the languages to ISO 15924 codes.

    Attributes
    ----------
    unreadable : messages on the catalogues that cannot be read.
    """

    def __init__(
        self, package: Package, members: Mapping[str, bytes], scripts: Mapping[str, str]
    ) -> None:
        self.package, self.members, self.scripts = package, members, scripts
        self.unreadable: list[str] = []
        self._read: dict[
            str, list[Message]
        ] = {}  # by path, of gettext's catalogues, which are needed twice
        # 16 hexadecimal digits, equal for the translations of one message
        self._message_key = cache(
            lambda domain, identifier: line_key(f"{package.name}\0{domain}\0{identifier}")
        )

    def rows(self) -> Iterator[tuple[str, KeyedRows]]:
        """Yield the sentences of every language that has some: English first, then by code.

        The message key is empty unless the sentence is its message's only one, and that
        message has one text alone in the language (no second plural form or context).
        Within a language no key is repeated, and none is one of the package's English.
        Of source code, every distinct line that is not blank, as it is.
        """
        catalogues = self._by_language()
        english, by_id = self._english(catalogues)
        english_keys: KeyedRows = {}
        for code in sorted(self.scripts, key=lambda code: (code != ENGLISH, code)):
            if code in self.package.code:
                rows = self._source_lines(code)
            elif code == ENGLISH:
                rows = english_keys = self._clean(code, english, {})
            else:
                texts = [
                    (self._message_key(domain, identifier), text)
                    for domain, path in catalogues[code]
                    for identifier, text in self._messages(path)
                    if text != (by_id[domain].get(identifier) if by_id else identifier)
                ]
                rows = self._clean(code, texts, english_keys)
            if rows:
                yield code, rows

    def _by_language(self) -> dict[str, list[tuple[str, str]]]:
        """(domain, path) of every catalogue, by language; a domain is the path with its
        language taken out.
        """
        catalogues = defaultdict(list)
        for path in self.members:
            match = self.package.match(path)
            if match and (code := paper_code(match["code"], self.scripts)):
                start, end = match.span("code")
                catalogues[code].append((f"{path[:start]}*{path[end:]}", path))
        return catalogues

    def _messages(self, path: str) -> list[Message]:
        """The messages of a catalogue; none of one that cannot be read, which is
        noted.
        """
        if path in self._read:
            return self._read[path]
        found = []
        try:
            found = messages(self.package.catalogue, self.members[path], path)
        except VocapError as error:
            self.unreadable.append(str(error))
        if self.package.catalogue != "json":
            self._read[path] = found
        return found

    def _english(
        self, catalogues: Mapping[str, list[tuple[str, str]]]
    ) -> tuple[list[Keyed], dict[str, dict[str, str]]]:
        """The English texts; of JSON packages also by domain and id, to find
        untranslated messages.

        A gettext package keeps its English in the message ids: those of each domain's
        fullest catalogue.
        """
        texts: list[Keyed] = []
        by_id: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for domain, path in catalogues[ENGLISH]:
            found = self._messages(path)
            by_id[domain] |= dict(found)
            texts += [(self._message_key(domain, identifier), text) for identifier, text in found]
        if self.package.catalogue == "json":
            return texts, by_id
        fullest: dict[str, list[Message]] = {}
        codes = sorted(catalogues) if self.package.english_ids else []
        for code in codes:
            for domain, path in catalogues[code]:
                # the first of equals
                fullest[domain] = max(fullest.get(domain, []), self._messages(path), key=len)
        texts += [
            (self._message_key(domain, identifier), identifier)
            for domain in sorted(fullest)
            for identifier in dict(fullest[domain])
        ]
        return texts, {}

    def _clean(self, code: str, texts: list[Keyed], english: KeyedRows) -> KeyedRows:
        """The sentences of the texts of one language that are none of `english`."""
        # of equal texts the first message
        chosen: dict[str, str] = {}
        for message, text in texts:
            if text:
                chosen.setdefault(text, message)
        named = list(chosen.values())
        different = Counter(message for message, text in set(texts) if text)
        sentences, numbers = sentences_of(chosen, self.scripts[code], self.package.wikitext)
        found = Counter(numbers)
        rows: KeyedRows = {}
        for key, number, sentence in zip(
            duplicate_keys(sentences), numbers, sentences, strict=True
        ):
            if key not in english and key not in rows:
                message = named[number]
                only = found[number] == 1 == different[message]
                rows[key] = (message if only else "", sentence)
        return rows

    def _source_lines(self, code: str) -> KeyedRows:
        """The distinct lines of the package's own code in one programming language."""
        rows: KeyedRows = {}
        for path in filter(lambda path: self.package.code_of(path) == code, self.members):
            try:
                lines = self.members[path].decode("utf-8").split("\n")
            except UnicodeDecodeError as error:
                self.unreadable.append(f"{path}: {error}")
                continue
            for line in (line.removesuffix("\r") for line in lines):
                if line.strip():
                    rows.setdefault(line_key(line), ("", line))
        return rows
