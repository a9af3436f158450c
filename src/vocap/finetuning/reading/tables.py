"""The tab-separated files: pairs of sentences (xnli, pawsx) and tagged words (udpos, panx)."""

import re
from collections.abc import Sequence
from pathlib import Path

from vocap.errors import VocapError
from vocap.finetuning.examples import Pair, Sentence
from vocap.finetuning.reading.lines import AGAIN, read_lines

ALIASES = {"contradictory": "contradiction"}  # MultiNLI's training file of XNLI
RAW = re.compile(r"[a-z-]{2,12}:.")  # before each word of PAN-X, until XTREME's script takes it away


def read_pairs(path: Path, labels: Sequence[str], blank: bool = False) -> list[Pair]:
    """The rows `first, second, label` of a file, or `first, second` where labels are kept back.

    `labels`: those that may occur; `blank`: whether the whole file may lack them. Quoted fields (XTREME writes
    them) give the same text as raw ones (xTune). Raises VocapError, naming the line, for another number of
    columns, an unknown label, or labels of some rows only.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    columns = len(rows[0])
    wanted = "2 or 3 columns" if blank else "3 columns"
    for number, row in enumerate(rows, 1):
        if len(row) != columns:
            raise VocapError(f"{path}, line {number}: {len(row)} columns, line 1 has {columns}; {AGAIN}")
        if len(row) not in ((2, 3) if blank else (3,)):
            raise VocapError(
                f"{path}, line {number}: {len(row)} columns, not {wanted} "
                f"(sentence, sentence, label, parted by tabs, no header); {AGAIN}"
            )
    if is_quoted(rows):
        rows = [[unquoted(field) for field in row] for row in rows]
    pairs = [
        Pair(row[0], row[1], _label(path, number, row[2], labels) if columns == 3 else None)
        for number, row in enumerate(rows, 1)
    ]
    check_blanks([pair.label is None for pair in pairs], blank, path)
    return pairs


def _label(path: Path, number: int, text: str, labels: Sequence[str]) -> str | None:
    text = ALIASES.get(text, text)
    if text and text not in labels:
        raise VocapError(
            f"{path}, line {number}: label {text!r} is none of {', '.join(labels)}; correct it, or {AGAIN}"
        )
    return text or None


def is_quoted(rows: Sequence[Sequence[str]]) -> bool:
    r"""Whether the fields of a file were written by Python's csv module with its default quoting.

    That is so if every field with a `"` begins and ends with one, those inside come in pairs, and there is such a
    pair at least: no file of raw text happened to look like this.

    >>> is_quoted([['"He said ""no""."', "b"]]), is_quoted([['"No."', "b"]])
    (True, False)
    """
    pairs = 0
    for row in rows:
        for field in row:
            if '"' not in field:
                continue
            inner = field[1:-1]
            if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
                return False
            pairs += inner.count('""')
    return pairs > 0


def unquoted(field: str) -> str:
    """The text of a field that csv's default quoting wrote."""
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def read_sentences(path: Path, labels: Sequence[str], blank: bool = False) -> list[Sentence]:
    """The lines `word, tag` of a file, or `word` where tags are kept back; blank lines part the sentences.

    `labels`: the tags that may occur; `blank`: whether the whole file may lack them. Raises VocapError, naming
    the line, as `read_pairs` does, and for a file as PAN-X has it, where each word has its language before it.
    """
    sentences: list[Sentence] = []
    words: list[str] = []
    tags: list[str | None] = []
    known = set(labels)
    blanks, numbers = [], []
    for number, line in enumerate([*read_lines(path), ""], 1):
        if line:
            word, *rest = line.split("\t")
            if len(rest) > 1 or not (rest or blank):
                raise VocapError(
                    f"{path}, line {number}: {1 + len(rest)} columns, not word and tag, parted by a tab; {AGAIN}"
                )
            tag = rest[0] if rest else ""
            if tag and tag not in known:
                raise VocapError(
                    f"{path}, line {number}: tag {tag!r} is none of {', '.join(labels)}; correct it, or {AGAIN}"
                )
            words.append(word)
            tags.append(tag or None)
            blanks.append(not tag)
            numbers.append(number)
        elif words:
            sentences.append(Sentence(tuple(words), None if tags[0] is None else tuple(map(str, tags))))
            words, tags = [], []
    check_blanks(blanks, blank, path, numbers)
    if all(RAW.match(word) for sentence in sentences for word in sentence.words):
        raise VocapError(
            f"{path}, line {numbers[0]}: {sentences[0].words[0]!r} has its language before it, as all words here; "
            "run XTREME's script on this raw file"
        )
    return sentences


def check_blanks(blanks: Sequence[bool], allowed: bool, path: Path, numbers: Sequence[int] | None = None) -> None:
    """Raise VocapError unless none of the labels is missing, or all are and that is `allowed`.

    `numbers`: the line of each; counted from 1 if not given.
    """
    if not any(blanks) or (allowed and all(blanks)):
        return
    first = blanks.index(True)
    line = numbers[first] if numbers else first + 1
    why = "others have one" if not all(blanks) else "only test files may keep their labels back"
    raise VocapError(f"{path}, line {line}: no label, but {why}; {AGAIN}")
