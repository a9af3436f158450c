"""The table of the starter corpus that `vocap plan` forecasts from, out of a finished
default run.

    python dev/make_starter_table.py [RESULTS] > src/vocap/corpora/starter.tsv

A row for each language: `lines`, `bytes` and `characters` of its merged text, line ends
counted; `reach`, the largest vocabulary that SentencePiece says its text can give (the
largest trained, where all were); and the lines of each package before merging.
"""

import json
import re
import sys
from pathlib import Path

from vocap.corpora.sources import PACKAGES
from vocap.files.io import read_tsv, table_lines


def reach(curve: Path) -> int:
    """From the reason that the curve gives for its first size out of reach."""
    best = 0
    for row in read_tsv(curve, ("size", "status")):
        limit = re.search(r"at most (\d+) pieces", row["status"])
        best = max(best, int(limit[1]) if limit else int(row["size"]) * (row["status"] == "ok"))
    return best


def main() -> None:
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
    lines = {
        package: {
            path.stem: sum(1 for _ in read_tsv(path))
            for path in (results / "corpora/starter/messages" / package).glob("*.tsv")
        }
        for package in PACKAGES
    }
    rows = []
    for path in sorted(results.glob("corpora/*/stats.json")):
        stats = json.loads(path.read_text("utf-8"))
        lang = stats["language"]
        highest = reach(results / f"vocabularies/{lang}/curve.tsv")
        characters = len((results / f"corpora/starter/text/{lang}.txt").read_bytes().decode())
        counts = [stats["read"], stats["bytes"], characters, highest]
        rows.append([lang, *counts, *(lines[package].get(lang, 0) for package in PACKAGES)])
    sys.stdout.writelines(
        table_lines(["language", "lines", "bytes", "characters", "reach", *PACKAGES], rows)
    )


if __name__ == "__main__":
    main()
