"""Reads the stages' files into `Results`. Missing files are left out, a malformed one
is an error.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from importlib import metadata
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas

from vocap import __version__
from vocap.allocation.inputs import LanguageInput
from vocap.correlation.study import Correlation, StudyPoint, unreached
from vocap.files.io import read_object, read_tsv
from vocap.files.written import read_records, read_written, written_by
from vocap.finetuning.scores import SELECTION, SUMMARY, SummaryRow, read_selection
from vocap.finetuning.tasks import TASKS
from vocap.languages import natural, read_languages
from vocap.report.data import results as plain
from vocap.report.data.results import Results, look_up
from vocap.tables.curve import Point, Sizes, read_points, read_sizes
from vocap.tables.frames import build_frame
from vocap.tables.ladder import Ladder, known_characters
from vocap.tables.line_bits import BITS_FILE, LINE_TOKENS, PARTS, read_lengths
from vocap.tables.piece_index import NAME, read_index
from vocap.tokenizers.evaluation import COLUMNS, PARALLEL_COLUMNS
from vocap.tokenizers.settings import KINDS, File, Kind, kind_name

PACKAGES = ("sentencepiece", "tokenizers", "numpy", "vl-convert-python", "snakemake")
FORMS = ("sentencepiece.model", "tokenizer.json", "huggingface")  # of a tokenizer
# tables of a tokenizer by their name in `Tokenizer`: numbers, other columns
TOKENIZER_TABLES: dict[str, tuple[Any, ...]] = {
    "evaluation": ("evaluation.tsv", COLUMNS[2:]),
    "parallel": ("parallel.tsv", PARALLEL_COLUMNS[1:]),
    "round_trips": ("roundtrip.tsv", ("texts", "identical", "share"), ("example",)),
    "unknown": ("unknown.tsv", ("count",), ("character",)),
}
SHARES = ("n", "q", "weight", "size", "gain", "own_pieces")  # numbers of allocation.tsv
DEAD_SHOWN = 100  # dead pieces that the page lists; pieces.tsv has them all
SECTIONS = {  # results by kind, and the section of the configuration that names them
    "allocations": ("allocation",),
    "tokenizers": ("tokenizers",),
    "languages": ("languages",),
    "models": ("pretraining", "models"),
    "fine-tuned models": ("finetuning", "models"),
}


class ShownResults:
    """The results below `folder` that the configuration names; others, of earlier
    configurations, are not shown.

    Sections that the settings lack are shown whole: their names are None.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], known: Collection[str]) -> None:
        self.folder = folder
        self.named: dict[str, list[str] | None] = {}
        self.left: dict[str, set[str]] = {kind: set() for kind in SECTIONS}
        for kind, section in SECTIONS.items():
            entries = look_up(settings, *section)
            if entries == "all":
                entries = known
            if isinstance(entries, dict):
                entries = [name for name, entry in entries.items() if entry is not None]
            self.named[kind] = None if entries is None else list(map(str, entries))

    def folders(self, kind: str, *patterns: str) -> dict[str, Path]:
        """The folders of the files of these patterns that are shown, by their names; names that
        the page does not show are recorded in `left`.
        """
        paths = sorted(path for pattern in patterns for path in self.folder.glob(pattern))
        found = {path.parent.name: path.parent for path in paths}
        named = self.named[kind]
        self.left[kind] |= {name for name in found if named is not None and name not in named}
        return {
            name: path
            for name, path in found.items()
            if not name.startswith(".") and name not in self.left[kind]
        }


def load_results(
    folder: Path,
    table: Path | None,
    settings: dict[str, Any],
    parallel_text: str = "",
) -> Results:
    """Read all stages' outputs under `folder`, but for the example sentences; no stage has to
    be there.

    Raises VocapError, naming the file, for one that its stage did not write.
    """
    known = read_languages(table)
    selection = ShownResults(folder, settings, natural(known))
    shown = selection.folders
    stats = shown("languages", "corpora/*/stats.json")
    ladders = shown("languages", "vocabularies/*/curve.tsv")
    curves = {code: read_points(path / "curve.tsv") for code, path in ladders.items()}
    chosen = {
        name: read_frame(path / "allocation.tsv", "allocate", SHARES)
        for name, path in shown("allocations", "allocation/*/allocation.tsv").items()
    }
    allocated = {code for shares in chosen.values() for code in shares.index}
    # the configured languages, else those with text, a curve or a size
    codes = selection.named["languages"] or {*stats, *curves, *allocated}
    every = [known.get(code) or plain.unknown_language(code) for code in codes]
    every.sort(key=lambda one: (one.name.casefold(), one.code))  # the order of all rows
    languages = {one.code: one for one in every}
    weights = read_frame(folder / "corpora/weights.tsv", "weigh", ["n"], ["source"])
    weights = _in_order(weights, languages).convert_dtypes()
    allocations = {
        name: read_allocation(folder / "allocation" / name, _in_order(shares, languages))
        for name, shares in chosen.items()
    }
    made = shown("tokenizers", "tokenizers/*/*.tsv", "tokenizers/*/description.json")
    models = shown("models", "pretraining/*/metrics.jsonl")
    correlation, absent = read_study(folder, languages, settings)
    n = weights.n[weights.n > 0].to_dict()
    inputs, no_inputs = load_inputs(folder, curves, n)
    archives = sorted(folder.glob("corpora/starter/archives/*.json"))
    return Results(
        languages=languages,
        corpora={code: read_object(path / "stats.json") for code, path in stats.items()},
        packages=[read_object(path) for path in archives],
        weights=weights,
        line_counts=n,
        curves=curves,
        allocations=allocations,
        tokenizers={
            name: read_tokenizer(path, settings, allocations, languages)
            for name, path in made.items()
        },
        models={name: read_model_results(path) for name, path in models.items()},
        training_bytes=_training_bytes(folder, languages),
        finetuned=_read_chosen(shown("fine-tuned models", "finetuning/*/*")),
        correlation=correlation,
        unreached=absent,
        settings=settings,
        versions=_versions(),
        left={kind: sorted(names) for kind, names in selection.left.items() if names},
        inputs=inputs,
        no_inputs=no_inputs,
        parallel_text=parallel_text,
        folder=folder.as_posix(),
        sizes=_sizes(made, languages),
    )


def read_study(
    folder: Path, languages: Collection[str], settings: dict[str, Any]
) -> tuple[list[StudyPoint], dict[str, list[int]]]:
    """The points of the correlation study, and the sizes that a language's text does
    not reach.
    """
    path = folder / "correlation" / "points.tsv"
    points = read_records(path, StudyPoint, "correlate") if path.exists() else []
    sizes = look_up(settings, "correlation", "sizes")
    study = Correlation(sizes=sizes) if sizes else Correlation()
    absent = unreached(folder / "vocabularies", languages, study.sizes)
    return [point for point in points if point.language in languages], absent


def _in_order(table: pandas.DataFrame, languages: Collection[str]) -> pandas.DataFrame:
    """The rows of these languages, in their order."""
    order = pandas.Index(languages)
    shown = table[table.index.isin(order)]
    return shown.sort_index(key=order.get_indexer, kind="stable")


def _versions() -> dict[str, str]:
    """Versions of the packages that are installed here."""
    versions = {"vocap": __version__}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _sizes(folders: Mapping[str, Path], shown: Collection[str]) -> dict[str, Sizes]:
    """The curves over T of these tokenizers, of the languages `shown`. One T
    alone, of text that reaches no more, is no curve.
    """
    found = {}
    for name, folder in folders.items():
        path = folder / "sizes.tsv"
        sizes = read_sizes(path) if path.exists() else {}
        for total, rows in sizes.items():
            sizes[total] = {code: row for code, row in rows.items() if code in shown}
        if len(sizes) > 1 and all(sizes.values()):
            found[name] = sizes
    return found


def _training_bytes(folder: Path, languages: Collection[str]) -> dict[str, int]:
    """Bytes of each language's text that models are trained on, the same for all
    tokenizers.
    """
    described = sorted(folder.glob("pretraining/tokens/*/*/description.json"))
    sizes = {path.parent.name: look_up(read_object(path), "train", "bytes") for path in described}
    return {code: size for code, size in sizes.items() if code in languages and size is not None}


def read_frame(
    path: Path, command: str, numbers: Sequence[str], texts: Sequence[str] = ()
) -> pandas.DataFrame:
    """By language these columns of a table that `vocap COMMAND` wrote, NaN for those that it
    lacks; no row where the file is not there.
    """
    with written_by(command, path):
        rows = list(read_tsv(path)) if path.exists() else []
        table = pandas.DataFrame(rows, columns=["language", *numbers, *texts])
        table[[*numbers]] = table[[*numbers]].apply(pandas.to_numeric).astype(float)
        return table.set_index("language")


def _read_known(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where the file is not there."""
    return read_object(path) if path.exists() else {}


def read_allocation(folder: Path, shares: pandas.DataFrame) -> plain.AllocationResults:
    """One allocation; of a rule that makes models, the model of each language is the
    one point of its curve.
    """
    vocabulary = folder / "vocabulary.tsv"
    curves = folder.glob("vocabularies/*/curve.tsv")
    points = {path.parent.name: read_points(path) for path in curves}
    return plain.AllocationResults(
        folder.name,
        shares.convert_dtypes(),
        _read_known(folder / "summary.json"),
        vocabulary.read_bytes().count(b"\n") - 1 if vocabulary.exists() else None,
        {code: found[-1] for code, found in points.items() if found and found[-1].ok},
    )


def read_tokenizer(
    folder: Path,
    settings: Mapping[str, Any],
    allocations: Mapping[str, plain.AllocationResults],
    languages: Collection[str],
) -> plain.Tokenizer:
    """One tokenizer with its tables. The configuration names the allocation of a VOCAP
    tokenizer; else that has the tokenizer's own name.
    """
    configured = look_up(settings, "tokenizers", folder.name) or {}
    there = {path.name for path in folder.iterdir()}
    description = _read_known(folder / "description.json")
    tables = {
        name: _in_order(read_frame(folder / file, "evaluate", *columns), languages)
        for name, (file, *columns) in TOKENIZER_TABLES.items()
    }
    path = folder / "pieces.tsv"
    with written_by("export", path):
        pieces = list(read_tsv(path)) if description.get("dead") and path.exists() else []
        statuses = Counter(row["status"] for row in pieces)
    dead = [row for row in pieces if row["status"] == "dead"][:DEAD_SHOWN]
    made = there & set(Kind.results)
    unnamed = "unknown" if made else kind_name(File)
    kind = description.get("kind") or configured.get("kind") or unnamed
    expected = {"evaluation.tsv", *KINDS.get(kind, Kind).results}
    chosen = configured.get("allocation")
    chosen = chosen if isinstance(chosen, str) else folder.name
    return plain.Tokenizer(
        folder.name,
        description,
        **tables,
        statuses=dict(sorted(statuses.items())),
        dead=dead,
        missing=tuple(sorted(expected - there)),
        kind=kind,
        allocation=allocations.get(chosen) if KINDS.get(kind, Kind).allocated else None,
        forms=tuple(name for name in FORMS if name in there),
        bits=read_bits(folder / BITS_FILE),
    )


def read_bits(path: Path) -> dict[str, dict[str, Any]]:
    """Bits and tokens of lines by part and language; empty where the file is not there."""
    parts = (*PARTS, LINE_TOKENS) if path.exists() else ()
    return {part: read_lengths(path, part) for part in parts}


def read_model_results(folder: Path) -> plain.ModelResults:
    """One pre-trained model."""
    path = folder / "metrics.jsonl"
    with written_by("pretrain", path):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        _ = [itemgetter("step", "exact_loss", "bits_per_byte")(row) for row in rows]
    told = _read_known(folder / "description.json")
    return plain.ModelResults(folder.name, told, rows, read_bits(folder / "code-length.npz"))


def _read_chosen(folders: Mapping[str, Path]) -> dict[str, plain.Finetuned]:
    """The fine-tuned models with a chosen setting."""
    chosen = {name: path for name, path in folders.items() if any(path.glob(f"*/{SELECTION}"))}
    return {name: read_finetuned(path) for name, path in chosen.items()}


def read_finetuned(folder: Path) -> plain.Finetuned:
    """One fine-tuned model."""
    tuned = [task for task in TASKS if (folder / task / SELECTION).exists()]
    selections = {task: read_selection(folder / task) for task in tuned}
    rows = [
        {"task": task, **row._asdict()}
        for task in tuned
        for row in read_records(folder / task / SUMMARY, SummaryRow, "score")
    ]
    scores = build_frame(plain.SCORES, rows)
    path = folder / "average.json"
    if not path.exists():
        missing = tuple(task for task in TASKS if task not in set(scores.task))
        return plain.Finetuned(folder.name, selections, scores, missing=missing)
    said = read_written(path, "average")
    average = said["average"], said["std"], tuple(said["missing"])
    return plain.Finetuned(folder.name, selections, scores, *average)


def load_inputs(
    folder: Path, curves: Mapping[str, Sequence[Point]], n: Mapping[str, float]
) -> tuple[list[LanguageInput], str]:
    """The languages that `vocap allocate` would take, and the reason where there are none.

    `folder` holds the results of the stages. An index of pieces that is missing, or of
    other sizes than the curve, is not made here: a report only reads.
    """
    languages = []
    for code in sorted(n):
        path = folder / "vocabularies" / code / NAME
        points = [point for point in curves.get(code, ()) if point.ok]
        index = read_index(path) if points and path.exists() else None
        if index and index.sizes.tolist() == [point.size for point in points]:
            ladder = Ladder(points, index, *known_characters(path.parent))
            languages.append(LanguageInput(code, n[code], index, ladder.alp, ladder.characters))
        elif points:
            return [], f"There is no {code}/{NAME}, the index of the pieces of its curve."
    return languages, "" if languages else "No language has a weight and a curve."
