"""Reads the stages' files into `Results`. Missing files are left out, a malformed one
is an error.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from vocap import __version__
from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.correlation.study import Correlation, StudyPoint, unreached
from vocap.errors import VocapError
from vocap.files.io import read_object, read_tsv
from vocap.finetuning.scores import SELECTION, SUMMARY, read_selection
from vocap.finetuning.tasks import TASKS
from vocap.languages import Language, natural, read_languages
from vocap.report.data import results as plain
from vocap.report.data.comparison import in_thousands
from vocap.report.data.results import Results, look_up
from vocap.report.data.sentences import find_sentences
from vocap.report.page.blocks import counted
from vocap.tables.curve import Point, Sizes, read_points, read_sizes
from vocap.tables.ladder import Ladder, known_characters
from vocap.tables.line_bits import BITS_FILE, PARTS, read_lengths
from vocap.tables.piece_index import NAME, read_index
from vocap.tables.sampling_probabilities import read_weights
from vocap.tokenizers.evaluation import COLUMNS, PARALLEL_COLUMNS
from vocap.tokenizers.settings import KINDS, File, Kind, kind_name

PACKAGES = ("sentencepiece", "tokenizers", "numpy", "vl-convert-python", "snakemake")
FORMS = ("sentencepiece.model", "tokenizer.json", "huggingface")  # of a tokenizer
# tables of a tokenizer by their name in `Tokenizer`: a column that each must have, and
# those that are numbers
TOKENIZER_TABLES = {
    "evaluation": ("evaluation.tsv", "alp", COLUMNS[2:]),
    "parallel": ("parallel.tsv", "tokens", PARALLEL_COLUMNS[1:]),
    "unknown": ("unknown.tsv", "character", ()),
    "round_trips": ("roundtrip.tsv", "share", ("texts", "identical", "share")),
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
    """The results that the configuration names; others in the folder, of earlier
    configurations, are not shown.

    Sections that the settings lack are shown whole: their names are None.
    """

    def __init__(self, settings: Mapping[str, Any], known: Collection[str]) -> None:
        self.named: dict[str, list[str] | None] = {}
        self.left: dict[str, set[str]] = {kind: set() for kind in SECTIONS}
        for kind, section in SECTIONS.items():
            entries = look_up(settings, *section)
            if entries == "all":
                entries = known
            if isinstance(entries, dict):
                entries = [name for name, entry in entries.items() if entry is not None]
            self.named[kind] = None if entries is None else list(map(str, entries))

    def shows(self, kind: str, name: str) -> bool:
        """Whether the page shows it; names that it does not show are recorded in
        `left`.
        """
        named = self.named[kind]
        shown = named is None or name in named
        if not shown:
            self.left[kind].add(name)
        return shown

    def folders(self, kind: str, paths: Iterable[Path]) -> dict[str, Path]:
        """The folders of these files that are shown, by their names."""
        found = {path.parent.name: path.parent for path in sorted(paths)}
        return {
            name: path
            for name, path in found.items()
            if not name.startswith(".") and self.shows(kind, name)
        }


def load_results(
    folder: Path,
    table: Path | None,
    title: str | None,
    settings: dict[str, Any],
    parallel_text: str = "",
) -> Results:
    """Read all stages' outputs under `folder`; no stage has to be there.

    Without a title it is that of `settings`, or made. Raises VocapError naming file and
    line for a malformed file.
    """
    known = read_languages(table)
    selection = ShownResults(settings, natural(known))
    corpora, curves, weights = read_text_stage(folder, selection)
    allocations = read_allocations(folder, selection)
    tokenizers = read_tokenizers(folder, selection, settings)
    languages = choose_languages(known, selection, {*corpora, *curves}, allocations)
    models = selection.folders("models", folder.glob("pretraining/*/metrics.jsonl"))
    tuned = (path.parent for path in folder.glob(f"finetuning/*/*/{SELECTION}"))
    finetuned = selection.folders("fine-tuned models", tuned)
    correlation, absent = read_study(folder, languages, settings)
    inputs, no_inputs = load_inputs(folder, curves, weights)
    archives = sorted(folder.glob("corpora/starter/archives/*.json"))
    names = [entry.name for entry in tokenizers]
    results = Results(
        title=title or look_up(settings, "report", "title") or _title(len(languages), tokenizers),
        languages=languages,
        corpora=corpora,
        packages=[read_object(path) for path in archives],
        weights=weights,
        curves=curves,
        allocations={
            entry.name: _order(entry, ("shares",), languages, selection) for entry in allocations
        },
        tokenizers={
            entry.name: _order(entry, TOKENIZER_TABLES, languages, selection)
            for entry in tokenizers
        },
        models={name: read_model_results(path) for name, path in models.items()},
        training_bytes=_training_bytes(folder, languages),
        finetuned={name: read_finetuned(path) for name, path in finetuned.items()},
        correlation=correlation,
        unreached=absent,
        settings=settings,
        versions=_versions(),
        left={kind: sorted(names) for kind, names in selection.left.items() if names},
        inputs=inputs,
        no_inputs=no_inputs,
        parallel_text=parallel_text,
        folder=folder.as_posix(),
        sizes=_sizes(folder, names, languages),
    )
    # of the same object: comparisons are kept with it
    results.sentences.extend(find_sentences(folder, results))
    return results


def read_text_stage(
    folder: Path, selection: ShownResults
) -> tuple[dict[str, dict[str, Any]], dict[str, list[Point]], dict[str, dict[str, str]]]:
    """By language, the counts of its text, its curve, and its row of weights.tsv."""
    stats = selection.folders("languages", folder.glob("corpora/*/stats.json"))
    paths = selection.folders("languages", folder.glob("vocabularies/*/curve.tsv"))
    weights = folder / "corpora" / "weights.tsv"
    rows = read_tsv(weights, ("language", "n")) if weights.exists() else ()
    return (
        {code: read_object(path / "stats.json") for code, path in stats.items()},
        {code: read_points(path / "curve.tsv") for code, path in paths.items()},
        {row["language"]: row for row in rows if selection.shows("languages", row["language"])},
    )


def read_allocations(folder: Path, selection: ShownResults) -> list[plain.AllocationResults]:
    """The allocations that are shown."""
    paths = selection.folders("allocations", folder.glob("allocation/*/allocation.tsv"))
    return [read_allocation_results(path, selection) for path in paths.values()]


def read_tokenizers(
    folder: Path, selection: ShownResults, settings: dict[str, Any]
) -> list[plain.Tokenizer]:
    """The tokenizers that are shown, each of the kind that `settings` give it."""
    files = [*folder.glob("tokenizers/*/*.tsv"), *folder.glob("tokenizers/*/description.json")]
    return [
        read_tokenizer(path, look_up(settings, "tokenizers", name, "kind"))
        for name, path in selection.folders("tokenizers", files).items()
    ]


def choose_languages(
    known: Mapping[str, Language],
    selection: ShownResults,
    read: set[str],
    allocations: Sequence[plain.AllocationResults],
) -> dict[str, Language]:
    """The languages of the run by name, the order of all rows: the configured ones,
    else those with text or a curve (`read`) or a size.
    """
    codes: Iterable[str] | None = selection.named["languages"]
    if codes is None:
        codes = read.union(*(entry.sizes for entry in allocations))
    found = [known.get(code) or plain.unknown_language(code) for code in codes]
    found.sort(key=lambda one: (one.name.casefold(), one.code))
    return {one.code: one for one in found}


def read_study(
    folder: Path, languages: Collection[str], settings: dict[str, Any]
) -> tuple[list[StudyPoint], dict[str, list[int]]]:
    """The points of the correlation study, and the sizes that a language's text does
    not reach.
    """
    points = read_studied(folder / "correlation" / "points.tsv")
    sizes = look_up(settings, "correlation", "sizes")
    study = Correlation(sizes=sizes) if sizes else Correlation()
    absent = unreached(folder / "vocabularies", languages, study.sizes)
    return [point for point in points if point.language in languages], absent


def _order(entry: Any, tables: Iterable[str], codes: Iterable[str], selection: ShownResults) -> Any:
    """`entry` with the rows of languages that are shown in these tables, in the order
    of `codes`.
    """
    rank = {code: place for place, code in enumerate(codes)}
    shown = {}
    for name in tables:
        rows = [
            row for row in getattr(entry, name) if selection.shows("languages", row["language"])
        ]
        shown[name] = sorted(rows, key=lambda row: rank.get(row["language"], len(rank)))
    return replace(entry, **shown)


def _title(languages: int, tokenizers: list[plain.Tokenizer]) -> str:
    """The default heading: the number of languages, and T of the tokenizers."""
    of = counted(languages, "language")
    own = {one.total for one in tokenizers if one.total is not None and one.kind_class.merged}
    sizes = " and ".join(in_thousands(total) for total in sorted(own))
    if len(own) > 2:
        sizes = f"up to {in_thousands(max(own))}"
    return f"VoCap: tokenizers of {sizes} ids for {of}" if sizes else f"VoCap: {of}"


def _versions() -> dict[str, str]:
    """Versions of the packages that are installed here."""
    versions = {"vocap": __version__}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _sizes(folder: Path, names: Sequence[str], shown: Mapping[str, object]) -> dict[str, Sizes]:
    """The tables in the folders of these tokenizers, of the languages `shown`. One T
    alone, of text that reaches no more, is no curve.
    """
    found = {}
    for name in names:
        path = folder / "tokenizers" / name / "sizes.tsv"
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


def read_rows(
    path: Path, required: Sequence[str], numbers: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The rows of a table, cells of the columns `numbers` as numbers; None
    where one is empty.

    Raises VocapError, naming file and line, for a column that is not there and for
    another text.
    """
    rows: list[dict[str, Any]] = list(read_tsv(path, required))
    for line, row in enumerate(rows, start=2):
        for column in numbers:
            cell = row.get(column, "")
            try:
                row[column] = None if cell in ("", "-") else orjson.loads(cell)
            except ValueError:
                raise VocapError(
                    f"{path}, line {line}: {column} is {cell!r}, not a number; run its stage again"
                ) from None
    return rows


def read_allocation_results(folder: Path, selection: ShownResults) -> plain.AllocationResults:
    """One allocation; of a rule that makes models, the model of each language is the
    one point of its curve.
    """
    rows, summary, vocabulary = (
        folder / name for name in ("allocation.tsv", "summary.json", "vocabulary.tsv")
    )
    own = selection.folders("languages", folder.glob("vocabularies/*/curve.tsv"))
    points = {code: read_points(path / "curve.tsv") for code, path in own.items()}
    return plain.AllocationResults(
        folder.name,
        read_rows(rows, ("language", "size"), SHARES) if rows.exists() else [],
        read_object(summary) if summary.exists() else {},
        vocabulary.read_bytes().count(b"\n") - 1 if vocabulary.exists() else None,
        {code: found[-1] for code, found in points.items() if found and found[-1].ok},
    )


def read_tokenizer(folder: Path, configured: str | None) -> plain.Tokenizer:
    """One tokenizer with its tables; `configured` is its kind by the configuration, if
    that names it.
    """
    there = {path.name for path in folder.iterdir()}
    description = read_object(folder / "description.json") if "description.json" in there else {}
    tables = {
        name: read_rows(folder / file, ("language", column), numbers) if file in there else []
        for name, (file, column, numbers) in TOKENIZER_TABLES.items()
    }
    listed = description.get("dead") and "pieces.tsv" in there
    pieces = read_rows(folder / "pieces.tsv", ("piece", "status")) if listed else []
    dead = [row for row in pieces if row["status"] == "dead"][:DEAD_SHOWN]
    made = there & set(Kind.results)
    kind = description.get("kind") or configured or ("unknown" if made else kind_name(File))
    expected = {"evaluation.tsv", *KINDS.get(kind, Kind).results}
    return plain.Tokenizer(
        folder.name,
        description,
        **tables,
        statuses=dict(sorted(Counter(row["status"] for row in pieces).items())),
        dead=dead,
        missing=tuple(sorted(expected - there)),
        kind=kind,
        forms=tuple(name for name in FORMS if name in there),
        bits={part: read_lengths(folder / BITS_FILE, part) for part in PARTS}
        if BITS_FILE in there
        else {},
    )


def read_model_results(folder: Path) -> plain.ModelResults:
    """One pre-trained model. Raises VocapError, naming file and line, for metrics that
    cannot be read.
    """
    description, path = folder / "description.json", folder / "metrics.jsonl"
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            rows.append(json.loads(line))
            _ = [rows[-1][name] for name in ("step", "exact_loss", "bits_per_byte")]
        except (ValueError, KeyError, TypeError):
            raise VocapError(
                f"{path}, line {number}: no line of metrics; delete the file and run its stage "
                "again"
            ) from None
    lines = folder / "code-length.npz"
    bits = {part: read_lengths(lines, part) for part in PARTS} if lines.exists() else {}
    return plain.ModelResults(
        folder.name, read_object(description) if description.exists() else {}, rows, bits
    )


def read_studied(path: Path) -> list[StudyPoint]:
    """The points of the correlation study; none where there is no such file."""
    numbers = ("size", "alp", "f1", "seeds", "steps")
    rows = read_rows(path, StudyPoint._fields, numbers) if path.exists() else []
    return [StudyPoint(**row) for row in rows]


def read_finetuned(folder: Path) -> plain.Finetuned:
    """One fine-tuned model. Raises VocapError for files that `vocap score` or
    `vocap average` did not write.
    """
    tasks = {
        task: _task_scores(folder / task) for task in TASKS if (folder / task / SELECTION).exists()
    }
    path = folder / "average.json"
    if not path.exists():
        missing = tuple(task for task in TASKS if task not in tasks or not tasks[task].overall)
        return plain.Finetuned(folder.name, tasks, missing=missing)
    said = read_object(path)
    try:
        return plain.Finetuned(
            folder.name, tasks, said["average"], said["std"], tuple(said["missing"])
        )
    except (KeyError, TypeError):
        raise VocapError(
            f"{path}: not a file of vocap average; delete it and run its stage again"
        ) from None


def _task_scores(folder: Path) -> plain.TaskScores:
    numbers = ("mean", "std", "seeds")
    measured: dict[str, dict[str, dict[str, Any]]] = {}
    for row in read_rows(folder / SUMMARY, ("language", "metric", *numbers), numbers):
        measured.setdefault(row["language"], {})[row["metric"]] = row
    return plain.TaskScores(read_selection(folder), measured)


def load_inputs(
    folder: Path, curves: Mapping[str, Sequence[Point]], shown: Collection[str]
) -> tuple[Inputs, str]:
    """The languages that `vocap allocate` would take, of those `shown`, and the reason
    where there are none.

    `folder` holds the results of the stages. An index of pieces that is missing, or of
    other sizes than the curve, is not made here: a report only reads. Raises VocapError
    for damaged files.
    """
    weights = folder / "corpora" / "weights.tsv"
    if not weights.exists() or not any(folder.glob(f"vocabularies/*/{NAME}")):
        return Inputs(
            []
        ), f"There is no weights.tsv, or no {NAME}, the index of a language’s pieces."
    languages = []
    for code, n in sorted(read_weights(weights).items()):
        points = [point for point in curves.get(code, ()) if point.ok]
        if n == 0 or not points or code not in shown:
            continue
        path = folder / "vocabularies" / code / NAME
        if not path.exists():
            return Inputs([]), f"There is no {code}/{NAME}, the index of a language’s pieces."
        index = read_index(path)
        if index.sizes.tolist() != [point.size for point in points]:
            return Inputs([]), f"{code}/{NAME} has other sizes than the curve beside it."
        ladder = Ladder(points, index, known_characters(path.parent))
        languages.append(LanguageInput(code, n, index, ladder.alp, ladder.characters))
    return Inputs(languages), "" if languages else "No language has a weight and a curve."
