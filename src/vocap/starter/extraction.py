"""The clean sentences of one package, language by language: out of its archive and its translation catalogues."""

import os
import struct
import subprocess
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import polib

from vocap.errors import VocapError
from vocap.starter.cleaning import duplicate_key, line_key, sentences_of
from vocap.starter.packages import Package, paper_code

ENGLISH = "en"
Message = tuple[str, str]  # its key (JSON) or English text (gettext), and the text itself
Keyed = tuple[str, str]  # the key of a message (`message_key`), its text
Row = tuple[str, str, str, str]  # language, duplicate key, message key or "", sentence


def read_members(path: str | os.PathLike, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The content of every file of a wheel, Debian package or .tar.gz whose path is `wanted`, in order of path.

    Nothing is unpacked to disk. Raises VocapError for an archive that is corrupt, or of another kind.
    """
    path = Path(path)
    with path.open("rb") as file:
        magic = file.read(8)
    try:
        if magic.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(path) as archive:
                members = {name: archive.read(name) for name in archive.namelist() if wanted(name)}
        elif magic == b"!<arch>\n":
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as unpacking:
                members = _tar_members(wanted, fileobj=unpacking.stdout, mode="r|")
                unpacking.stdout.read()  # what follows the archive's end
            if unpacking.returncode:
                raise ValueError("dpkg-deb cannot read it")
        elif magic.startswith(b"\x1f\x8b"):
            members = _tar_members(wanted, name=path, mode="r|gz")
        else:
            raise ValueError("neither a wheel nor a Debian package nor a .tar.gz")
    except Exception as error:  # of many kinds, by format
        raise VocapError(
            f"{path}: a corrupt archive ({error}); delete it and fetch it again with: vocap starter-fetch"
        ) from None
    return dict(sorted(members.items()))


def _tar_members(wanted: Callable[[str], bool], **source) -> dict[str, bytes]:
    with tarfile.open(**source) as archive:
        return {
            name: archive.extractfile(entry).read()
            for entry in archive
            if entry.isfile() and wanted(name := entry.name.removeprefix("./"))
        }


def messages(kind: str, content: bytes, path: str) -> list[Message]:
    """All messages of a catalogue of `kind` (json, mo, po), in file order, without fuzzy and obsolete ones.

    Raises VocapError, naming `path`, for one that is corrupt.
    """
    try:
        if kind == "json":
            return list(_strings(orjson.loads(content).items()))
        if kind == "mo":
            entries = polib.mofile(content, encoding="utf-8")
        else:
            entries = polib.pofile(content.decode("utf-8-sig"))
        return [message for entry in entries for message in _forms(entry)]
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except (ValueError, AttributeError, OSError, struct.error, RecursionError) as error:
        raise VocapError(f"{path}: a corrupt .{kind} catalogue: {error}") from None


def _strings(entries: Iterable[tuple[str, object]], prefix: str = "") -> Iterator[Message]:
    """Every string of nested JSON objects, its keys joined by dots; the metadata of MediaWiki's files left out."""
    for name, value in entries:
        if isinstance(value, str):
            yield prefix + name, value
        elif isinstance(value, dict) and name != "@metadata":
            yield from _strings(value.items(), f"{prefix}{name}.")


def _forms(entry: polib.POEntry | polib.MOEntry) -> Iterator[Message]:
    """Singular and plural sources with as many texts as the language has forms; the first is the singular's."""
    if entry.obsolete or "fuzzy" in entry.flags:
        return
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    texts = [text for _, text in sorted(entry.msgstr_plural.items())]
    yield from ((entry.msgid_plural if number else entry.msgid, text) for number, text in enumerate(texts))
    yield from ((source, "") for source in (entry.msgid, entry.msgid_plural)[len(texts) :])


@dataclass
class Extraction:
    """Counts of a package: catalogues of the known languages, their messages, and the unreadable ones."""

    catalogues: int = 0
    messages: int = 0
    sentences: int = 0
    unreadable: list[str] = field(default_factory=list)


def wanted_code(package: Package, path: str, scripts: Mapping[str, str]) -> str | None:
    """The language, a key of `scripts`, of the catalogue or source code at `path`; None for any other file."""
    match = package.match(path)
    code = paper_code(match["code"], scripts) if match else package.code_of(path)
    return code if code in scripts else None


def message_key(package: Package, domain: str, identifier: str) -> str:
    """16 hexadecimal digits, equal for the translations of one message: package, catalogue and id."""
    return line_key(f"{package.name}\0{domain}\0{identifier}")


def extract(
    package: Package, members: Mapping[str, bytes], scripts: Mapping[str, str], done: Extraction
) -> Iterator[Row]:
    """Yield (language, duplicate key, message key, sentence) of every clean sentence: English first, then by code.

    The message key is empty unless the sentence is its message's only one, and that message has one text alone in
    the language (no second plural form or context). Of source code, every distinct line that is not blank, as it
    is, with its indentation.
    `scripts` maps the languages to ISO 15924 codes. Within a language no key is repeated, and none is one of the
    package's English. A catalogue that cannot be read is left out and named in `done.unreadable`.
    """
    catalogues = _by_language(package, members, scripts)
    english, by_id = _english(package, catalogues, members, done)
    english_keys: set[str] = set()
    if ENGLISH in scripts:
        english_keys = yield from _language(package, ENGLISH, english, scripts[ENGLISH], set(), done)
    for code in sorted(scripts):
        if code == ENGLISH:
            continue
        if any(code == language for language, _ in package.code):
            yield from _source_lines(package, code, members, done)
            continue
        texts = [
            (message_key(package, domain, identifier), text)
            for domain, path in catalogues[code]
            for identifier, text in _read(package, path, members, done)
            if text != (by_id[domain].get(identifier) if by_id else identifier)
        ]
        yield from _language(package, code, texts, scripts[code], english_keys, done)


def _language(package, code, texts: list[Keyed], script, english_keys, done) -> Iterator[Row]:
    """Clean the texts of one language; returns its keys."""
    seen_texts, keys = set(), set()
    forms = Counter(message for message, text in dict.fromkeys(texts) if text)
    for message, text in texts:
        done.messages += 1
        if not text or text in seen_texts:
            continue
        seen_texts.add(text)
        sentences = sentences_of(text, script, package.wikitext)
        only = message if len(sentences) == 1 and forms[message] == 1 else ""
        for sentence in sentences:
            key = duplicate_key(sentence)
            if key not in keys and key not in english_keys:
                keys.add(key)
                done.sentences += 1
                yield code, key, only, sentence
    return keys


def _source_lines(package: Package, code: str, members: Mapping[str, bytes], done: Extraction) -> Iterator[Row]:
    """The distinct lines of the package's own code in one programming language."""
    keys = set()
    for path, content in members.items():
        if package.code_of(path) != code:
            continue
        done.catalogues += 1
        try:
            lines = content.decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            done.unreadable.append(f"{path}: not UTF-8 ({error.reason} at byte {error.start})")
            continue
        for line in (line.removesuffix("\r") for line in lines):
            key = line_key(line)
            if line.strip() and key not in keys:
                keys.add(key)
                done.sentences += 1
                yield code, key, "", line


def _by_language(package: Package, members: Mapping[str, bytes], scripts: Mapping[str, str]) -> dict:
    """(domain, path) of every catalogue, by language; a domain is the path with its language taken out."""
    catalogues = defaultdict(list)
    for path in members:
        code, match = wanted_code(package, path, scripts), package.match(path)
        if code and match:
            start, end = match.span("code")
            catalogues[code].append((f"{path[:start]}*{path[end:]}", path))
    return catalogues


def _read(package: Package, path: str, members: Mapping[str, bytes], done: Extraction) -> list[Message]:
    done.catalogues += 1
    try:
        return messages(package.catalogue, members[path], path)
    except VocapError as error:
        done.unreadable.append(str(error))
        return []


def _english(package, catalogues, members, done) -> tuple[list[Keyed], dict[str, dict[str, str]]]:
    """The English texts; of JSON packages also by domain and id, to find untranslated messages.

    A gettext package keeps its English in the message ids: those of each domain's fullest catalogue.
    """
    texts, by_id = [], defaultdict(dict)
    for domain, path in catalogues[ENGLISH]:
        for identifier, text in _read(package, path, members, done):
            by_id[domain][identifier] = text
            texts.append((message_key(package, domain, identifier), text))
    if package.catalogue == "json":
        return texts, by_id
    if package.english_ids:
        fullest: dict[str, list[str]] = {}
        for code in sorted(catalogues):
            for domain, path in catalogues[code]:
                ids = [identifier for identifier, _ in _read(package, path, members, Extraction())]
                fullest[domain] = max(fullest.get(domain, []), ids, key=len)  # the first of equals
        texts.extend(
            (message_key(package, domain, identifier), identifier)
            for domain in sorted(fullest)
            for identifier in dict.fromkeys(fullest[domain])
        )
    return texts, {}
