"""XTREME's files from the archives that the data sets' authors publish, as XTREME's script would leave them.

Unlike that script this keeps the labels of test files. A collection is a folder of XTREME's; `downloads` of the
configuration has its archives. PAN-X is none: XTREME's script asks for an archive that is fetched by hand.
"""

import csv
import io
import json
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath

from vocap.errors import UsageError, VocapError
from vocap.files.atomic import replacing
from vocap.finetuning.formats import ALIASES
from vocap.finetuning.reading import candidates
from vocap.finetuning.tasks import SPLITS, TASKS, Split, Task

COLUMNS = 10  # of CoNLL-U
FORM, UPOS, HEAD, DEPS = 1, 3, 6, 8
NO_FORM = "_"  # of treebanks without the text, which is sold separately
ZERO_WIDTH_NON_JOINER = "\u200c"

# Of the words of a span that are equally near to the root, the tag that comes first here (conllu_to_conll.py).
_ORDER = (
    *("VERB", "NOUN", "PROPN", "PRON", "ADJ", "NUM", "ADV", "INTJ"),
    *("AUX", "ADP", "DET", "PART", "CCONJ", "SCONJ", "X", "PUNCT"),
)
_ORDERS = {
    "es": ("VERB", "AUX", "PRON", "ADP", "DET"),
    "fr": ("VERB", "AUX", "PRON", "NOUN", "ADJ", "ADV", "ADP", "DET", "PART", "SCONJ", "CONJ"),
    "it": ("VERB", "AUX", "ADV", "PRON", "ADP", "DET", "INTJ"),
}
_PAWSX_FILES = {"train": "train", "dev_2k": "dev", "test_2k": "test"}
_TYDIQA_LANGUAGES = {
    "arabic": "ar",
    "bengali": "bn",
    "english": "en",
    "finnish": "fi",
    "indonesian": "id",
    "korean": "ko",
    "russian": "ru",
    "swahili": "sw",
    "telugu": "te",
}
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError)
Files = Iterator[tuple[str, bytes]]  # path under the folder, content
Wanted = Callable[[str], bool]  # of a path under the folder


def tagged_sentences(lines: Iterator[str], language: str, name: str) -> Iterator[list[tuple[str, str]]]:
    """The sentences of a CoNLL-U file as (word, UPOS tag), without those whose words are not distributed.

    Multiword tokens replace their syntactic words, with the tag of the word nearest to the root; spaces
    and zero-width non-joiners within a word are removed. `name`: of the file, for messages. Raises VocapError,
    naming the line, for anything else than CoNLL-U.
    """
    rows: list[list[str]] = []
    for number, line in enumerate(chain(lines, [""]), 1):
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            continue
        if line:
            rows.append(line.split("\t"))
            if len(rows[-1]) != COLUMNS:
                raise VocapError(f"{name}, line {number}: {len(rows[-1])} columns, not {COLUMNS}; not CoNLL-U")
            continue
        if rows:
            try:
                words = _fused(rows, _ORDERS.get(language, _ORDER))
            except (ValueError, KeyError) as error:
                raise VocapError(f"{name}: the sentence before line {number}: {error}; not CoNLL-U") from None
            absent = sum(form == NO_FORM for form, _ in words)
            if not absent or absent < len(words) - 1:
                yield [(form.replace(ZERO_WIDTH_NON_JOINER, "").replace(" ", ""), tag) for form, tag in words]
        rows = []


def _fused(rows: list[list[str]], order: tuple[str, ...]) -> list[tuple[str, str]]:
    """Form and tag of each written word of one sentence."""
    words = {int(row[0]): row for row in rows if row[0].isdecimal()}
    parents = {number: _parents(row) for number, row in words.items()}
    fused = {}
    for row in rows:
        if "-" in row[0]:
            first, last = map(int, row[0].split("-"))
            span = range(first, last + 1)
            head = _head(span, words, parents, order)
            fused[first] = (last, row[FORM].strip(), words[head][UPOS].strip())
    result = []
    number, end = min(words), max(words)
    while number <= end:
        last, form, tag = fused.get(number, (number, words[number][FORM].strip(), words[number][UPOS].strip()))
        result.append((form, tag))
        number = last + 1
    return result


def _parents(row: list[str]) -> set[int]:
    """Heads of a word: of the basic tree, and of the enhanced graph but for its empty nodes."""
    enhanced = [] if row[DEPS] == NO_FORM else [pair.split(":")[0] for pair in row[DEPS].split("|")]
    return {int(row[HEAD]), *(int(head) for head in enhanced if head.isdecimal())}


def _head(span: range, words: dict[int, list[str]], parents: dict[int, set[int]], order: tuple[str, ...]) -> int:
    """The word with the fewest ancestors; among several, the first by the order of tags, then of words."""
    depths = {number: _ancestors(number, parents) for number in span}
    nearest = [number for number in span if depths[number] == min(depths.values())]
    ranks = {tag: rank for rank, tag in enumerate(order)}
    return min(nearest, key=lambda number: ranks.get(words[number][UPOS], len(order)))


def _ancestors(number: int, parents: dict[int, set[int]]) -> int:
    """The number of ancestors of a word, the root included."""
    found: set[int] = set()
    waiting = [number]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return len(found - {number})


def place(task: Task, split: Split, language: str) -> str | None:
    """The path of a file under an XTREME folder; None where the task has no such file.

    Training files of tagging tasks have a place in every language of the task, for the correlation study.
    """
    if split == "train" and task.kind == "tags" and language in task.languages:
        return f"{task.name}/train-{language}.tsv"
    return next(iter(candidates(task, split, language)), None)


def collection_of(path: str) -> str | None:
    """The collection that a path under the folder belongs to; None for an unpublished file."""
    folder = PurePosixPath(path).parts[0]
    return folder if folder in ARCHIVES else None


def unpack(collection: str, archives: Sequence[Path], folder: Path, paths: Collection[str]) -> None:
    """Write these files of a collection, `paths` under `folder`; `archives` are in the order of ARCHIVES.

    Raises UsageError for a collection that is none or another number of archives, VocapError for an archive that
    is damaged or holds something else. Files that are not named are neither written nor touched.
    """
    if collection not in ARCHIVES:
        raise UsageError(f"no collection {collection!r}; there are {', '.join(ARCHIVES)}")
    if len(archives) != len(ARCHIVES[collection]):
        raise UsageError(f"{collection}: {len(archives)} archives, not {', '.join(ARCHIVES[collection])}")
    _, read = _COLLECTIONS[collection]
    missing = set(paths)
    try:
        for path, content in read(archives, missing.__contains__):
            with replacing(folder / path, "wb") as file:
                file.write(content)
            missing.remove(path)
    except (*_DAMAGED, UnicodeDecodeError) as error:
        where = ", ".join(map(str, archives))
        raise VocapError(f"{where}: damaged ({error}); delete it and run again, to fetch it anew") from None
    if missing:
        names = ", ".join(sorted(missing)[:3])
        where = ", ".join(map(str, archives[:3]))
        raise VocapError(
            f"{where}: no {names} in it ({len(missing)} files missing); bring them to {folder} by hand"
        )


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Names and readers of the files in a zip or tar archive; nothing is extracted to the disk."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                yield name, lambda name=name: opened.read(name)
    else:
        with tarfile.open(archive, "r|*") as opened:
            for member in opened:
                if member.isfile():
                    yield member.name, lambda member=member: opened.extractfile(member).read()


def _rows(content: bytes) -> list[list[str]]:
    """The cells of a table with a header, without white space around them."""
    lines = content.decode("utf-8").split("\n")[1:]
    return [[cell.strip() for cell in line.strip().split("\t")] for line in lines if line.strip()]


def _table(rows: Sequence[Sequence[str]]) -> bytes:
    """As Python's csv writes it: the form of XTREME's files, which reading takes back to the text."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t").writerows(rows)
    return text.getvalue().encode("utf-8")


def _cells(rows: Sequence[Sequence[str]], columns: Sequence[int], archive: Path, name: str) -> list[list[str]]:
    if short := next((number for number, row in enumerate(rows, 2) if len(row) <= max(columns)), None):
        raise VocapError(f"{archive}: {name}, line {short}: too few columns; delete it, to fetch it anew")
    return [[row[column] for column in columns] for row in rows]


def _xnli(archives: Sequence[Path], wanted: Wanted) -> Files:
    tables, training = archives
    for name, read in _members(tables):
        split = {"xnli.dev.tsv": "dev", "xnli.test.tsv": "test"}.get(PurePosixPath(name).name)
        if split is None or "__MACOSX" in name:
            continue
        by_language: dict[str, list[list[str]]] = {}
        for language, label, *sentences in _cells(_rows(read()), (0, 1, 6, 7), tables, name):
            by_language.setdefault(language, []).append([*sentences, label])
        for language, rows in by_language.items():
            if wanted(path := f"xnli/{split}-{language}.tsv"):
                yield path, _table(rows)
    if wanted(path := "xnli/train-en.tsv"):
        for name, read in _members(training):
            if PurePosixPath(name).name == "multinli.train.en.tsv" and "__MACOSX" not in name:
                rows = _cells(_rows(read()), (0, 1, 2), training, name)
                yield path, _table([[*pair, ALIASES.get(label, label)] for *pair, label in rows])


def _pawsx(archives: Sequence[Path], wanted: Wanted) -> Files:
    (archive,) = archives
    for name, read in _members(archive):
        parts = PurePosixPath(name)
        split = _PAWSX_FILES.get(parts.stem)
        if split and parts.suffix == ".tsv" and wanted(path := f"pawsx/{split}-{parts.parent.name}.tsv"):
            yield path, _table(_cells(_rows(read()), (1, 2, 3), archive, name))


def _udpos(archives: Sequence[Path], wanted: Wanted) -> Files:
    """All treebanks of a language, in the order of their names."""
    (archive,) = archives
    parts: dict[str, dict[str, str]] = {}
    for name, read in _members(archive):
        file = PurePosixPath(name)
        language = file.stem.split("_")[0]
        part = file.stem.partition("-ud-")[2]  # train, dev, test; of a large treebank train-a-1 and more
        split = next((split for split in SPLITS if part.startswith(split)), None)
        path = f"udpos/{split}-{language}.tsv"
        if split and file.suffix == ".conllu" and wanted(path):
            sentences = tagged_sentences(iter(read().decode("utf-8").split("\n")), language, f"{archive}: {name}")
            text = "\n".join("".join(f"{word}\t{tag}\n" for word, tag in sentence) for sentence in sentences)
            parts.setdefault(path, {})[file.name] = text
    for path, texts in parts.items():
        yield path, "\n".join(texts[name] for name in sorted(texts) if texts[name]).encode("utf-8")


def _copies(folder: str) -> Callable[[Sequence[Path], Wanted], Files]:
    """Files that are published one by one, as they are, under their own names."""

    def read(archives: Sequence[Path], wanted: Wanted) -> Files:
        for archive in archives:
            if wanted(path := f"{folder}/{archive.name}"):
                yield path, archive.read_bytes()

    return read


def _mlqa(archives: Sequence[Path], wanted: Wanted) -> Files:
    (archive,) = archives
    for name, read in _members(archive):
        if wanted(path := f"mlqa/{name}"):
            yield path, read()


def _tydiqa(archives: Sequence[Path], wanted: Wanted) -> Files:
    training, development = archives
    try:
        content = json.loads(training.read_bytes())
        by_language: dict[str, list[dict]] = {}
        for document in content["data"]:
            for paragraph in document["paragraphs"]:
                for question in paragraph["qas"]:
                    language, *_, number = question["id"].split("-")
                    kept = {"answers": question["answers"], "question": question["question"], "id": number}
                    entry = {"paragraphs": [{"context": paragraph["context"], "qas": [kept]}]}
                    by_language.setdefault(language, []).append(entry)
        version = content["version"]
    except (ValueError, KeyError, TypeError):
        raise VocapError(f"{training}: not TyDiQA's JSON; delete it and run again, to fetch it anew") from None
    for language, code in _TYDIQA_LANGUAGES.items():
        path = f"tydiqa/tydiqa-goldp-v1.1-train/tydiqa.goldp.{code}.train.json"
        if language in by_language and wanted(path):
            yield path, json.dumps({"data": by_language[language], "version": version}).encode("utf-8")
    for name, read in _members(development):
        file = PurePosixPath(name)
        code = _TYDIQA_LANGUAGES.get(file.stem.removeprefix("tydiqa-goldp-dev-"))
        if file.suffix == ".json" and wanted(path := f"tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.goldp.{code}.dev.json"):
            yield path, read()


# folder of XTREME's: names of its archives in `downloads`, in the order in which they are read, and their reader
_COLLECTIONS: dict[str, tuple[tuple[str, ...], Callable[[Sequence[Path], Wanted], Files]]] = {
    "xnli": (("xnli", "xnli-train"), _xnli),
    "pawsx": (("pawsx",), _pawsx),
    "udpos": (("udpos",), _udpos),
    "squad": (("squad-train", "squad-dev"), _copies("squad")),
    "xquad": (tuple(f"xquad-{language}" for language in TASKS["xquad"].languages), _copies("xquad")),
    "mlqa": (("mlqa",), _mlqa),
    "tydiqa": (("tydiqa-train", "tydiqa-dev"), _tydiqa),
}
ARCHIVES = {name: archives for name, (archives, _) in _COLLECTIONS.items()}
