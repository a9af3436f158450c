"""Files with rules of normalisation (SentencePiece's `normalization_rule_tsv`), checked before it reads them.

A line is `source TAB target`, both code points in hexadecimal with spaces between; no target deletes the source,
and what follows a second tab is a comment. SentencePiece takes the longest source at each place and passes over
the text once. It reads anything else as the code point 0.
"""

import functools
import os
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from vocap.errors import UsageError, VocapError
from vocap.unigram.text_settings import NFC, TextSettings

# Scripts whose compositions Unicode added with version 16: some releases of Python know them, others do not.
_YOUNGER = (range(0x105C0, 0x10600), range(0x11380, 0x11400), range(0x16100, 0x16140), range(0x16D40, 0x16D80))


@contextmanager
def rule_file(settings: TextSettings) -> Iterator[str | None]:
    """The path, in the block, of the table of rules of these settings; None for rules that SentencePiece holds."""
    import sentencepiece

    sentencepiece.set_min_log_level(2)  # it reports each table that it reads
    if settings.normalization != NFC:
        if settings.rule_file:
            check_rules(settings.rule_file)
        yield settings.rule_file
        return
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:  # without a name: nothing is left if it is killed
        file.writelines(f"{_points(source)}\t{_points(target)}\n" for source, target in nfc_rules())
        file.seek(0)
        yield f"/dev/fd/{file.fileno()}"


@functools.cache
def nfc_rules() -> list[tuple[str, str]]:
    """Unicode's canonical composition as a table, source and target; the same for every release of Python.

    Marks in another order than the canonical one, and those that compose across another mark, stay apart, as in
    SentencePiece's nfkc: a table cannot sort.
    """
    rules = {}
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x30000)):
        if any(code in block for block in _YOUNGER):
            continue
        character = chr(code)
        parts, composed = (unicodedata.normalize(form, character) for form in ("NFD", "NFC"))
        sources = [character, *(unicodedata.normalize("NFC", parts[:k]) + parts[k:] for k in range(len(parts)))]
        rules |= {source: composed for source in sources if unicodedata.normalize("NFC", source) != source}
    return sorted(rules.items())


def _points(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)


_ROUNDS, _LONGEST = 64, 10_000  # of the rules over their own targets, and characters that come of it


@functools.cache
def check_rules(path: str) -> None:
    """Raise UsageError, naming file and line, for a file that is no table of rules, or has no end."""
    rules = _read(path)
    from sentencepiece import SentencePieceNormalizer

    try:
        normalizer = SentencePieceNormalizer(rule_tsv=os.fspath(path))
    except (RuntimeError, OSError) as error:
        raise UsageError(f"{path}: SentencePiece refuses these rules: {str(error).strip()}") from None
    _require_an_end(path, rules, normalizer.normalize)


def _read(path: str) -> list[tuple[str, str]]:
    """Source and target of each line."""
    try:
        with open(path, "rb") as file:
            lines = file.read().removesuffix(b"\n").split(b"\n")
    except OSError as error:
        raise VocapError(f"{path}: {error.strerror}; it is to hold rules of normalisation") from None
    if lines == [b""]:
        raise UsageError(f"{path}: no rules; write lines of code points, source TAB target")
    rules = []
    for number, line in enumerate(lines, 1):
        source, target, *_ = [*line.decode("utf-8", "replace").rstrip("\r").split("\t"), ""]
        texts = [_text(part, f"{path}, line {number}") for part in (source, target)]
        if not texts[0]:
            raise UsageError(f"{path}, line {number}: no code point before the tab; write hexadecimal ones")
        rules.append((texts[0], texts[1]))
    return rules


def _text(points: str, where: str) -> str:
    """The characters of `0041 U+0301`."""
    characters = []
    for one in points.split(" "):
        if not one:
            continue
        try:
            point = int(one.removeprefix("U+"), 16)
        except ValueError:
            point = 0
        if not 0 < point < 0x110000 or 0xD800 <= point < 0xE000:
            raise UsageError(f"{where}: {one!r} is no code point; write hexadecimal ones, with spaces between")
        characters.append(chr(point))
    return "".join(characters)


def _require_an_end(path: str, rules: list[tuple[str, str]], normalize) -> None:
    """Raise UsageError for rules that, applied again and again, change a text for ever."""
    lines: dict[str, int] = {}
    for number, (_, target) in enumerate(rules, 1):
        lines.setdefault(target, number)
    waiting = {target: target for target in lines}  # a target: what it is after some rounds
    seen = {target: {target} for target in lines}
    for _ in range(_ROUNDS):
        after = dict(zip(waiting, normalize(list(waiting.values())), strict=True))
        waiting = {first: text for first, text in after.items() if text != waiting[first]}
        if not waiting:
            return
        for first, text in waiting.items():
            if text in seen[first]:
                raise UsageError(_no_end(path, rules, lines[first], "in a circle"))
            if len(text) > _LONGEST:
                raise UsageError(_no_end(path, rules, lines[first], "to longer and longer text, without end"))
            seen[first].add(text)
    raise UsageError(_no_end(path, rules, lines[next(iter(waiting))], "to other text, without end"))


def _no_end(path: str, rules: list[tuple[str, str]], number: int, how: str) -> str:
    source = " ".join(f"U+{ord(character):04X}" for character in rules[number - 1][0])
    return f"{path}, line {number}: the rules lead from {source} {how}; give every source a target that stays"
