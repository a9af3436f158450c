"""Reading the stages' files; what is absent stays absent, what is malformed is one clear error."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import metadata
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from vocap import __version__
from vocap.correlation.points import Measured
from vocap.correlation.points import read_points as read_measured
from vocap.correlation.sizes import holes, read_sizes
from vocap.errors import UsageError
from vocap.json_object import read_object
from vocap.languages import read_languages
from vocap.report.blocks import counted
from vocap.report.comparing import spoken
from vocap.report.diffs import load_diffs
from vocap.report.finetuned import load_ceilings, load_finetuned
from vocap.report.inputs import load_inputs
from vocap.report.models import load_models, training_bytes
from vocap.report.results import Allocation, Language, Results, Tokenizer
from vocap.report.same_size import APART
from vocap.report.selection import Selection
from vocap.report.sentences import find_sentences
from vocap.report.stage_files import read_allocation, read_rows, read_tokenizer
from vocap.tsv import read_tsv
from vocap.vocabularies.curve import Point, read_points

logger = logging.getLogger(__name__)

TOKENIZER_TABLES = ("evaluation", "parity", "parallel", "unknown")  # of a Tokenizer, with a row a language or more
Row = TypeVar("Row")
PACKAGES = ("sentencepiece", "tokenizers", "numpy", "altair", "vl-convert-python", "snakemake")


def load_results(folder: Path, table: Path | None, title: str | None, settings: dict[str, Any]) -> Results:
    """Read all stages' outputs under `folder`; no stage has to be there. Without a title one is made of them.

    Raises UsageError where `folder` is no directory, VocapError naming file and line for a malformed file.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; --results names the folder that the stages wrote to")
    known = read_languages(table)
    selection = Selection(settings, known)
    corpora = {
        path.parent.name: read_object(path)
        for path in sorted(folder.glob("corpora/*/stats.json"))
        if selection.shows("languages", path.parent.name)
    }
    curves = _curves(folder, selection)
    allocations, tokenizers = _allocations(folder, selection), _tokenizers(folder, selection)
    weights = _weights(folder / "corpora" / "weights.tsv", selection)
    codes = selection.languages
    if codes is None:
        shares = (share for entry in allocations for share in entry.shares)
        found = {*corpora, *curves, *(share.language for share in shares)}
        codes = [*(code for code in known if code in found), *sorted(found - set(known))]
    languages = {code: _language(code, known) for code in codes}
    languages = dict(sorted(languages.items(), key=lambda item: (item[1].name.casefold(), item[0])))
    inputs, no_inputs = load_inputs(folder, curves, weights)
    pretraining, finetuning = folder / "pretraining", folder / "finetuning"
    bytes_of = training_bytes(pretraining)
    found = Results(
        title=title or _title(len(languages), tokenizers),
        languages=languages,
        outside=sum(code not in languages for code in known),
        corpora=corpora,
        packages=[read_object(path) for path in sorted(folder.glob("corpora/starter/archives/*.json"))],
        weights=weights,
        curves=curves,
        allocations={
            entry.name: replace(entry, shares=_by_name(entry.shares, languages, lambda share: share.language))
            for entry in allocations
        },
        tokenizers={
            entry.name: replace(
                entry, **{part: _by_name(getattr(entry, part), languages) for part in TOKENIZER_TABLES}
            )
            for entry in tokenizers
        },
        models=load_models(pretraining, partial(selection.shows, "models")),
        training_bytes={code: size for code, size in bytes_of.items() if code in languages},
        finetuned=load_finetuned(finetuning, partial(selection.shows, "fine-tuned models")),
        ceilings=load_ceilings(
            finetuning,
            lambda kind, name: selection.shows(kind if kind == "tokenizers" else "fine-tuned models", name),
        ),
        correlation=[point for point in _correlation(folder) if point.language in languages],
        unreached=_unreached(folder / "correlation" / "sizes.tsv"),
        diffs=load_diffs(folder / "tokenizers" / "diff", {entry.name for entry in tokenizers}, languages),
        settings=settings,
        versions=_versions(),
        left=selection.left,
        inputs=inputs,
        no_inputs=no_inputs,
        folder=folder.as_posix(),
    )
    return replace(found, sentences=find_sentences(folder, found))


def _by_name(
    rows: list[Row], languages: dict[str, Language], code: Callable[[Row], str] = itemgetter("language")
) -> list[Row]:
    """The rows in the order of the run's languages; those of one language as they come."""
    rank = {language: place for place, language in enumerate(languages)}
    return sorted(rows, key=lambda row: rank.get(code(row), len(rank)))


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
        from vocap.yaml_file import read_yaml

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
    """The page's heading where nobody gave one: how many languages, and T of the tokenizers."""
    of = counted(languages, "language")
    own = {one.total for one in tokenizers if one.total is not None and one.kind not in APART}
    sizes = " and ".join(spoken(total) for total in sorted(own))
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


def _allocations(folder: Path, selection: Selection) -> list[Allocation]:
    folders = _folders(folder / "allocation", "allocation.tsv", "summary.json")
    entries = [read_allocation(path) for path in folders if selection.shows("allocations", path.name)]
    return [
        replace(
            entry,
            shares=[one for one in entry.shares if selection.shows("languages", one.language)],
            models={code: model for code, model in entry.models.items() if selection.shows("languages", code)},
        )
        for entry in entries
    ]


def _tokenizers(folder: Path, selection: Selection) -> list[Tokenizer]:
    folders = _folders(folder / "tokenizers", "*.tsv", "*.json")
    entries = [
        read_tokenizer(path, selection.kind_of(path.name))
        for path in folders
        if selection.shows("tokenizers", path.name)
    ]
    return [
        replace(
            entry,
            **{
                part: [row for row in getattr(entry, part) if selection.shows("languages", row["language"])]
                for part in TOKENIZER_TABLES
            },
        )
        for entry in entries
    ]


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
        return Language(code, code, "", "unknown", None, None)
    return Language(
        code,
        entry.name,
        entry.script,
        entry.resource or "unknown",
        _number(entry.facts.get("paper_allocated_thousands")),
        _number(entry.facts.get("paper_cc_gb")),
    )


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _correlation(folder: Path) -> list[Measured]:
    path = folder / "correlation" / "points.tsv"
    return read_measured(path) if path.exists() else []


def _unreached(path: Path) -> dict[str, list[int]]:
    return holes(read_sizes(path)) if path.exists() else {}


def _versions() -> dict[str, str]:
    versions = {"vocap": __version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            logger.info("report: %s is not installed here; its version is left out", package)
    return versions
