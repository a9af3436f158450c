"""XTREME's files as examples (tables, SQuAD's JSON), and the data sets of a training."""

import hashlib
import lzma
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ConfigDict, ValidationError, create_model

from vocap.errors import UsageError, VocapError
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS, Task, first_task

AGAIN = "download the file again"
ALIASES = {"contradictory": "contradiction"}  # MultiNLI's training file of XNLI
RAW = re.compile(r"[a-z-]{2,12}:.")  # before each word of PAN-X, until XTREME's script takes it away


class Pair(NamedTuple):
    """Two sentences; `label` is None where the file withholds it."""

    first: str
    second: str
    label: str | None


class Sentence(NamedTuple):
    """Words and their tags, one for each; `tags` is None where the file withholds them."""

    words: tuple[str, ...]
    tags: tuple[str, ...] | None


class Answer(NamedTuple):
    """A part of a context; `start` counts code points."""

    text: str
    start: int


class Question(NamedTuple):
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
    return bool(example.answers) if isinstance(example, Question) else example[-1] is not None


Selection = Literal["paper", "english-dev"]
SELECTIONS: tuple[Selection, ...] = ("paper", "english-dev")
HELD_OUT = "heldout"  # split of the questions that `held_out` keeps from training
HELD_OUT_SHARE = 0.1  # of the contexts
KEPT = "kept"  # split: a training file without its held-out part


@dataclass(frozen=True)
class DataSet:
    """One file of one task, or a part of it; `split` is train, dev, test, kept or heldout."""

    task: Task
    split: str
    language: str

    @property
    def name(self) -> str:
        """
        >>> DataSet(TASKS["panx"], "dev", "ja").name
        'panx/dev-ja'
        """
        return f"{self.task.name}/{self.split}-{self.language}"

    def candidates(self) -> list[str]:
        """The possible paths of this file under the folder; none where the task has no such file.

        Parts of a training file are in that file. Training files of tagging tasks have a place in every language
        of the task, for the correlation study.
        """
        task, split = self.task, "train" if self.split in (KEPT, HELD_OUT) else self.split
        own = split == "train" and task.kind == "tags" and self.language in task.languages
        if not own and self.language not in task.languages_of(split):
            return []
        paths = [one.format(task=task.name, split=split, language=self.language) for one in task.files[split]]
        return [path + packed for path in paths for packed in ("", ".xz")]

    def file(self, xtreme: Path) -> Path | None:
        """Its file under the XTREME folder, plain or with `.xz`; None if missing."""
        return next(filter(Path.is_file, map(xtreme.joinpath, self.candidates())), None)

    def read(self, xtreme: Path) -> list[Example]:
        """Its examples, in the order of the file: `Pair`, `Sentence` or `Question`, by the task's kind.

        Only examples of `test` may lack labels, and then all of a file do. Raises VocapError, naming the file, the
        line and the remedy, for a file that is missing or not as it should be.
        """
        path, blank = self.file(xtreme), self.split == "test"
        if path is None:
            name = next(iter(self.candidates()), self.name)
            raise VocapError(f"{xtreme / name}: no such file, nor one with .xz; download it into this folder")
        if self.task.kind != "spans":
            read = read_pairs if self.task.kind == "pairs" else read_sentences
            return read(path, self.task.labels, blank)
        questions = read_questions(path, blank, unique=self.split in ("dev", "test"))
        return held_out(questions)[self.split == HELD_OUT] if self.split in (KEPT, HELD_OUT) else questions


def read_lines(path: Path) -> list[str]:
    r"""The lines of a file, without their `\n` or `\r\n`; U+2028 and the like are text."""
    return [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]


def read_text(path: Path) -> str:
    """The text of a file, plain or packed by xz, without a byte order mark.

    Raises VocapError for a file that is empty, damaged or not UTF-8.
    """
    content = b""
    try:
        content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        text = content.decode("utf-8-sig")
    except lzma.LZMAError as error:
        raise VocapError(f"{path}: damaged ({error}); {AGAIN}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise VocapError(f"{path}, line {line}: not UTF-8 ({error.reason}); {AGAIN}") from None
    if not text.strip():
        raise VocapError(f"{path}: the file is empty; {AGAIN}")
    return text


def read_pairs(path: Path, labels: Sequence[str], blank: bool = False) -> list[Pair]:
    """The rows `first, second, label` of a file, or `first, second` where labels are withheld.

    `labels`: those that may occur; `blank`: whether the whole file may lack them. Quoted fields (XTREME writes
    them) give the same text as raw ones (xTune). Raises VocapError, naming the line, for another number of
    columns, an unknown label, or labels of some rows only.
    """
    rows = [line.split("\t") for line in read_lines(path)]
    columns = 2 if blank and len(rows[0]) == 2 else 3
    for number, row in enumerate(rows, 1):
        if len(row) != columns:
            wanted = "sentence, sentence, label" if columns == 3 else "two sentences, as in line 1"
            raise VocapError(
                f"{path}, line {number}: {len(row)} columns, not {wanted}, parted by tabs, no header; {AGAIN}"
            )
    if is_quoted(rows):  # fields without a quote stay
        rows = [
            [field[1:-1].replace('""', '"') if field.startswith('"') else field for field in row] for row in rows
        ]
    tags = _labels(path, [(number, "".join(row[2:])) for number, row in enumerate(rows, 1)], labels, blank)
    return [Pair(row[0], row[1], tag) for row, tag in zip(rows, tags, strict=True)]


def is_quoted(rows: Sequence[Sequence[str]]) -> bool:
    r"""Whether the fields of a file were written by Python's csv module with its default quoting.

    That is so if every field with a `"` begins and ends with one, those inside come in pairs, and there is such a
    pair at least: no file of raw text happened to look like this.

    >>> is_quoted([['"He said ""no""."', "b"]]), is_quoted([['"No."', "b"]])
    (True, False)
    """
    fields = [field for row in rows for field in row if '"' in field]
    whole = all(re.fullmatch(r'"(?:[^"]|"")*"', field) for field in fields)
    return whole and any('""' in field[1:-1] for field in fields)


def read_sentences(path: Path, labels: Sequence[str], blank: bool = False) -> list[Sentence]:
    """The lines `word, tag` of a file, or `word` where tags are withheld; blank lines separate the sentences.

    `labels`: the tags that may occur; `blank`: whether the whole file may lack them. Raises VocapError, naming
    the line, as `read_pairs` does, and for a file as PAN-X has it, where each word has its language before it.
    """
    lines = read_lines(path)
    rows = [(number, *line.split("\t")) for number, line in enumerate(lines, 1) if line]
    for number, *cells in rows:
        if len(cells) > 2 or len(cells) < 2 - blank:
            raise VocapError(
                f"{path}, line {number}: {len(cells)} columns, not word and tag with a tab between; {AGAIN}"
            )
    if all(RAW.match(word) for _, word, *_ in rows):
        raise VocapError(
            f"{path}, line {rows[0][0]}: {rows[0][1]!r} has its language before it, as all words here; "
            "run XTREME's script on this raw file"
        )
    tags = iter(_labels(path, [(number, "".join(tag)) for number, _, *tag in rows], labels, blank))
    sentences = []
    for is_sentence, group in groupby(lines, bool):
        if is_sentence:
            words = tuple(line.partition("\t")[0] for line in group)
            own = tuple(islice(tags, len(words)))
            sentences.append(Sentence(words, None if own[0] is None else own))
    return sentences


def _labels(path: Path, cells: Sequence[tuple[int, str]], known: Sequence[str], blank: bool) -> list[str | None]:
    """The labels in cells of a file, of which each has the number of its line; None for empty ones."""
    found = [ALIASES.get(text, text) or None for _, text in cells]
    for (number, _), label in zip(cells, found, strict=True):
        if label not in (None, *known):
            known_ones = ", ".join(known)
            raise VocapError(f"{path}, line {number}: {label!r} is none of {known_ones}; correct it, or {AGAIN}")
    _check_blanks([label is None for label in found], blank, lambda row: f"{path}, line {cells[row][0]}")
    return found


def _check_blanks(blanks: Sequence[bool], allowed: bool, place: Callable[[int], str], noun: str = "label") -> None:
    """Raise VocapError unless none of the labels is missing, or all are and that is `allowed`."""
    if any(blanks) and not (allowed and all(blanks)):
        why = "others have one" if not all(blanks) else f"only test files may withhold their {noun}s"
        raise VocapError(f"{place(blanks.index(True))}: no {noun}, but {why}; {AGAIN}")


# the objects of SQuAD's JSON, with the keys that are read
_STRICT = {"__config__": ConfigDict(strict=True)}
_Answer = create_model("_Answer", text=(str, ...), answer_start=(int, ...), **_STRICT)
_Question = create_model("_Question", id=(str, ...), question=(str, ...), answers=(list[_Answer], ...), **_STRICT)
_Paragraph = create_model("_Paragraph", context=(str, ...), qas=(list[_Question], ...), **_STRICT)
_Article = create_model("_Article", paragraphs=(list[_Paragraph], ...), **_STRICT)
_Squad = create_model("_Squad", data=(list[_Article], ...), **_STRICT)


def read_questions(path: Path, blank: bool = False, unique: bool = True) -> list[Question]:
    """The questions of a file in its order.

    `blank`: whether the whole file may lack answers (none, or an empty text); `unique`: whether ids must be.
    Raises VocapError, naming the place in the file, for anything else than such JSON, for an answer that does not
    stand where the file says, and for answers of some questions only.
    """
    try:
        content = _Squad.model_validate_json(read_text(path))
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
                        f"{place}: the answer {text[:40]!r} is not at answer_start {start} of the context, which "
                        f"has {there[:40]!r} there; offsets count Unicode code points: correct them, or {AGAIN}"
                    )
            if unique and entry.id in places:
                raise VocapError(f"{place}: the id is that of {places[entry.id]} too; {AGAIN}")
            places[entry.id] = place
            found[place] = Question(entry.id, entry.question, paragraph.context, answers)
    if not found:
        raise VocapError(f"{path}: holds no question; {AGAIN}")
    blanks = [not question.answers for question in found.values()]
    _check_blanks(blanks, blank, list(found).__getitem__, "answer")
    return list(found.values())


@dataclass(frozen=True)
class Development:
    """The selecting files: one split of one task in some languages, and the measure whose mean over them counts.

    `label`: the name of the choice in outputs.
    """

    task: str
    split: str
    languages: tuple[str, ...]
    metric: str
    label: str


def development(training: str, rule: Selection) -> Development:
    """The development files of a training under a selection rule.

    `paper` (appendix C): the mean over all languages' development files; XQuAD by MLQA's; TyDiQA, which has none,
    by its English test file. `english-dev`, XTREME's own rule: the English development file, and never a test
    file: for SQuAD that of MLQA, as SQuAD's own holds the paragraphs that XQuAD tests on; for TyDiQA questions
    held out of its English training file. Raises UsageError for other names.
    """
    if training not in TRAININGS or rule not in SELECTIONS:
        raise UsageError(
            f"{training}, {rule}: the trainings are {', '.join(TRAININGS)}, the rules {', '.join(SELECTIONS)}"
        )
    task = next(TASKS[name] for name in TRAININGS[training] if TASKS[name].chooses)
    split, languages = "dev", (ENGLISH,)
    if task.dev_languages and rule == "paper":
        languages, files = task.dev_languages, f"the development files of all languages of {task.name}"
    elif task.dev_languages:
        files = f"the English development file of {task.name}"
    elif rule == "paper":
        split, files = "test", "the English test file"
    else:
        split, files = HELD_OUT, "questions held out of the English training file"
    return Development(task.name, split, languages, task.metrics[0], f"chosen on {files}")


def held_out(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Split questions into training and held-out ones (a tenth of the contexts), both in their order.

    A context's questions stay together; the contexts with the lowest hashes are held out, independent of order.
    Held-out questions get new ids, as those of XTREME's training files repeat. Raises VocapError for fewer than
    two contexts.
    """
    contexts = sorted(
        {question.context for question in questions},
        key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(),
    )
    if len(contexts) < 2:
        raise VocapError(
            f"{len(contexts)} contexts are too few to hold one out of training; give more, or choose by the "
            "paper's rule (finetuning: selection: paper)"
        )
    chosen = set(contexts[: max(1, round(HELD_OUT_SHARE * len(contexts)))])
    kept = [question for question in questions if question.context not in chosen]
    held = [
        question._replace(id=f"{HELD_OUT}-{number}")
        for number, question in enumerate(questions)
        if question.context in chosen
    ]
    return kept, held


def training_set(training: str, rule: Selection = "paper") -> DataSet:
    """The training set: the English file, without the part that the rule holds out."""
    kept = development(training, rule).split == HELD_OUT
    return DataSet(first_task(training), KEPT if kept else "train", ENGLISH)


def predicted_sets(training: str) -> list[DataSet]:
    """Every development and test file of the tasks of a training."""
    return [
        DataSet(TASKS[task], split, language)
        for task in TRAININGS[training]
        for split in ("dev", "test")
        for language in TASKS[task].languages_of(split)
    ]


def choosing_sets(training: str, rule: Selection, present: Collection[str]) -> list[DataSet]:
    """The sets whose mean score chooses a run's state, of those that are `present` (by name)."""
    chosen = development(training, rule)
    sets = [DataSet(TASKS[chosen.task], chosen.split, language) for language in chosen.languages]
    return [found for found in sets if found.name in present]
