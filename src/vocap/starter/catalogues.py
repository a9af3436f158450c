"""Messages of translation catalogues: gettext .mo and .po, and JSON. Read as data; nothing in them is evaluated.

The standard library's `gettext` is left alone: it compiles the plural rule that a catalogue brings.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from vocap.errors import VocapError


@dataclass(frozen=True, slots=True)
class Message:
    """One translation: its key (JSON) or source text (gettext), and the text itself."""

    id: str
    text: str


def messages(kind: str, content: bytes, path: str) -> list[Message]:
    """All messages of a catalogue of `kind` (json, mo, po), in file order.

    Raises VocapError, naming `path`, for one that is corrupt.
    """
    try:
        return list({"json": json_messages, "mo": mo_messages, "po": po_messages}[kind](content))
    except UnicodeDecodeError as error:
        raise VocapError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except ValueError as error:
        raise VocapError(f"{path}: a corrupt .{kind} catalogue: {error}") from None


def json_messages(content: bytes) -> Iterator[Message]:
    """Every string of nested JSON objects, its keys joined by dots; the metadata of MediaWiki's files left out."""
    root = orjson.loads(content)
    if not isinstance(root, dict):
        raise ValueError("not a JSON object")
    pending: list[tuple[str, object]] = [("", root)]
    while pending:
        key, value = pending.pop()
        if isinstance(value, dict):
            children = [
                (f"{key}.{name}" if key else name, child) for name, child in value.items() if name != "@metadata"
            ]
            pending.extend(reversed(children))
        elif isinstance(value, str):
            yield Message(key, value)


def mo_messages(content: bytes) -> Iterator[Message]:
    """Every translation of a .mo file (GNU gettext manual, "The Format of GNU MO Files"), plural forms apart."""
    if content[:4] == b"\xde\x12\x04\x95":
        order = "<"
    elif content[:4] == b"\x95\x04\x12\xde":
        order = ">"
    else:
        raise ValueError("it does not begin with the magic number of a .mo file")
    if len(content) < 20:
        raise ValueError("it ends within the header")
    version, count, ids, texts = struct.unpack_from(f"{order}4I", content, 4)
    if version >> 16 > 1:
        raise ValueError(f"version {version >> 16} is not known")
    if max(ids, texts) + 8 * count > len(content):
        raise ValueError(f"the tables of {count} messages end behind the end of the file")

    def string(table: int, number: int) -> str:
        length, offset = struct.unpack_from(f"{order}2I", content, table + 8 * number)
        if offset + length > len(content):
            raise ValueError(f"message {number} ends behind the end of the file")
        return content[offset : offset + length].decode("utf-8")

    for number in range(count):
        source = string(ids, number)
        if source:  # the empty id has the header
            yield from _forms(source.rpartition("\x04")[2].split("\0"), string(texts, number).split("\0"))


def _forms(sources: list[str], texts: list[str]) -> Iterator[Message]:
    """Singular and plural ids with as many texts as the language has forms; the first text is the singular's."""
    for number, text in enumerate(texts):
        yield Message(sources[min(number, len(sources) - 1)], text)
    for source in sources[len(texts) :]:
        yield Message(source, "")


_PO_LINE = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)?\s*"(.*)"\s*')
_PO_ESCAPE = re.compile(r"\\(.)")
_PO_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r"}


def po_messages(content: bytes) -> Iterator[Message]:
    """Every message of a .po file; fuzzy and obsolete ones and the header are left out."""
    fields: dict[str, list[str]] = {}
    fuzzy, current = False, ""

    def finished() -> Iterator[Message]:
        joined = {name: "".join(parts) for name, parts in fields.items()}
        if joined.get("msgid") and not fuzzy:
            sources = [joined[name] for name in ("msgid", "msgid_plural") if name in joined]
            yield from _forms(sources, [text for name, text in joined.items() if name.startswith("msgstr")])

    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), start=1):
        line = line.strip()
        if line.startswith(("#", "msgctxt", "msgid ", 'msgid"')) and "msgstr" in current:
            yield from finished()
            fields, fuzzy, current = {}, False, ""
        if line.startswith("#"):
            fuzzy = fuzzy or (line.startswith("#,") and "fuzzy" in line)
        elif line:
            match = _PO_LINE.fullmatch(line)
            if not match:
                raise ValueError(f'line {number} is neither a comment nor a keyword with a "string"')
            current = match[1] or current
            if not current:
                raise ValueError(f"line {number}: a string before the first keyword")
            text = match[2]
            if "\\" in text:
                text = _PO_ESCAPE.sub(lambda escaped: _PO_CHARACTERS.get(escaped[1], escaped[1]), text)
            fields.setdefault(current, []).append(text)
    if fields:
        yield from finished()
