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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath

from vocap.errors import UsageError, VocapError
from vocap.files.atomic import replacing, scratch_directory
from vocap.finetuning.reading import ALIASES, candidates
from vocap.finetuning.tasks import SPLITS, TASKS, Split, Task

COLUMNS = 10  # of CoNLL-U
FORM, UPOS, HEAD, DEPS = 1, 3, 6, 8
NO_FORM = "_"  # of treebanks without the text, which is sold separately
ZERO_WIDTH_NON_JOINER = "\u200c"

# Of the words of a span that are equally near to the root, the tag that comes first here (conllu_to_conll.py).
_ORDER = "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT"
_ORDERS = {
    "es": "VERB AUX PRON ADP DET",
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CONJ",
    "it": "VERB AUX ADV PRON ADP DET INTJ",
}
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
_TYDIQA = "tydiqa/tydiqa-goldp-v1.1-{part}/tydiqa.goldp.{code}.{part}.json"
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, ValueError, LookupError, TypeError)

Files = dict[str, Callable[[], bytes]]  # path under the folder: its content, made when it is called


def tagged_sentences(lines: Iterable[str], language: str) -> Iterator[list[tuple[str, str]]]:
    """The sentences of a CoNLL-U file as (word, UPOS tag), without those whose words are not distributed.

    Multiword tokens replace their syntactic words, with the tag of the word nearest to the root; spaces
    and zero-width non-joiners within a word are removed. Raises ValueError or KeyError for anything else than
    CoNLL-U.
    """
    stripped = (line.rstrip("\r\n") for line in lines)
    texts = (line for line in stripped if not line.startswith("#"))
    for is_sentence, group in groupby(texts, bool):
        if not is_sentence:
            continue
        rows = [line.split("\t") for line in group]
        if any(len(row) != COLUMNS for row in rows):
            raise ValueError(f"not {COLUMNS} columns in the sentence of {rows[0]}, as CoNLL-U has")
        words = _fused(rows, _ORDERS.get(language, _ORDER).split())
        absent = sum(form == NO_FORM for form, _ in words)
        if not absent or absent < len(words) - 1:
            yield [(form.replace(ZERO_WIDTH_NON_JOINER, "").replace(" ", ""), tag) for form, tag in words]


def _fused(rows: list[list[str]], order: Sequence[str]) -> list[tuple[str, str]]:
    """Form and tag of each written word of one sentence."""
    words = {int(row[0]): row for row in rows if row[0].isdecimal()}
    # heads of a word: of the basic tree, and of the enhanced graph but for its empty nodes
    heads = {}
    for number, row in words.items():
        enhanced = [pair.split(":")[0] for pair in row[DEPS].split("|")]
        heads[number] = {int(row[HEAD]), *(int(head) for head in enhanced if head.isdecimal())}

    def rank(number: int) -> tuple[int, int]:
        """The order in which a word stands for its multiword token: fewest ancestors, then the order of tags."""
        tag = words[number][UPOS]
        return len(_ancestors(number, heads)), order.index(tag) if tag in order else len(order)

    fused = {}
    for row in rows:
        if "-" in row[0]:
            first, last = map(int, row[0].split("-"))
            head = min(range(first, last + 1), key=rank)
            fused[first] = (last, row[FORM].strip(), words[head][UPOS].strip())
    result = []
    number, end = min(words), max(words)
    while number <= end:
        last, form, tag = fused.get(number, (number, words[number][FORM].strip(), words[number][UPOS].strip()))
        result.append((form, tag))
        number = last + 1
    return result


def _ancestors(number: int, heads: dict[int, set[int]]) -> set[int]:
    """The ancestors of a word, the root included."""
    found: set[int] = set()
    waiting = [number]
    while waiting:
        new = heads.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found - {number}


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
    names, read = _COLLECTIONS[collection]
    if len(archives) != len(names):
        raise UsageError(f"{collection}: {len(archives)} archives, not {', '.join(names)}")
    where = ", ".join(map(str, archives))
    with scratch_directory(folder / collection) as scratch:
        try:
            found = read(*(_files(archive, scratch / str(number)) for number, archive in enumerate(archives)))
            if missing := sorted(set(paths) - found.keys()):
                raise VocapError(f"{where}: no {missing[0]} in it; bring it to {folder} by hand")
            for path in paths:
                with replacing(folder / path, "wb") as file:
                    file.write(found[path]())
        except _DAMAGED as error:
            reason = " ".join(str(error).split())
            raise VocapError(f"{where}: damaged ({reason}); delete it and run again, to fetch it anew") from None


def _files(archive: Path, scratch: Path) -> list[Path]:
    """The tables and JSON files of an archive, extracted to `scratch`; a JSON file itself."""
    if archive.suffix == ".json":
        return [archive]

    def wanted(name: str) -> bool:
        return name.endswith((".tsv", ".json", ".conllu")) and "__MACOSX" not in name

    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(scratch, filter(wanted, opened.namelist()))
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(scratch, (member for member in opened if wanted(member.name)), filter="data")
    return sorted(filter(Path.is_file, scratch.rglob("*")), key=lambda path: path.name)


def _rows(files: Collection[Path], name: str, columns: Sequence[int]) -> list[list[str]]:
    """These columns of a table with a header, without white space around their cells."""
    (path,) = (path for path in files if path.name == name)
    lines = path.read_text("utf-8").split("\n")[1:]
    rows = [[cell.strip() for cell in line.strip().split("\t")] for line in lines if line.strip()]
    return [[row[column] for column in columns] for row in rows]


def _table(rows: Iterable[Sequence[str]]) -> bytes:
    """The bytes that Python's csv writes: the form of XTREME's files, which reading takes back to the text."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t").writerows(rows)
    return text.getvalue().encode("utf-8")


def _xnli(tables: Collection[Path], training: Collection[Path]) -> Files:
    found = {}
    for split in ("dev", "test"):
        by_language: dict[str, list[list[str]]] = {}
        for language, *row in _rows(tables, f"xnli.{split}.tsv", (0, 6, 7, 1)):
            by_language.setdefault(language, []).append(row)
        found |= {f"xnli/{split}-{code}.tsv": partial(_table, rows) for code, rows in by_language.items()}

    def learnt() -> bytes:
        rows = _rows(training, "multinli.train.en.tsv", (0, 1, 2))
        return _table([*pair, ALIASES.get(label, label)] for *pair, label in rows)

    return {**found, "xnli/train-en.tsv": learnt}


def _pawsx(files: Collection[Path]) -> Files:
    names = {"train": "train", "dev_2k": "dev", "test_2k": "test"}
    return {
        f"pawsx/{names[path.stem]}-{path.parent.name}.tsv": lambda path=path: _table(
            _rows([path], path.name, (1, 2, 3))
        )
        for path in files
        if path.stem in names
    }


def _udpos(files: Collection[Path]) -> Files:
    """All treebanks of a language, in the order of their names."""
    treebanks: dict[tuple[str, str], list[Path]] = {}
    for path in files:
        language = path.name.split("_")[0]
        part = path.stem.partition("-ud-")[2]  # train, dev, test; of a large treebank train-a-1 and more
        if split := next((split for split in SPLITS if part.startswith(split)), None):
            treebanks.setdefault((split, language), []).append(path)

    def converted(paths: Collection[Path], language: str) -> bytes:
        texts = []
        for path in paths:
            with open(path, encoding="utf-8", newline="\n") as file:
                sentences = tagged_sentences(file, language)
                texts.append("\n".join("".join(f"{word}\t{tag}\n" for word, tag in one) for one in sentences))
        return "\n".join(filter(None, texts)).encode("utf-8")

    return {
        f"udpos/{split}-{language}.tsv": partial(converted, paths, language)
        for (split, language), paths in treebanks.items()
    }


def _copies(folder: str, *archives: Collection[Path]) -> Files:
    """Files that are published as they are, under their own names."""
    return {f"{folder}/{path.name}": path.read_bytes for files in archives for path in files}


def _mlqa(files: Collection[Path]) -> Files:
    """Its files stand under MLQA_V1/dev and MLQA_V1/test."""
    return {
        str(PurePosixPath("mlqa", *path.parts[path.parts.index("MLQA_V1") :])): path.read_bytes for path in files
    }


def _tydiqa(training: Collection[Path], development: Collection[Path]) -> Files:
    """The training file has all languages, and ids that begin with theirs."""
    (path,) = training
    content = json.loads(path.read_bytes())
    by_language: dict[str, list[dict]] = {}
    for document in content["data"]:
        for paragraph in document["paragraphs"]:
            for question in paragraph["qas"]:
                language, *_, number = question["id"].split("-")
                kept = {"answers": question["answers"], "question": question["question"], "id": number}
                entry = {"paragraphs": [{"context": paragraph["context"], "qas": [kept]}]}
                by_language.setdefault(language, []).append(entry)
    found = {}
    for language, entries in by_language.items():
        if code := _TYDIQA_LANGUAGES.get(language):
            data = {"data": entries, "version": content["version"]}
            found[_TYDIQA.format(code=code, part="train")] = lambda data=data: json.dumps(data).encode("utf-8")
    for path in development:
        if code := _TYDIQA_LANGUAGES.get(path.stem.removeprefix("tydiqa-goldp-dev-")):
            found[_TYDIQA.format(code=code, part="dev")] = path.read_bytes
    return found


# folder of XTREME's: names of its archives in `downloads`, and the reader that is given the files of each
_COLLECTIONS: dict[str, tuple[tuple[str, ...], Callable[..., Files]]] = {
    "xnli": (("xnli", "xnli-train"), _xnli),
    "pawsx": (("pawsx",), _pawsx),
    "udpos": (("udpos",), _udpos),
    "squad": (("squad-train", "squad-dev"), partial(_copies, "squad")),
    "xquad": (tuple(f"xquad-{language}" for language in TASKS["xquad"].languages), partial(_copies, "xquad")),
    "mlqa": (("mlqa",), _mlqa),
    "tydiqa": (("tydiqa-train", "tydiqa-dev"), _tydiqa),
}
ARCHIVES = {name: archives for name, (archives, _) in _COLLECTIONS.items()}
