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
from pathlib import Path, PurePosixPath

from vocap.errors import UsageError, VocapError
from vocap.files import replacing
from vocap.finetuning.reading.places import candidates
from vocap.finetuning.reading.tables import ALIASES
from vocap.finetuning.tasks import SPLITS, TASKS, Split, Task
from vocap.finetuning.treebanks import tagged_sentences

_XQUAD = TASKS["xquad"].languages

# folder of XTREME's: names of its archives in `downloads`, in the order in which they are read
ARCHIVES: dict[str, tuple[str, ...]] = {
    "xnli": ("xnli", "xnli-train"),
    "pawsx": ("pawsx",),
    "udpos": ("udpos",),
    "squad": ("squad-train", "squad-dev"),
    "xquad": tuple(f"xquad-{language}" for language in _XQUAD),
    "mlqa": ("mlqa",),
    "tydiqa": ("tydiqa-train", "tydiqa-dev"),
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


def place(task: Task, split: Split, language: str) -> str | None:
    """Where a file lies under an XTREME folder; None where the task has no such file.

    Training files of tagging tasks have a place in every language of the task, for the correlation study.
    """
    if split == "train" and task.kind == "tags" and language in task.languages:
        return f"{task.name}/train-{language}.tsv"
    return next(iter(candidates(task, split, language)), None)


def collection_of(path: str) -> str | None:
    """The collection that a path under the folder belongs to; None for a file that nobody offers."""
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
    missing = set(paths)
    try:
        for path, content in _READERS[collection](archives, missing.__contains__):
            with replacing(folder / path, "wb") as file:
                file.write(content)
            missing.remove(path)
    except (*_DAMAGED, UnicodeDecodeError) as error:
        where = ", ".join(map(str, archives))
        raise VocapError(f"{where}: damaged ({error}); delete it and run again, to fetch it anew") from None
    if missing:
        names = ", ".join(sorted(missing)[:3])
        where = ", ".join(map(str, archives[:3]))
        raise VocapError(f"{where}: no {names} in it ({len(missing)} files lack); bring them to {folder} by hand")


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Names of the files in a zip or tar archive, with what reads them; nothing is unpacked to the disk."""
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


_READERS: dict[str, Callable[[Sequence[Path], Wanted], Files]] = {
    "xnli": _xnli,
    "pawsx": _pawsx,
    "udpos": _udpos,
    "squad": _copies("squad"),
    "xquad": _copies("xquad"),
    "mlqa": _mlqa,
    "tydiqa": _tydiqa,
}
