"""Reads the stages' files into `Results`. Missing files are left out, a malformed one is an error."""

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vocap import __version__
from vocap.allocation.inputs import Inputs, LanguageInput
from vocap.correlation.points import holes, read_sizes
from vocap.correlation.points import read_points as read_measured
from vocap.errors import UsageError
from vocap.files.json_object import read_object
from vocap.files.tsv import read_tsv
from vocap.languages import natural, read_languages
from vocap.report.data import find
from vocap.report.data.comparisons import APART, in_thousands
from vocap.report.data.models import load_ceilings, load_finetuned, load_models, training_bytes
from vocap.report.data.results import Language, Results, Tokenizer
from vocap.report.data.sentences import find_sentences
from vocap.report.data.sizes import load_sizes
from vocap.report.data.stage_files import load_diffs, read_allocation, read_rows, read_tokenizer
from vocap.report.page.blocks import counted
from vocap.tables.character_table import read_characters
from vocap.tables.curve import Point, read_points
from vocap.tables.piece_index import NAME, read_index
from vocap.tables.sampling_probabilities import read_weights

logger = logging.getLogger(__name__)

TOKENIZER_TABLES = ("evaluation", "parity", "parallel", "unknown")  # of a Tokenizer, with a row a language or more
Row = TypeVar("Row")
PACKAGES = ("sentencepiece", "tokenizers", "numpy", "altair", "vl-convert-python", "snakemake")


class Selection:
    """The results that the configuration names; others in the folder, of earlier configurations, are not shown.

    Sections that the settings lack are shown whole. `languages`: the configured codes; None without any.
    """

    def __init__(self, settings: Mapping[str, Any], known: Collection[str]):
        asked = settings.get("languages")
        self.languages: list[str] | None = None
        if asked == "all":
            self.languages = list(known)
        elif isinstance(asked, list):
            self.languages = [str(code) for code in asked]
        self._settings = settings
        self._named = {
            "allocations": _names(settings, "allocation"),
            "tokenizers": _names(settings, "tokenizers"),
            "languages": self.languages,
            "models": _names(settings, "pretraining", "models"),
            "fine-tuned models": _names(settings, "finetuning", "models"),
        }
        self._left: dict[str, set[str]] = {kind: set() for kind in self._named}

    def shows(self, kind: str, name: str) -> bool:
        """Whether the page shows it; names that it does not show are recorded."""
        named = self._named[kind]
        if named is None or name in named:
            return True
        self._left[kind].add(name)
        return False

    @property
    def left(self) -> dict[str, list[str]]:
        """By kind, the names of results that are not shown."""
        return {kind: sorted(names) for kind, names in self._left.items() if names}

    def kind_of(self, tokenizer: str) -> str | None:
        """The kind that the settings give a tokenizer, None where they do not name it."""
        return find(self._settings, "tokenizers", tokenizer, "kind")


def _names(settings: Mapping[str, Any], *section: str) -> list[str] | None:
    """The names of a section of named entries; None where the configuration has no such section."""
    entries = find(settings, *section)
    return (
        [str(name) for name, entry in entries.items() if entry is not None] if isinstance(entries, dict) else None
    )


def load_results(folder: Path, table: Path | None, title: str | None, settings: dict[str, Any]) -> Results:
    """Read all stages' outputs under `folder`; no stage has to be there. Without a title one is made of them.

    Raises UsageError where `folder` is no directory, VocapError naming file and line for a malformed file.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; --results names the folder that the stages wrote to")
    known = read_languages(table)
    selection = Selection(settings, natural(known))
    corpora = {
        path.parent.name: read_object(path)
        for path in sorted(folder.glob("corpora/*/stats.json"))
        if selection.shows("languages", path.parent.name)
    }
    curves = _curves(folder, selection)
    folders = _folders(folder / "allocation", "allocation.tsv", "summary.json")
    allocations = [read_allocation(path) for path in folders if selection.shows("allocations", path.name)]
    folders = [
        path
        for path in _folders(folder / "tokenizers", "*.tsv", "*.json")
        if selection.shows("tokenizers", path.name)
    ]
    tokenizers = [read_tokenizer(path, selection.kind_of(path.name)) for path in folders]
    weights = _weights(folder / "corpora" / "weights.tsv", selection)
    codes = selection.languages
    if codes is None:
        shares = (share for entry in allocations for share in entry.shares)
        found = {*corpora, *curves, *(share.language for share in shares)}
        codes = [*(code for code in known if code in found), *sorted(found - set(known))]
    languages = {code: _language(code, known) for code in codes}
    languages = dict(sorted(languages.items(), key=lambda item: (item[1].name.casefold(), item[0])))
    rank = {code: place for place, code in enumerate(languages)}

    def ordered(rows: list[Row], code: Callable[[Row], str] = itemgetter("language")) -> list[Row]:
        """The rows of languages that are shown, in the order of the run's languages."""
        shown = [row for row in rows if selection.shows("languages", code(row))]
        return sorted(shown, key=lambda row: rank.get(code(row), len(rank)))

    inputs, no_inputs = load_inputs(folder, curves, weights)
    pretraining, finetuning = folder / "pretraining", folder / "finetuning"
    correlation, sizes = (folder / "correlation" / name for name in ("points.tsv", "sizes.tsv"))
    points = read_measured(correlation) if correlation.exists() else []
    found = Results(
        title=title or _title(len(languages), tokenizers),
        languages=languages,
        corpora=corpora,
        packages=[read_object(path) for path in sorted(folder.glob("corpora/starter/archives/*.json"))],
        shared_lines=_shared_lines(folder / "corpora" / "starter" / "text" / "report.json"),
        weights=weights,
        curves=curves,
        allocations={
            entry.name: replace(
                entry,
                shares=ordered(entry.shares, attrgetter("language")),
                models={code: model for code, model in entry.models.items() if selection.shows("languages", code)},
            )
            for entry in allocations
        },
        tokenizers={
            entry.name: replace(entry, **{part: ordered(getattr(entry, part)) for part in TOKENIZER_TABLES})
            for entry in tokenizers
        },
        models=load_models(pretraining, partial(selection.shows, "models")),
        training_bytes={code: size for code, size in training_bytes(pretraining).items() if code in languages},
        finetuned=load_finetuned(finetuning, partial(selection.shows, "fine-tuned models")),
        ceilings=load_ceilings(
            finetuning,
            lambda kind, name: selection.shows(kind if kind == "tokenizers" else "fine-tuned models", name),
        ),
        correlation=[point for point in points if point.language in languages],
        unreached=holes(read_sizes(sizes)) if sizes.exists() else {},
        diffs=load_diffs(folder / "tokenizers" / "diff", {entry.name for entry in tokenizers}, languages),
        settings=settings,
        versions=_versions(),
        left=selection.left,
        inputs=inputs,
        no_inputs=no_inputs,
        folder=folder.as_posix(),
        sizes=load_sizes(folder, [entry.name for entry in tokenizers], languages),
    )
    return replace(found, sentences=find_sentences(folder, found))


def _shared_lines(path: Path) -> dict[str, dict[str, Any]]:
    """By language the lines of the starter corpus's parallel text, from its report; empty without one."""
    languages = find(read_object(path), "languages") if path.exists() else None
    found = {code: find(languages, code, "parallel") for code in languages} if isinstance(languages, dict) else {}
    return {code: counts for code, counts in found.items() if isinstance(counts, dict)}


def load_settings(path: Path | None, text: str | None) -> dict[str, Any]:
    """The merged configuration from a JSON or YAML file, or from JSON text; empty where neither is given."""
    if text is not None:
        try:
            settings = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"--settings-json: not JSON ({error}); give the merged configuration as one object"
            ) from None
        where = "--settings-json"
    elif path is not None:
        from vocap.files.yaml_file import read_yaml

        where = str(path)
        settings = read_yaml(path)
    else:
        return {}
    if not isinstance(settings, dict):
        raise UsageError(f"{where}: a {type(settings).__name__}, not a configuration; give keys and values")
    return settings


def load_benchmarks(folder: Path) -> dict[str, float]:
    """Seconds of all jobs by stage, from Snakemake's benchmark files `{folder}/{stage}/**.tsv`."""
    seconds: dict[str, float] = {}
    for path in sorted(folder.glob("*/**/*.tsv")):
        stage = path.relative_to(folder).parts[0]
        for value in read_rows(path, ("s",), lambda cell: cell("s", float)):
            seconds[stage] = seconds.get(stage, 0.0) + (value or 0.0)
    return seconds


def _title(languages: int, tokenizers: list[Tokenizer]) -> str:
    """The default heading: the number of languages, and T of the tokenizers."""
    of = counted(languages, "language")
    own = {one.total for one in tokenizers if one.total is not None and one.kind not in APART}
    sizes = " and ".join(in_thousands(total) for total in sorted(own))
    return f"VoCap: tokenizers of {sizes} ids for {of}" if sizes else f"VoCap: {of}"


def _curves(folder: Path, selection: Selection) -> dict[str, list[Point]]:
    """Curves by language; the single points of a run that stopped before its sizes were joined."""
    paths = sorted(folder.glob("vocabularies/*/curve.tsv"))
    curves = {
        path.parent.name: read_points(path) for path in paths if selection.shows("languages", path.parent.name)
    }
    single: dict[str, list[Point]] = {}
    for path in sorted(folder.glob("vocabularies/*/points/*.tsv")):
        code = path.parents[1].name
        if not (path.parents[1] / "curve.tsv").exists() and selection.shows("languages", code):
            single.setdefault(code, []).extend(read_points(path))
    return curves | {code: sorted(points, key=lambda point: point.size) for code, points in single.items()}


def _weights(path: Path, selection: Selection) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    rows = read_tsv(path, ("language", "n"))
    return {row["language"]: row for row in rows if selection.shows("languages", row["language"])}


def _folders(parent: Path, *patterns: str) -> list[Path]:
    if not parent.is_dir():
        return []
    folders = sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [path for path in folders if any(any(path.glob(pattern)) for pattern in patterns)]


def _language(code: str, known: dict) -> Language:
    entry = known.get(code)
    if entry is None:
        return Language(code, code, "", "unknown", None)
    try:
        thousands = float(entry.facts.get("paper_allocated_thousands", ""))
    except ValueError:
        thousands = None
    return Language(code, entry.name, entry.script, entry.resource or "unknown", thousands)


def _versions() -> dict[str, str]:
    versions = {"vocap": __version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            logger.info("report: %s is not installed here; its version is left out", package)
    return versions


def load_inputs(folder: Path, curves: Mapping[str, Sequence[Point]], shown: Collection[str]) -> tuple[Inputs, str]:
    """The languages that `vocap allocate` would take, of those `shown`, and the reason where there are none.

    `folder` holds the results of the stages. An index of pieces that is missing, or of other sizes than the curve,
    is not made here: a report only reads. Raises VocapError for damaged files.
    """
    weights = folder / "corpora" / "weights.tsv"
    if not weights.exists() or not any(folder.glob(f"vocabularies/*/{NAME}")):
        return Inputs([]), f"There is no weights.tsv, or no {NAME}, the index of a language’s pieces."
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
        table = path.with_name("characters.tsv")
        characters = read_characters(table) or None if table.exists() else None
        alp = np.array([point.alp for point in points], np.float64)
        languages.append(LanguageInput(code, n, index, alp, characters))
    return Inputs(languages), "" if languages else "No language has a weight and a curve."
