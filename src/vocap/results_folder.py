"""The folder of a run's results: the configuration that it belongs to, and its summary for the terminal."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vocap.config import Settings
from vocap.errors import UsageError, VocapError
from vocap.files.atomic import write_text
from vocap.files.tsv import read_tsv
from vocap.wording import listed

RECORD = "configfiles.txt"  # in the folder of the results: the configuration files of the run, a line each
SHOWN = 12  # tokenizers, and warnings of a kind
PARITY = 0.999  # share of lines with equal ids below which a tokenizer's two forms differ


def check_owner(results: str | os.PathLike, configfiles: Sequence[str | os.PathLike]) -> None:
    """Raise UsageError where the results are those of another configuration that is still there.

    Files given after the recorded ones extend that run, and so do the first of them. A recorded file that is
    gone, as after a move, does not count.
    """
    record = Path(results, RECORD)
    if not record.is_file():
        return
    recorded = record.read_text("utf-8").splitlines()
    given = _names(configfiles)
    shared = min(len(recorded), len(given))
    if recorded[:shared] == given[:shared] or not all(map(os.path.exists, recorded)):
        return
    theirs, ours = " ".join(recorded), " ".join(given)
    raise UsageError(
        f"{results}: holds the run of {theirs}, which a run of {ours} would undo where they differ; give "
        f"{given[-1]} a folder of its own (`results: FOLDER` at its top), or delete {record} to replace that run"
    )


def record_owner(results: str | os.PathLike, configfiles: Sequence[str | os.PathLike]) -> None:
    """Note the configuration of a run that begins; that of a run which `check_owner` lets extend stays."""
    record = Path(results, RECORD)
    recorded = record.read_text("utf-8").splitlines() if record.is_file() else []
    names = _names(configfiles)
    if not recorded or recorded != names[: len(recorded)]:
        write_text(record, "".join(f"{name}\n" for name in names))


def _names(configfiles: Sequence[str | os.PathLike]) -> list[str]:
    """Absolute paths; of files below the working directory, as results are, the paths from there."""
    here = Path.cwd()
    paths = [Path(os.path.abspath(path)) for path in configfiles]
    return [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in paths]


def summarize(settings: Settings) -> list[str]:
    """Lines for the terminal; empty where a run made neither a tokenizer nor the report.

    Only entries of the configuration count. An absent or malformed file is passed over: its job has reported the
    error.
    """
    results = Path(settings.results)
    made = {name: results / "tokenizers" / name for name in settings.tokenizers}
    made = {name: folder for name, folder in made.items() if (folder / "huggingface" / "tokenizer.json").exists()}
    page = results / "report" / "index.html"
    lines = []
    if made:
        width = max(map(len, made))
        lines.append("Tokenizers:")
        for name, folder in list(made.items())[:SHOWN]:
            total = _read(folder / "description.json").get("total")
            ids = f"{total:,} ids" if isinstance(total, int) else ""
            lines.append(f"  {name:{width}}  {ids:>11}  {folder}")
        if len(made) > SHOWN:
            lines.append(f"  and {len(made) - SHOWN} more in {results / 'tokenizers'}")
        first = next(iter(made.values())) / "huggingface"
        lines.append(f'Load one: transformers.AutoTokenizer.from_pretrained("{first}")')
    if page.exists():
        lines.append(f"Report: {page}")
    return lines + [f"Warning: {warning}" for warning in (_warnings(settings, results, made) if lines else [])]


def _warnings(settings: Settings, results: Path, made: dict[str, Path]) -> list[str]:
    short, differing = [], []
    for name, folder in made.items():
        asked = settings.tokenizers[name].rows(settings)
        total = _read(folder / "description.json").get("total")
        if asked and isinstance(total, int) and total < asked:
            short.append(f"{name} has {total:,} of the {asked:,} ids asked for")
        if any(share < PARITY for share in _shares(folder / "parity.tsv")):
            differing.append(name)
    codes = [
        path.parent.name for path in sorted(results.glob("corpora/*/stats.json")) if not _read(path).get("kept")
    ]
    chosen = {language.code for language in settings.selected()}
    empty = [code for code in codes if code in chosen]
    warnings = []
    if short:
        warnings.append(
            f"{listed(short, SHOWN, '; ')}: the text has too few different pieces; bring more text, or lower T"
        )
    if differing:
        warnings.append(f"ids of SentencePiece and Hugging Face differ: {listed(differing)}; see parity.tsv")
    if empty:
        warnings.append(f"languages without text: {listed(empty)}")
    return warnings


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _shares(path: Path) -> list[float]:
    try:
        return [float(row["share"]) for row in read_tsv(path, ("share",)) if row["share"]]
    except (OSError, ValueError, VocapError):
        return []
