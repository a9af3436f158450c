"""Reading the stages' files; what is absent stays absent, what is malformed is one clear error."""

import json
import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from vocap import __version__
from vocap.correlation.points import Measured
from vocap.correlation.points import read_points as read_measured
from vocap.correlation.sizes import holes, read_sizes
from vocap.errors import UsageError, VocapError
from vocap.languages import read_languages
from vocap.report.diffs import load_diffs
from vocap.report.finetuned import load_ceilings, load_finetuned
from vocap.report.inputs import load_inputs
from vocap.report.models import load_models, training_bytes
from vocap.report.results import Allocation, Language, Pieces, Results, Share, Tokenizer
from vocap.tokenizers.evaluation import COLUMNS
from vocap.tsv import read_tsv
from vocap.vocabularies.curve import Point, read_points

logger = logging.getLogger(__name__)

DEAD_SHOWN = 100  # dead pieces that the page lists; pieces.tsv has them all
PACKAGES = ("sentencepiece", "tokenizers", "numpy", "altair", "vl-convert-python", "snakemake")
MEASURES = COLUMNS[2:]  # the columns of evaluation.tsv that are numbers
KINDS = ("allocations", "tokenizers", "languages", "models", "fine-tuned models")
Row = TypeVar("Row")


def load_results(folder: Path, table: Path | None, title: str, settings: dict[str, Any]) -> Results:
    """Read all stages' outputs under `folder`; no stage has to be there.

    Raises UsageError where `folder` is no directory, VocapError naming file and line for a malformed file.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; --results names the folder that the stages wrote to")
    known = read_languages(table)
    asked = settings.get("languages")
    codes = list(known) if asked == "all" else [str(code) for code in asked] if isinstance(asked, list) else None
    left: dict[str, set[str]] = {kind: set() for kind in KINDS}

    def mine(kind: str, name: str, wanted: Collection[str] | None) -> bool:
        """Whether the configuration names it, which an earlier one may have left; without one, all is shown."""
        if wanted is None or name in wanted:
            return True
        left[kind].add(name)
        return False

    corpora, curves = (
        {path.parent.name: read(path) for path in sorted(paths) if mine("languages", path.parent.name, codes)}
        for paths, read in (
            (folder.glob("corpora/*/stats.json"), _json),
            (folder.glob("vocabularies/*/curve.tsv"), read_points),
        )
    )
    for code, points in _points(folder).items():
        if mine("languages", code, codes):
            curves.setdefault(code, points)
    named = _named(settings, "allocation")
    folders = _folders(folder / "allocation", "allocation.tsv", "summary.json")
    allocations = [_allocation(path) for path in folders if mine("allocations", path.name, named)]
    named = _named(settings, "tokenizers")
    folders = _folders(folder / "tokenizers", "*.tsv", "*.json")
    tokenizers = [
        _tokenizer(path, _configured_kind(settings, path.name))
        for path in folders
        if mine("tokenizers", path.name, named)
    ]
    weights = _weights(folder / "corpora" / "weights.tsv")
    if codes is None:
        found = {*corpora, *curves, *(share.language for entry in allocations for share in entry.shares)}
        codes = [*(code for code in known if code in found), *sorted(found - set(known))]
    else:
        weights = {code: row for code, row in weights.items() if mine("languages", code, codes)}
        allocations = [
            replace(entry, shares=[one for one in entry.shares if mine("languages", one.language, codes)])
            for entry in allocations
        ]
        tokenizers = [
            replace(
                entry,
                **{
                    part: [row for row in getattr(entry, part) if mine("languages", row["language"], codes)]
                    for part in ("evaluation", "parity", "parallel", "unknown")
                },
            )
            for entry in tokenizers
        ]
    languages = {code: _language(code, known) for code in codes}
    inputs, no_inputs = load_inputs(folder, curves, weights)
    wanted = _named(settings.get("pretraining") or {}, "models")
    tuned = _named(settings.get("finetuning") or {}, "models")
    return Results(
        title=title,
        languages=languages,
        outside=sum(code not in languages for code in known),
        corpora=corpora,
        packages=[_json(path) for path in sorted(folder.glob("corpora/starter/archives/*.json"))],
        weights=weights,
        curves=curves,
        allocations={entry.name: entry for entry in allocations},
        tokenizers={entry.name: entry for entry in tokenizers},
        models=load_models(folder / "pretraining", lambda name: mine("models", name, wanted), _json),
        training_bytes={
            code: size for code, size in training_bytes(folder / "pretraining", _json).items() if code in languages
        },
        finetuned=load_finetuned(
            folder / "finetuning", lambda name: mine("fine-tuned models", name, tuned), _json
        ),
        ceilings=load_ceilings(
            folder / "finetuning",
            lambda kind, name: (
                mine("tokenizers", name, named) if kind == "tokenizers" else mine("fine-tuned models", name, tuned)
            ),
        ),
        correlation=[point for point in _correlation(folder) if point.language in languages],
        unreached=_unreached(folder / "correlation" / "sizes.tsv"),
        diffs=load_diffs(folder / "tokenizers" / "diff", {entry.name for entry in tokenizers}, languages, _json),
        settings=settings,
        versions=_versions(),
        left={kind: sorted(names) for kind, names in left.items() if names},
        inputs=inputs,
        no_inputs=no_inputs,
    )


def load_settings(path: Path | None, text: str | None) -> dict[str, Any]:
    """The merged configuration from a JSON or YAML file, or from JSON text; empty where neither is given."""
    if text is not None:
        try:
            settings = json.loads(text)
        except json.JSONDecodeError as error:
            raise UsageError(
                f"--settings-json: not JSON ({error}); give the merged configuration as one object"
            ) from None
        where = "--settings-json"
    elif path is not None:
        import yaml

        where = str(path)
        try:
            settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
        except yaml.YAMLError as error:
            raise UsageError(f"{path}: neither JSON nor YAML: {' '.join(str(error).split())}") from None
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
        for value in _rows(path, ("s",), lambda cell: cell("s", float)):
            seconds[stage] = seconds.get(stage, 0.0) + (value or 0.0)
    return seconds


class _Cells:
    """Typed cells of one row, whose errors name the file and the line."""

    def __init__(self, path: Path, line: int, row: dict[str, str]) -> None:
        self.path, self.line, self.row = path, line, row

    def __call__(self, column: str, kind: Callable[[str], Any] = str) -> Any:
        text = self.row.get(column, "")
        if kind is str:
            return text
        if text in ("", "-"):
            return None
        try:
            value = kind(text)
            if value != value or value in (float("inf"), float("-inf")):
                raise ValueError
        except ValueError:
            raise VocapError(
                f"{self.path}, line {self.line}: {column} is {text!r}, not a number; "
                "delete the file and run its stage again"
            ) from None
        return value


def _rows(path: Path, required: Sequence[str], build: Callable[[_Cells], Row]) -> list[Row]:
    return [build(_Cells(path, line, row)) for line, row in enumerate(read_tsv(path, required), start=2)]


def _whole(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else int(float(text))


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise VocapError(
            f"{path}: not UTF-8 ({error.reason} at byte {error.start}); run its stage again"
        ) from None
    except json.JSONDecodeError as error:
        raise VocapError(f"{path}, line {error.lineno}: not JSON ({error.msg}); run its stage again") from None
    if not isinstance(value, dict):
        raise VocapError(f"{path}: a {type(value).__name__}, not an object; run its stage again")
    return value


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


def _points(folder: Path) -> dict[str, list[Point]]:
    """Curves of a run that stopped before its sizes were joined: the single points."""
    curves: dict[str, list[Point]] = {}
    for path in sorted(folder.glob("vocabularies/*/points/*.tsv")):
        if not (path.parents[1] / "curve.tsv").exists():
            curves.setdefault(path.parents[1].name, []).extend(read_points(path))
    return {code: sorted(points, key=lambda point: point.size) for code, points in curves.items()}


def _correlation(folder: Path) -> list[Measured]:
    path = folder / "correlation" / "points.tsv"
    return read_measured(path) if path.exists() else []


def _unreached(path: Path) -> dict[str, list[int]]:
    return holes(read_sizes(path)) if path.exists() else {}


def _weights(path: Path) -> dict[str, dict[str, str]]:
    return {row["language"]: row for row in read_tsv(path, ("language", "n"))} if path.exists() else {}


def _allocation(folder: Path) -> Allocation:
    def share(cell: _Cells) -> Share:
        return Share(
            cell("language"),
            cell("n", float),
            cell("q", float),
            cell("weight", float),
            cell("size", _whole),
            cell("gain", float),
            cell("own_pieces", _whole),
        )

    rows, summary, vocabulary = (folder / name for name in ("allocation.tsv", "summary.json", "vocabulary.tsv"))
    return Allocation(
        folder.name,
        _rows(rows, ("language", "size"), share) if rows.exists() else [],
        _json(summary) if summary.exists() else {},
        sum(1 for _ in read_tsv(vocabulary, ("piece",))) if vocabulary.exists() else None,
    )


def _named(settings: dict[str, Any], section: str) -> list[str] | None:
    """The names of a section of named entries; None where the configuration has no such section."""
    entries = settings.get(section)
    return (
        [str(name) for name, entry in entries.items() if entry is not None] if isinstance(entries, dict) else None
    )


def _configured_kind(settings: dict[str, Any], name: str) -> str | None:
    section = settings.get("tokenizers")
    entry = section.get(name) if isinstance(section, dict) else None
    return entry.get("kind") if isinstance(entry, dict) else None


def _tokenizer(folder: Path, configured: str | None) -> Tokenizer:
    names = ("description.json", "evaluation.tsv", "parity.tsv", "pieces.tsv", "parallel.tsv", "unknown.tsv")
    files = {name: folder / name for name in names if (folder / name).exists()}
    description = _json(files["description.json"]) if "description.json" in files else {}
    # a tokenizer from elsewhere is evaluated, and nothing else
    kind = (
        description.get("kind") or configured or ("file" if set(files) <= {*names[1:2], *names[4:]} else "unknown")
    )
    expected = names[1:2] if kind == "file" else names[:4]
    return Tokenizer(
        folder.name,
        description,
        _rows(files["evaluation.tsv"], ("language", "alp"), _measures) if "evaluation.tsv" in files else [],
        _rows(files["parity.tsv"], ("language", "share"), _parity) if "parity.tsv" in files else [],
        _rows(files["parallel.tsv"], ("language", "tokens"), _parallel) if "parallel.tsv" in files else [],
        list(read_tsv(files["unknown.tsv"], ("language", "character"))) if "unknown.tsv" in files else [],
        _pieces(files["pieces.tsv"]) if "pieces.tsv" in files else None,
        tuple(name for name in expected if name not in files),
        str(kind),
    )


def _measures(cell: _Cells) -> dict[str, Any]:
    row: dict[str, Any] = {name: text for name, text in cell.row.items() if name not in MEASURES}
    return row | {name: cell(name, _whole if name == "lines" else float) for name in MEASURES}


def _parity(cell: _Cells) -> dict[str, Any]:
    return (
        dict(cell.row)
        | {name: cell(name, _whole) for name in ("lines", "identical")}
        | {"share": cell("share", float)}
    )


def _parallel(cell: _Cells) -> dict[str, Any]:
    return {
        "language": cell("language"),
        "lines": cell("lines", _whole),
        "tokens": cell("tokens", _whole),
        "ratio_to_english": cell("ratio_to_english", float),
    }


def _pieces(path: Path) -> Pieces:
    counts: Counter[str] = Counter()
    dead = []
    for row in read_tsv(path, ("piece", "status")):
        counts[row["status"]] += 1
        if row["status"] == "dead" and len(dead) < DEAD_SHOWN:
            dead.append(row)
    return Pieces(dict(sorted(counts.items())), dead)


def _versions() -> dict[str, str]:
    versions = {"vocap": __version__}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            logger.info("report: %s is not installed here; its version is left out", package)
    return versions
