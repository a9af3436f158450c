"""Examples of the tasks, and the files that hold them: pairs of texts, tagged words,
questions with answers in a context.
"""

import csv
import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from vocap.errors import VocapError
from vocap.text_files.lines import LineFile

AGAIN = "download the file again"
ALIASES = {"contradictory": "contradiction"}  # MultiNLI's training file of XNLI
# before each word of PAN-X, until XTREME's script takes it away
RAW = re.compile(r"[a-z-]{2,12}:.")
HELD_OUT = "heldout"  # split of the questions that `held_out` keeps from training
HELD_OUT_SHARE = 0.1  # of the contexts


class Pair(NamedTuple):
    """Two sentences; `label` is None where the file withholds it."""

    first: str
    second: str
    label: str | None


class TaggedSentence(NamedTuple):
    """Words and their tags, one for each; `tags` is None where the file withholds
    them.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None


class Answer(NamedTuple):
    """A part of a context; `start` counts code points."""

    text: str
    start: int


class Question(NamedTuple):
    """A question on a context; no `answers` where the file withholds them.

    Questions of one paragraph share the `context` object. Ids are unique in a dev or
    test file, not in train.
    """

    id: str
    question: str
    context: str
    answers: tuple[Answer, ...]


Example = Pair | TaggedSentence | Question
# of one file: all of one class, which the kind of its task tells and a type cannot
Examples = Sequence[Any]


def is_labelled(example: Example) -> bool:
    """Whether the example has its labels; only such examples may be scored or trained
    on.
    """
    return bool(example.answers) if isinstance(example, Question) else example[-1] is not None


def read_task_lines(path: Path) -> list[str]:
    r"""The lines of a file, without their `\n` or `\r\n`; U+2028 and the like are
    text.
    """
    return [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]


def read_text(path: Path) -> str:
    """The text of a file, compressed or not, without a byte order mark.

    Raises VocapError for a file that is empty, damaged or not UTF-8.
    """
    content = b"".join(LineFile(path).blocks())
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise VocapError(f"{path}, line {line}: not UTF-8 ({error.reason}); {AGAIN}") from None
    if not text.strip():
        raise VocapError(f"{path}: the file is empty; {AGAIN}")
    return text


def read_pairs(path: Path, labels: Sequence[str], blank: bool) -> list[Pair]:
    """The rows `first, second, label` of a file, or `first, second` where labels are withheld.

    `labels`: those that may occur; `blank`: whether the whole file may lack them.
    Quoted fields (XTREME writes them) give the same text as raw ones (xTune). Raises
    VocapError, naming the line, for another number of columns, an unknown label, or
    labels of some rows only.
    """
    lines = read_task_lines(path)
    rows = [line.split("\t") for line in lines]
    columns = 2 if blank and len(rows[0]) == 2 else 3
    for number, row in enumerate(rows, 1):
        if len(row) != columns:
            wanted = "sentence, sentence, label" if columns == 3 else "two sentences, as in line 1"
            raise VocapError(
                f"{path}, line {number}: {len(row)} columns, not {wanted}, parted by tabs, no "
                f"header; {AGAIN}"
            )
    if is_quoted(rows):
        rows = list(csv.reader(lines, delimiter="\t"))
    tags = _labels(
        path, [(number, "".join(row[2:])) for number, row in enumerate(rows, 1)], labels, blank
    )
    return [Pair(row[0], row[1], tag) for row, tag in zip(rows, tags, strict=True)]


def is_quoted(rows: Sequence[Sequence[str]]) -> bool:
    r"""Whether the fields of a file were written by Python's csv module with its
    default quoting.

    That is so if every field with a `"` begins and ends with one, those inside come in
    pairs, and there is such a pair at least: no file of raw text happened to look like
    this.

    >>> is_quoted([['"He said ""no""."', "b"]]), is_quoted([['"No."', "b"]])
    (True, False)
    """
    fields = [field for row in rows for field in row if '"' in field]
    whole = all(re.fullmatch(r'"(?:[^"]|"")*"', field) for field in fields)
    return whole and any('""' in field[1:-1] for field in fields)


def read_tagged_sentences(path: Path, labels: Sequence[str], blank: bool) -> list[TaggedSentence]:
    """The lines `word, tag` of a file, or `word` where tags are withheld; blank lines
    separate the sentences.

    `labels`: the tags that may occur; `blank`: whether the whole file may lack them.
    Raises VocapError, naming the line, as `read_pairs` does, and for a file as PAN-X
    has it, where each word has its language before it.
    """
    lines = read_task_lines(path)
    rows = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line]
    for number, cells in rows:
        if len(cells) > 2 or len(cells) < 2 - blank:
            raise VocapError(
                f"{path}, line {number}: {len(cells)} columns, not word and tag with a tab "
                f"between; {AGAIN}"
            )
    if all(RAW.match(cells[0]) for _, cells in rows):
        number, cells = rows[0]
        raise VocapError(
            f"{path}, line {number}: {cells[0]!r} has its language before it, as all words here; "
            "run XTREME's script on this raw file"
        )
    cells_of_tags = [(number, "".join(cells[1:])) for number, cells in rows]
    tags = iter(_labels(path, cells_of_tags, labels, blank))
    sentences = []
    for is_sentence, group in groupby(lines, bool):
        if is_sentence:
            words = tuple(line.partition("\t")[0] for line in group)
            own = tuple(tag for tag in islice(tags, len(words)) if tag is not None)
            sentences.append(TaggedSentence(words, own or None))
    return sentences


def _labels(
    path: Path, cells: Sequence[tuple[int, str]], known: Sequence[str], blank: bool
) -> list[str | None]:
    """The labels in cells of a file, of which each has the number of its line; None for
    empty ones.
    """
    found = {f"{path}, line {number}": ALIASES.get(text, text) or None for number, text in cells}
    for place, label in found.items():
        if label not in (None, *known):
            raise VocapError(
                f"{place}: {label!r} is none of {', '.join(known)}; correct it, or {AGAIN}"
            )
    _check_blanks(found, blank)
    return list(found.values())


def _check_blanks(given: Mapping[str, object], allowed: bool, noun: str = "label") -> None:
    """Raise VocapError unless none of the labels, by place, is missing, or all are and that
    is `allowed`.
    """
    lacking = [place for place, label in given.items() if not label]
    if lacking and not (allowed and len(lacking) == len(given)):
        raise VocapError(
            f"{lacking[0]}: no {noun}, but others have one, or the file is no test file; {AGAIN}"
        )


# the objects of SQuAD's JSON, with the keys that are read
class _Answer(BaseModel):
    text: str
    answer_start: int


class _Question(BaseModel):
    id: str
    question: str
    answers: list[_Answer]


class _Paragraph(BaseModel):
    context: str
    qas: list[_Question]


class _Article(BaseModel):
    paragraphs: list[_Paragraph]


class _Squad(BaseModel):
    data: list[_Article]


def read_questions(path: Path, blank: bool, unique: bool) -> list[Question]:
    """The questions of a file in its order.

    `blank`: whether the whole file may lack answers (none, or an empty text); `unique`:
    whether ids must be. Raises VocapError, naming the place in the file, for anything
    else than such JSON, for an answer that does not stand where the file says, and for
    answers of some questions only.
    """
    try:
        content = _Squad.model_validate_json(read_text(path), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise VocapError(f"{path}: {place}: {first['msg']}, not as in SQuAD 1.1; {AGAIN}") from None
    found: dict[str, Question] = {}  # by place
    places: dict[str, str] = {}  # by id
    paragraphs = [paragraph for article in content.data for paragraph in article.paragraphs]
    for paragraph in paragraphs:
        for entry in paragraph.qas:
            place = f"{path}: question {len(found) + 1} (id {entry.id})"
            answers = tuple(Answer(one.text, one.answer_start) for one in entry.answers if one.text)
            for text, start in answers:
                there = paragraph.context[start : start + len(text)] if start >= 0 else ""
                if there != text:
                    raise VocapError(
                        f"{place}: the answer {text[:40]!r} is not at answer_start {start} of the "
                        f"context, which has {there[:40]!r} there; offsets count Unicode code "
                        f"points: correct them, or {AGAIN}"
                    )
            if unique and entry.id in places:
                raise VocapError(f"{place}: the id is that of {places[entry.id]} too; {AGAIN}")
            places[entry.id] = place
            found[place] = Question(entry.id, entry.question, paragraph.context, answers)
    if not found:
        raise VocapError(f"{path}: holds no question; {AGAIN}")
    _check_blanks({place: one.answers for place, one in found.items()}, blank, "answer")
    return list(found.values())


def held_out(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Split questions into training and held-out ones (a tenth of the contexts), both
    in their order.

    A context's questions stay together; the contexts with the lowest hashes are held
    out, independent of order. Held-out questions get new ids, as those of XTREME's
    training files repeat. Raises VocapError for fewer than two contexts.
    """
    contexts = sorted(
        {question.context for question in questions},
        key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
    )
    if len(contexts) < 2:
        raise VocapError(
            f"{len(contexts)} contexts are too few to hold one out of training; give more, or "
            "choose by the paper's rule (finetuning: selection: paper)"
        )
    chosen = set(contexts[: max(1, round(HELD_OUT_SHARE * len(contexts)))])
    kept = [question for question in questions if question.context not in chosen]
    held = [
        question._replace(id=f"{HELD_OUT}-{number}")
        for number, question in enumerate(questions)
        if question.context in chosen
    ]
    return kept, held
