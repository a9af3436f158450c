"""XTREME's files from the archives that the data sets' authors publish, as XTREME's
script would leave them.

Unlike that script this keeps the labels of test files. A collection is a folder of
XTREME's; `downloads` of the configuration has its archives. PAN-X is none: XTREME's
script asks for an archive that is fetched by hand.
"""

import csv
import io
import json
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

from vocap.errors import UsageError, VocapError
from vocap.files.io import replacing, scratch_directory
from vocap.finetuning.examples import ALIASES
from vocap.finetuning.tasks import TASKS
from vocap.languages import read_languages

COLUMNS = 10  # of CoNLL-U
FORM, UPOS, HEAD, DEPS = 1, 3, 6, 8
NO_FORM = "_"  # of treebanks without the text, which is sold separately
ZERO_WIDTH_NON_JOINER = "\u200c"

# Of the words of a span that are equally near to the root, the tag that comes first
# here (conllu_to_conll.py).
_ORDER = "VERB NOUN PROPN PRON ADJ NUM ADV INTJ AUX ADP DET PART CCONJ SCONJ X PUNCT"
_ORDERS = {
    "es": "VERB AUX PRON ADP DET",
    "fr": "VERB AUX PRON NOUN ADJ ADV ADP DET PART SCONJ CONJ",
    "it": "VERB AUX ADV PRON ADP DET INTJ",
}
_UNREADABLE = (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError)
_DAMAGED = (*_UNREADABLE, ValueError, LookupError, TypeError)

# folder of XTREME's: names of its archives in `downloads`
ARCHIVES = {
    "xnli": ("xnli", "xnli-train"),
    "pawsx": ("pawsx",),
    "udpos": ("udpos",),
    "squad": ("squad-train", "squad-dev"),
    "xquad": tuple(f"xquad-{language}" for language in TASKS["xquad"].languages),
    "mlqa": ("mlqa",),
    "tydiqa": ("tydiqa-train", "tydiqa-dev"),
}


def tagged_sentences(lines: Iterable[str], language: str) -> Iterator[list[tuple[str, str]]]:
    """The sentences of a CoNLL-U file as (word, UPOS tag), without those whose words
    are not distributed.

    Multiword tokens replace their syntactic words, with the tag of the word nearest to
    the root; spaces and zero-width non-joiners within a word are removed. Raises
    ValueError or KeyError for anything else than CoNLL-U.
    """
    stripped = (line.rstrip("\r\n") for line in lines)
    order = _ORDERS.get(language, _ORDER).split()
    for is_sentence, group in groupby(
        (line for line in stripped if not line.startswith("#")), bool
    ):
        if not is_sentence:
            continue
        rows = [line.split("\t") for line in group]
        if any(len(row) != COLUMNS for row in rows):
            raise ValueError(f"not {COLUMNS} columns in the sentence of {rows[0]}, as CoNLL-U has")
        words = list(_written_words(rows, order))
        absent = sum(form == NO_FORM for form, _ in words)
        if not absent or absent < len(words) - 1:
            yield [
                (form.replace(ZERO_WIDTH_NON_JOINER, "").replace(" ", ""), tag)
                for form, tag in words
            ]


def _written_words(rows: list[list[str]], order: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Form and tag of each written word of one sentence."""
    words = {int(row[0]): row for row in rows if row[0].isdecimal()}
    # heads of a word: of the basic tree, and of the enhanced graph but for its empty
    # nodes
    heads = {}
    for number, row in words.items():
        enhanced = [pair.split(":")[0] for pair in row[DEPS].split("|")]
        heads[number] = {int(row[HEAD]), *(int(head) for head in enhanced if head.isdecimal())}

    def rank(number: int) -> tuple[int, int]:
        """The order in which a word stands for its multiword token: fewest ancestors,
        then the order of tags.
        """
        ancestors: set[int] = set()
        waiting = [number]
        while waiting:
            new = heads.get(waiting.pop(), set()) - ancestors
            ancestors |= new
            waiting += new
        tag = words[number][UPOS]
        return len(ancestors - {number}), order.index(tag) if tag in order else len(order)

    end = 0  # of the last multiword token, whose line comes before its words'
    for row in rows:
        first, _, last = row[0].partition("-")
        if "." in first or int(first) <= end:
            continue
        end = int(last or 0)
        head = min(range(int(first), end + 1), key=rank) if last else int(first)
        yield row[FORM].strip(), words[head][UPOS].strip()


def collection_of(path: str) -> str | None:
    """The collection that a path under the folder belongs to; None for an unpublished
    file.
    """
    folder = PurePosixPath(path).parts[0]
    return folder if folder in ARCHIVES else None


def unpack(collection: str, archives: Sequence[Path], folder: Path, paths: Collection[str]) -> None:
    """Write these files of a collection, `paths` under `folder`; `archives` are in the
    order of ARCHIVES.

    Raises UsageError for a collection that is none, VocapError for an archive that is
    damaged, holds something else, or would write outside of its folder. Files that are
    not named are neither written nor touched.
    """
    if collection not in ARCHIVES:
        raise UsageError(f"no collection {collection!r}; there are {', '.join(ARCHIVES)}")
    where = ", ".join(map(str, archives))
    with scratch_directory(folder / collection) as scratch:
        try:
            for number, archive in enumerate(archives):
                inside = scratch / str(number)
                inside.mkdir()
                if archive.suffix == ".json":
                    shutil.copy(archive, inside)
                elif archive.suffix == ".zip":  # whose members stay inside
                    shutil.unpack_archive(archive, inside)
                else:
                    shutil.unpack_archive(archive, inside, filter=_within)
            contents = {path: _content(path, scratch) for path in paths}
        except _DAMAGED as error:
            reason = " ".join(str(error).split())
            raise VocapError(
                f"{where}: damaged ({reason}); delete it and run again, to fetch it anew"
            ) from None
    if missing := sorted(path for path, content in contents.items() if not content):
        raise VocapError(f"{where}: no {missing[0]} in it; bring it to {folder} by hand")
    for path, content in contents.items():
        with replacing(folder / path, "wb") as file:
            file.write(content)


def _within(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """A member of a tar archive as it may be extracted: a file or folder within `folder`.

    Links, by which others would be written elsewhere, are left out. Raises
    tarfile.FilterError for a path that leads outside.
    """
    plain = member.isfile() or member.isdir()
    return tarfile.data_filter(member, folder) if plain else None


def _content(path: str, folder: Path) -> bytes:
    """The content of one of XTREME's files, from extracted archives in `folder`; empty
    where they lack it.
    """
    collection = path.split("/")[0]
    name = PurePosixPath(path).name
    split, _, language = name.removesuffix(".tsv").partition("-")

    def find(pattern: str) -> list[Path]:
        return sorted(folder.rglob(pattern), key=lambda found: found.name)

    def rows(pattern: str, *columns: int) -> list[tuple[str, ...]]:
        """These columns of tables with a header, without white space around their
        cells.
        """
        chosen = itemgetter(*columns)
        lines = [
            line.strip()
            for file in find(pattern)
            for line in file.read_text("utf-8").split("\n")[1:]
        ]
        return [chosen(list(map(str.strip, line.split("\t")))) for line in lines if line]

    if collection == "xnli" and split == "train":
        return _table(
            [*pair, ALIASES.get(label, label)]
            for *pair, label in rows("multinli.train.en.tsv", 0, 1, 2)
        )
    if collection == "xnli":
        return _table(
            row for code, *row in rows(f"xnli.{split}.tsv", 0, 6, 7, 1) if code == language
        )
    if collection == "pawsx":
        return _table(rows(f"{language}/{split}*.tsv", 1, 2, 3))
    if collection == "udpos":
        return _treebanks(find(f"{language}_*-ud-{split}*.conllu"), language)
    if collection == "tydiqa":
        *_, code, part, _ = name.split(".")
        english_name = read_languages()[code].name.lower()
        if part == "train":
            (training,) = find("tydiqa-goldp-v1.1-train.json")
            return _tydiqa(json.loads(training.read_bytes()), english_name)
        name = f"tydiqa-goldp-dev-{english_name}.json"
    return b"".join(file.read_bytes() for file in find(name))  # published as it is


def _table(rows: Iterable[Sequence[str]]) -> bytes:
    """The bytes that Python's csv writes: the form of XTREME's files, which reading
    takes back to the text.
    """
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t").writerows(rows)
    return text.getvalue().encode("utf-8")


def _treebanks(paths: Iterable[Path], language: str) -> bytes:
    """All treebanks of a language, in the order of their names."""
    texts: list[str] = []
    for path in paths:
        with open(path, encoding="utf-8", newline="\n") as file:
            for sentence in tagged_sentences(file, language):
                texts += [*(f"{word}\t{tag}\n" for word, tag in sentence), "\n"]
    return "".join(texts[:-1]).encode("utf-8")


def _tydiqa(content: dict[str, Any], language: str) -> bytes:
    """The questions of one language; the published file has all languages, and ids that
    begin with theirs.
    """
    paragraphs = (one for document in content["data"] for one in document["paragraphs"])
    entries = []
    for paragraph in paragraphs:
        for question in paragraph["qas"]:
            own, *_, number = question["id"].split("-")
            if own == language:
                kept = {
                    "answers": question["answers"],
                    "question": question["question"],
                    "id": number,
                }
                entries.append({"paragraphs": [{"context": paragraph["context"], "qas": [kept]}]})
    found = json.dumps({"data": entries, "version": content["version"]}) if entries else ""
    return found.encode("utf-8")
