"""The lines that end a run."""

import json
from pathlib import Path
from typing import Any

from vocap.config import Settings
from vocap.errors import listed
from vocap.files.io import read_tsv

SHOWN = 12  # tokenizers, and warnings of a kind


def summarize(settings: Settings) -> list[str]:
    """Lines for the terminal; empty where a run made neither a tokenizer nor the report.

    Only entries of the configuration count.
    """
    # tokenizers and the report
    results = Path(settings.results)
    page = Path(settings.results, "report", "index.html")
    folders = [results / "tokenizers" / name for name in settings.tokenizers]
    made = {
        folder.name: folder
        for folder in folders
        if (folder / "huggingface" / "tokenizer.json").exists()
    }
    width, lines, short = max(map(len, made), default=0), [], []
    for name, folder in made.items():
        total = _read(folder / "description.json").get("total", 0)
        asked = settings.tokenizers[name].rows(settings)
        lines.append(f"  {name:{width}}  {f'{total:,} ids':>11}  {folder}")
        if asked and total < asked:
            short.append(f"{name} has {total:,} of the {asked:,} ids asked for")
    if made:
        # the one that the report advises at the smallest T
        compared = page.with_name("tables") / "comparison.tsv"
        rows = read_tsv(compared) if compared.exists() else ()
        advised = [row["tokenizer"] for row in rows if row.get("advice") == "take"]
        taken = next((name for name in advised if name in made), next(iter(made)))
        folder = made[taken] / "huggingface"
        load = f'Load {taken}: transformers.AutoTokenizer.from_pretrained("{folder}")'
        lines = ["Tokenizers:", listed(lines, SHOWN, "\n"), load]
    lines += [f"Report: {page}"] if page.exists() else []
    # warnings
    stats = {
        language.code: results / "corpora" / language.code / "stats.json"
        for language in settings.selected()
    }
    empty = [code for code, path in stats.items() if path.exists() and not _read(path).get("kept")]
    warnings = {
        "the text has too few different pieces; bring more text, or lower T": listed(
            short, SHOWN, "; "
        ),
        "languages without text": listed(empty),
    }
    uneven: dict[str, list[str]] = {}
    for name in settings.allocation:
        for warning in _read(results / "allocation" / name / "summary.json").get("warnings", ()):
            uneven.setdefault(warning, []).append(name)
    said = [f"{what}: {names}" for what, names in warnings.items() if names]
    said += [f"allocation {listed(names, 4)}: {warning}" for warning, names in uneven.items()]
    return lines + [f"Warning: {text}" for text in said if lines]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}
