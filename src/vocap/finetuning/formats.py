"""The formats of XTREME's files: pairs and tagged words as tables, questions as SQuAD's JSON."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from vocap.errors import VocapError
from vocap.text_files.lines import LineFile

AGAIN = "download the file again"
ALIASES = {"contradictory": "contradiction"}  # MultiNLI's training file of XNLI
RAW = re.compile(r"[a-z-]{2,12}:.")  # before each word of PAN-X, until XTREME's script takes it away


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences; `label` is None where the file withholds it."""

    first: str
    second: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and their tags, one for each; `tags` is None where the file withholds them."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A part of a context; `start` counts code points."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question on a context; no `answers` where the file withholds them.

    Questions of one paragraph share the `context` object. Ids are unique in a dev or test file, not in train.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...]


Example = Pair | Sentence | Question


def is_labelled(example: Example) -> bool:
    """Whether the example has its labels; only such examples may be scored or trained on."""
    if isinstance(example, Pair):
        return example.label is not None
    return example.tags is not None if isinstance(example, Sentence) else bool(example.answers)


def read_text(path: Path) -> str:
    """The text of a file, decompressed where it is xz (or gzip, zstd, bzip2), without a byte order mark.

    Raises VocapError for a file that is missing, is empty, holds NUL bytes or is not UTF-8.
    """
    if not path.exists():
        raise VocapError(f"{path}: no such file; download it, or correct the folder's path")
    content = b"".join(LineFile(path).blocks()).removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise VocapError(f"{path}: the file is empty; {AGAIN}")
    if (place := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, place) + 1
        raise VocapError(f"{path}, line {line}: a NUL byte; the file is damaged: {AGAIN}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise VocapError(f"{path}, line {line}: not UTF-8 ({error.reason}); {AGAIN}") from None


def read_lines(path: Path) -> list[str]:
    r"""The lines of a file, without their `\n` or `\r\n`; U+2028 and the like are text.

    Raises VocapError as `read_text` does.
    """
    lines = read_text(path).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_pairs(path: Path, labels: Sequence[str], blank: bool = False) -> list[Pair]:
    """The rows `first, second, label` of a file, or `first, second` where labels are withheld.

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
    _check_blanks([pair.label is None for pair in pairs], blank, path, lambda row: f"line {row + 1}")
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
    """The lines `word, tag` of a file, or `word` where tags are withheld; blank lines separate the sentences.

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
                    f"{path}, line {number}: {1 + len(rest)} columns, not word and tag with a tab between; {AGAIN}"
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
    _check_blanks(blanks, blank, path, lambda row: f"line {numbers[row]}")
    if all(RAW.match(word) for sentence in sentences for word in sentence.words):
        raise VocapError(
            f"{path}, line {numbers[0]}: {sentences[0].words[0]!r} has its language before it, as all words here; "
            "run XTREME's script on this raw file"
        )
    return sentences


def _check_blanks(
    blanks: Sequence[bool], allowed: bool, path: Path, place: Callable[[int], str], noun: str = "label"
) -> None:
    """Raise VocapError unless none of the labels is missing, or all are and that is `allowed`."""
    if any(blanks) and not (allowed and all(blanks)):
        why = "others have one" if not all(blanks) else f"only test files may withhold their {noun}s"
        raise VocapError(f"{path}, {place(blanks.index(True))}: no {noun}, but {why}; {AGAIN}")


def read_questions(path: Path, blank: bool = False, unique: bool = True) -> list[Question]:
    """The questions of a file in its order.

    `blank`: whether the whole file may lack answers (none, or an empty text); `unique`: whether ids must be.
    Raises VocapError, naming the place in the file, for anything else than such JSON, for an answer that does not
    stand where the file says, and for answers of some questions only.
    """
    try:
        content = orjson.loads(read_text(path))
    except orjson.JSONDecodeError as error:
        raise VocapError(f"{path}, line {error.lineno}: not JSON ({error.msg}); {AGAIN}") from None
    questions: list[Question] = []
    places: list[str] = []
    for number, entry in enumerate(_field(content, "data", list, "the file", path)):
        where = f"data[{number}]"
        for index, paragraph in enumerate(_field(entry, "paragraphs", list, where, path)):
            inside = f"{where}.paragraphs[{index}]"
            context = _field(paragraph, "context", str, inside, path)
            for item, question in enumerate(_field(paragraph, "qas", list, inside, path)):
                place = f"{inside}.qas[{item}]"
                questions.append(_question(question, context, place, path))
                places.append(place)
    if not questions:
        raise VocapError(f"{path}: holds no question; {AGAIN}")
    blanks = [not question.answers for question in questions]
    _check_blanks(blanks, blank, path, lambda row: f"{places[row]} (id {questions[row].id})", "answer")
    if unique:
        _check_ids(questions, places, path)
    return questions


def _question(entry: Any, context: str, place: str, path: Path) -> Question:
    name = _field(entry, "id", str, place, path)
    answers = []
    for answer in _field(entry, "answers", list, place, path):
        text = _field(answer, "text", str, place, path)
        start = _field(answer, "answer_start", int, place, path)
        if not text:
            continue
        if start < 0 or context[start : start + len(text)] != text:
            there = context[start : start + len(text)] if start >= 0 else ""
            raise VocapError(
                f"{path}, {place} (id {name}): the answer {_short(text)} is not at answer_start {start} "
                f"of the context, which has {_short(there)} there; offsets count Unicode code points: correct "
                f"them, or {AGAIN}"
            )
        answers.append(Answer(text, start))
    return Question(name, _field(entry, "question", str, place, path), context, tuple(answers))


def _field(entry: Any, name: str, kind: type, place: str, path: Path) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        expected = {list: "a list", str: "text", int: "a whole number"}[kind]
        raise VocapError(f"{path}, {place}: no {name!r} that is {expected}, as in SQuAD 1.1; {AGAIN}")
    return value


def _check_ids(questions: list[Question], places: list[str], path: Path) -> None:
    seen: dict[str, str] = {}
    for question, place in zip(questions, places, strict=True):
        if question.id in seen:
            raise VocapError(
                f"{path}, {place}: the id {question.id} is that of {seen[question.id]} too; predictions need "
                f"distinct ids: {AGAIN}"
            )
        seen[question.id] = place


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
