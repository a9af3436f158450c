"""Fine-tuning tasks, one entry each: files, labels, measures, settings, known rows;
their data sets and examples.

The seven tasks of Table 1 are registered here; everything else (reading, training,
scoring, plan, report) asks the entry. Kinds of tasks are pairs of texts, tagged words,
and questions with answers in a context; a task of one of these kinds is written in one
place:

>>> task = register_task(Task("mine", "tags", ("en",), labels=("A", "O")))
>>> TRAININGS["mine"], task.files["test"]
(('mine',), ('{task}/{split}-{language}.tsv',))
>>> del TASKS["mine"], TRAININGS["mine"]
"""

import hashlib
import lzma
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from vocap.errors import UsageError, VocapError
from vocap.finetuning.metrics import Words, mlqa_words, squad_words

ENGLISH = "en"  # the language of every training file that is read
SPLITS = ("train", "dev", "test")
ENTITIES = ("B-LOC", "B-ORG", "B-PER", "I-LOC", "I-ORG", "I-PER", "O")
UPOS = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
)
TABLE = ("{task}/{split}-{language}.tsv",)
METRICS = {"pairs": ("acc",), "tags": ("f1",), "spans": ("f1", "exact_match")}  # by kind
AGAIN = "download the file again"
ALIASES = {"contradictory": "contradiction"}  # MultiNLI's training file of XNLI
# before each word of PAN-X, until XTREME's script takes it away
RAW = re.compile(r"[a-z-]{2,12}:.")


@dataclass(frozen=True)
class Task:
    """One task: its files, its labels, its measures.

    Parameters
    ----------
    name : of its folder and in the configuration
    kind : pairs (two texts and a label), tags (words with labels) or spans (questions
        with answers in a context)
    languages : those with a test file
    dev_languages : those with a development file; of xquad, that is the English
        development set of SQuAD
    labels : in the order of their numbers; none for spans
    training : name of the training that serves the task, with all tasks of the same
        name; default: `name`
    recipe : settings of that training (`vocap.finetuning.settings.Recipe`), given with
        its first task
    label : name in the report; default: `name`
    files : split to the paths of a file under the XTREME folder, with {task}, {split}
        and {language}; the first that exists is read
    words : of spans, language to the function that cuts an answer into the words that
        are compared
    rows : known numbers of rows: split to language to pairs, sentences or questions
    parallel : whether the rows of a split are the same in every language
    chooses : whether its development files choose the state and the settings of its
        training
    bytes_per_row : mean size of a row of the training file, for the forecast of
        `vocap plan`
    """

    name: str
    kind: Literal["pairs", "tags", "spans"]
    languages: tuple[str, ...]
    dev_languages: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    training: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    label: str = ""
    files: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: dict.fromkeys(SPLITS, TABLE), repr=False, compare=False
    )
    words: Callable[[str], Words] = field(
        default=lambda language: squad_words, repr=False, compare=False
    )
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False, compare=False)
    parallel: bool = False
    chooses: bool = True
    bytes_per_row: int = 200

    def __post_init__(self) -> None:
        object.__setattr__(self, "training", self.training or self.name)
        object.__setattr__(self, "label", self.label or self.name)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The measures that count, by their names in scores.tsv; the first chooses."""
        return METRICS[self.kind]

    def languages_of(self, split: str) -> tuple[str, ...]:
        """The languages that have this split."""
        return {"train": (ENGLISH,), "dev": self.dev_languages, "test": self.languages}.get(
            split, ()
        )


TASKS: dict[str, Task] = {}
TRAININGS: dict[str, tuple[str, ...]] = {}  # each training: the tasks that it serves


def register_task(task: Task) -> Task:
    """Make a task known, after those that are."""
    TASKS[task.name] = task
    TRAININGS[task.training] = (*TRAININGS.get(task.training, ()), task.name)
    return task


def first_task(training: str) -> Task:
    """The task that a training was registered with: its kind, labels, training file and
    recipe.
    """
    return TASKS[TRAININGS[training][0]]


def _known_rows() -> dict[str, dict[str, dict[str, int]]]:
    """The rows of the published files by task, split and language: pairs, sentences or
    questions.
    """
    rows: dict[str, dict[str, dict[str, int]]] = {}
    for line in Path(__file__).with_name("rows.tsv").read_text("utf-8").splitlines()[1:]:
        task, split, language, count = line.split("\t")
        rows.setdefault(task, {}).setdefault(split, {})[language] = int(count)
    return rows


_ROWS = _known_rows()


def _published(name: str, kind: Literal["pairs", "tags", "spans"], **more: Any) -> None:
    """Register a task of Table 1, in the languages of its published files."""
    rows = _ROWS[name]
    register_task(
        Task(name, kind, tuple(rows["test"]), tuple(rows.get("dev", ())), rows=rows, **more)
    )


# The recipes are the paper's grid; settings that it does not name are from the scripts
# of xTune, its code base.
_PAIRS = {"learning_rates": [7e-6, 1e-5], "epochs": [10], "max_length": 256}
_TAGS = {"learning_rates": [1e-5, 2e-5], "epochs": [10], "max_length": 128, "warmup": 0.1}
_SPANS = {"learning_rates": [2e-5, 3e-5], "max_length": 384, "warmup": 0.1}

_published(
    "xnli",
    "pairs",
    labels=("contradiction", "entailment", "neutral"),
    recipe={**_PAIRS, "evaluate_every": 5000},
    label="XNLI",
    parallel=True,
    bytes_per_row=190,
)
_published(
    "pawsx",
    "pairs",
    labels=("0", "1"),
    recipe={**_PAIRS, "evaluate_every": 1000},
    label="PAWS-X",
    parallel=True,
    bytes_per_row=240,
)
_published(
    "udpos",
    "tags",
    labels=UPOS,
    recipe={**_TAGS, "evaluate_every": 500, "pooling": "mean"},
    label="POS",
    bytes_per_row=180,
)
_published(
    "panx",
    "tags",
    labels=ENTITIES,
    recipe={**_TAGS, "evaluate_every": 1000},
    label="NER",
    bytes_per_row=75,
)

_SQUAD = ("squad/{split}-v1.1.json",)
_MLQA = ("mlqa/MLQA_V1/{split}/{split}-context-{language}-question-{language}.json",)
_TYDIQA = "tydiqa/tydiqa-goldp-v1.1-{0}/tydiqa.goldp.{{language}}.{0}.json"

_published(
    "xquad",
    "spans",
    training="squad",
    recipe={**_SPANS, "epochs": [4]},
    label="XQuAD",
    files={"train": _SQUAD, "dev": _SQUAD, "test": ("xquad/xquad.{language}.json",)},
    parallel=True,
    chooses=False,  # the development file of SQuAD holds the paragraphs that XQuAD tests on
    bytes_per_row=346,
)
_published(
    "mlqa",
    "spans",
    training="squad",
    label="MLQA",
    files={"train": _SQUAD, "dev": _MLQA, "test": _MLQA},
    words=mlqa_words,
    bytes_per_row=346,
)
_published(
    "tydiqa",
    "spans",
    recipe={**_SPANS, "epochs": [6, 8]},
    label="TyDiQA",
    files={  # xTune drops `goldp.`; the release's development set is the test set
        split: (path, path.replace(".goldp.", "."))
        for split, path in (("train", _TYDIQA.format("train")), ("test", _TYDIQA.format("dev")))
    },
    bytes_per_row=812,
)


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


Selection = Literal["paper", "english-dev"]
SELECTIONS: tuple[Selection, ...] = ("paper", "english-dev")
HELD_OUT = "heldout"  # split of the questions that `held_out` keeps from training
HELD_OUT_SHARE = 0.1  # of the contexts
KEPT = "kept"  # split: a training file without its held-out part


@dataclass(frozen=True)
class DataSet:
    """One file of one task, or a part of it; `split` is train, dev, test, kept or
    heldout.
    """

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

        Parts of a training file are in that file. Training files of tagging tasks have
        a place in every language of the task, for the correlation study.
        """
        task = self.task
        split = "train" if self.split in (KEPT, HELD_OUT) else self.split
        own = split == "train" and task.kind == "tags" and self.language in task.languages
        if not own and self.language not in task.languages_of(split):
            return []
        paths = [
            one.format(task=task.name, split=split, language=self.language)
            for one in task.files[split]
        ]
        return [path + packed for path in paths for packed in ("", ".xz")]

    def file(self, xtreme: Path) -> Path | None:
        """Its file under the XTREME folder, plain or with `.xz`; None if missing."""
        return next(filter(Path.is_file, map(xtreme.joinpath, self.candidates())), None)

    def present_file(self, xtreme: Path) -> Path:
        """As `file`; raises VocapError, with the remedy, for one that is missing."""
        path = self.file(xtreme)
        if path is None:
            name = next(iter(self.candidates()), self.name)
            raise VocapError(
                f"{xtreme / name}: no such file, nor one with .xz; download it into this folder"
            )
        return path

    def read(self, xtreme: Path) -> Examples:
        """Its examples, in the order of the file: `Pair`, `TaggedSentence` or `Question`, by
        the task's kind.

        Only examples of `test` may lack labels, and then all of a file do. Raises
        VocapError, naming the file, the line and the remedy, for a file that is missing
        or not as it should be.
        """
        path = self.present_file(xtreme)
        blank = self.split == "test"
        if self.task.kind != "spans":
            read = read_pairs if self.task.kind == "pairs" else read_tagged_sentences
            return read(path, self.task.labels, blank)
        questions = read_questions(path, blank, unique=self.split in ("dev", "test"))
        return (
            held_out(questions)[self.split == HELD_OUT]
            if self.split in (KEPT, HELD_OUT)
            else questions
        )


def read_task_lines(path: Path) -> list[str]:
    r"""The lines of a file, without their `\n` or `\r\n`; U+2028 and the like are
    text.
    """
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

    `labels`: those that may occur; `blank`: whether the whole file may lack them.
    Quoted fields (XTREME writes them) give the same text as raw ones (xTune). Raises
    VocapError, naming the line, for another number of columns, an unknown label, or
    labels of some rows only.
    """
    rows = [line.split("\t") for line in read_task_lines(path)]
    columns = 2 if blank and len(rows[0]) == 2 else 3
    for number, row in enumerate(rows, 1):
        if len(row) != columns:
            wanted = "sentence, sentence, label" if columns == 3 else "two sentences, as in line 1"
            raise VocapError(
                f"{path}, line {number}: {len(row)} columns, not {wanted}, parted by tabs, no "
                f"header; {AGAIN}"
            )
    if is_quoted(rows):  # fields without a quote stay
        rows = [list(map(_unquoted, row)) for row in rows]
    tags = _labels(
        path, [(number, "".join(row[2:])) for number, row in enumerate(rows, 1)], labels, blank
    )
    return [Pair(row[0], row[1], tag) for row, tag in zip(rows, tags, strict=True)]


def _unquoted(field: str) -> str:
    """The text of a field that Python's csv module wrote."""
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


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


def read_tagged_sentences(
    path: Path, labels: Sequence[str], blank: bool = False
) -> list[TaggedSentence]:
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
            f"{path}, line {number}: {cells[0]!r} has its language before it, as all words "
            "here; "
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
    found = [ALIASES.get(text, text) or None for _, text in cells]
    for (number, _), label in zip(cells, found, strict=True):
        if label not in (None, *known):
            known_ones = ", ".join(known)
            raise VocapError(
                f"{path}, line {number}: {label!r} is none of {known_ones}; correct it, or {AGAIN}"
            )
    _check_blanks(
        [label is None for label in found], blank, lambda row: f"{path}, line {cells[row][0]}"
    )
    return found


def _check_blanks(
    blanks: Sequence[bool], allowed: bool, place: Callable[[int], str], noun: str = "label"
) -> None:
    """Raise VocapError unless none of the labels is missing, or all are and that is
    `allowed`.
    """
    if any(blanks) and not (allowed and all(blanks)):
        why = (
            "others have one" if not all(blanks) else f"only test files may withhold their {noun}s"
        )
        raise VocapError(f"{place(blanks.index(True))}: no {noun}, but {why}; {AGAIN}")


# the objects of SQuAD's JSON, with the keys that are read
class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Answer(_Strict):
    text: str
    answer_start: int


class _Question(_Strict):
    id: str
    question: str
    answers: list[_Answer]


class _Paragraph(_Strict):
    context: str
    qas: list[_Question]


class _Article(_Strict):
    paragraphs: list[_Paragraph]


class _Squad(_Strict):
    data: list[_Article]


def read_questions(path: Path, blank: bool = False, unique: bool = True) -> list[Question]:
    """The questions of a file in its order.

    `blank`: whether the whole file may lack answers (none, or an empty text); `unique`:
    whether ids must be. Raises VocapError, naming the place in the file, for anything
    else than such JSON, for an answer that does not stand where the file says, and for
    answers of some questions only.
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
                        f"{place}: the answer {text[:40]!r} is not at answer_start {start} of the "
                        "context, which "
                        f"has {there[:40]!r} there; offsets count Unicode code points: correct "
                        f"them, or {AGAIN}"
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
    """The selecting files: one split of one task in some languages, and the measure
    whose mean over them counts.

    `label`: the name of the choice in outputs.
    """

    task: str
    split: str
    languages: tuple[str, ...]
    metric: str
    label: str


def development(training: str, rule: Selection) -> Development:
    """The development files of a training under a selection rule.

    `paper` (appendix C): the mean over all languages' development files; XQuAD by
    MLQA's; TyDiQA, which has none, by its English test file. `english-dev`, XTREME's
    own rule: the English development file, and never a test file: for SQuAD that of
    MLQA, as SQuAD's own holds the paragraphs that XQuAD tests on; for TyDiQA questions
    held out of its English training file. Raises UsageError for other names.
    """
    if training not in TRAININGS or rule not in SELECTIONS:
        raise UsageError(
            f"{training}, {rule}: the trainings are {', '.join(TRAININGS)}, the rules "
            f"{', '.join(SELECTIONS)}"
        )
    task = next(TASKS[name] for name in TRAININGS[training] if TASKS[name].chooses)
    split = "dev"
    languages: tuple[str, ...] = (ENGLISH,)
    if task.dev_languages and rule == "paper":
        languages = task.dev_languages
        files = f"the development files of all languages of {task.name}"
    elif task.dev_languages:
        files = f"the English development file of {task.name}"
    elif rule == "paper":
        split, files = "test", "the English test file"
    else:
        split = HELD_OUT
        files = "questions held out of the English training file"
    return Development(
        task=task.name,
        split=split,
        languages=languages,
        metric=task.metrics[0],
        label=f"chosen on {files}",
    )


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
            "choose by the "
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
    """The sets whose mean score chooses a run's state, of those that are `present` (by
    name).
    """
    chosen = development(training, rule)
    sets = [DataSet(TASKS[chosen.task], chosen.split, language) for language in chosen.languages]
    return [found for found in sets if found.name in present]
