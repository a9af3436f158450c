"""The lines that end a run."""

import json
from pathlib import Path
from typing import Any

from vocap.config import Settings
from vocap.errors import listed
from vocap.files.io import aligned, read_tsv

SHOWN = 12  # tokenizers, and warnings of a kind


def summarize(settings: Settings) -> list[str]:
    """Lines for the terminal; empty where a run made neither a tokenizer nor the report.

    Only entries of the configuration count.
    """
    # tokenizers and the report
    results = Path(settings.results)
    page = results / "report" / "index.html"
    made = {name: results / "tokenizers" / name for name in settings.tokenizers}
    made = {
        name: folder
        for name, folder in made.items()
        if (folder / "huggingface" / "tokenizer.json").exists()
    }
    lines, short = list[str](), list[str]()
    if made:
        rows = []
        for name, folder in made.items():
            total = _read(folder / "description.json").get("total", 0)
            asked = settings.tokenizers[name].rows(settings) or 0
            rows.append(["", name, f"{total:,} ids", str(folder)])
            if total < asked:
                short.append(f"{name} has {total:,} of the {asked:,} ids asked for")
        # the one that the report advises at the smallest T
        compared = page.with_name("tables") / "comparison.tsv"
        table = read_tsv(compared) if compared.exists() else ()
        advised = [row["tokenizer"] for row in table if row.get("advice") == "take"]
        taken = next((name for name in advised if name in made), next(iter(made)))
        folder = made[taken] / "huggingface"
        load = f'Load {taken}: transformers.AutoTokenizer.from_pretrained("{folder}")'
        lines = ["Tokenizers:", listed(aligned(rows, left=[1, 3]), SHOWN, "\n"), load]
    lines += [f"Report: {page}"] if page.exists() else []
    # warnings, and what each is of
    stats = {one.code: results / "corpora" / one.code / "stats.json" for one in settings.selected()}
    warned = {
        "the text has too few different pieces; bring more text, or lower T": short,
        "languages without text": [
            code for code, path in stats.items() if not _read(path).get("kept", True)
        ],
    }
    for name in settings.allocation:
        for warning in _read(results / "allocation" / name / "summary.json").get("warnings", ()):
            warned.setdefault(f"of allocations, {warning}", []).append(name)
    said = [
        f"Warning: {what}: {listed(names, SHOWN, '; ')}" for what, names in warned.items() if names
    ]
    return lines + said if lines else []


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}
