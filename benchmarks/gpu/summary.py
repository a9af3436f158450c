"""The tables of the stages as Markdown, with the paper's speeds beside the measured
ones.
"""

from pathlib import Path

import pandas as pd

from vocap.files.io import write_text
from vocap.report.paper import printed

EVERY = 1000  # steps between two refreshes of the index, as in the paper
HIDDEN = ("curve", "recipe", "took_s", "parameters")


def write_summary(folder: Path) -> None:
    """`folder`/summary.md, from the tables that are there; printed too."""
    tables = {path.stem: measured(path) for path in sorted(folder.glob("*.jsonl"))}
    parts = [f"## {name}\n\n{markdown(table)}" for name, table in tables.items() if len(table)]
    if "step" in tables and "step_ms" in tables["step"]:
        parts.append(f"## Speeds, and the paper's\n\n{markdown(speeds(tables['step']))}")
    write_text(folder / "summary.md", "\n\n".join(parts) + "\n")
    print("\n\n".join(parts))


def measured(path: Path) -> pd.DataFrame:
    """The rows of a table without those that only say that one was begun."""
    table = pd.read_json(path, lines=True)
    if "begun" in table:
        table = table[table["begun"].isna()].drop(columns="begun")
    return table.drop(columns=[name for name in HIDDEN if name in table]).dropna(axis=1, how="all")


def markdown(table: pd.DataFrame) -> str:
    """A table with empty cells where there is no value."""

    def cell(value: object) -> str:
        if pd.isna(value):
            return ""
        return (
            f"{value:.4g}"
            if isinstance(value, float) and abs(value) < 1000
            else f"{value:.0f}"
            if isinstance(value, float)
            else str(value)
        )

    lines = [list(map(str, table.columns)), ["---"] * len(table.columns)]
    lines += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def speeds(steps: pd.DataFrame) -> pd.DataFrame:
    """Steps with their share of a refresh: speed beside the best exact softmax of V =
    250K, and of the same model.

    `over_free`: the step's time over that with a free head, less 1.
    """
    refresh = steps[steps["head"] == "refresh of the index"].set_index(["V", "d"])["seconds"]
    rows = steps[steps["step_ms"].notna()].copy()
    at = pd.MultiIndex.from_frame(rows[["V", "d"]])
    share = refresh.reindex(at).to_numpy() * 1000 / EVERY
    rows["ms"] = rows["step_ms"] + share * rows["head"].str.startswith("k-NN")
    exact = rows[rows["head"].str.startswith("full")].groupby(["V", "d"])["ms"].min()
    free = rows[rows["head"] == "free"].set_index(["V", "d"])["ms"]
    rows["of_exact_250K"] = exact.get((250_000, 768), float("nan")) / rows["ms"]
    rows["of_exact_same"] = exact.reindex(at).to_numpy() / rows["ms"]
    rows["over_free"] = rows["ms"] / free.reindex(at).to_numpy() - 1
    rows["paper_250K"] = [
        _paper_speed(*row) for row in rows[["V", "d", "head"]].itertuples(index=False)
    ]
    rows["paper_same"] = [
        _paper_ratio(*row) for row in rows[["V", "d", "head"]].itertuples(index=False)
    ]
    shown = [
        "V",
        "d",
        "head",
        "ms",
        "of_exact_250K",
        "paper_250K",
        "of_exact_same",
        "paper_same",
        "over_free",
    ]
    return rows[shown]


def _paper_speed(vocabulary: int, width: int, head: str) -> float | None:
    """Of Table 1: in units of the full softmax at V = 250K."""
    loss = "full" if head.startswith("full") else "knn" if head == "k-NN k=50" else None
    wanted = {
        "thousands": vocabulary // 1000,
        "loss": loss,
        "half": "yes" if width == 384 else "no",
    }
    found = [
        row["speed"] for row in printed("xtreme") if row.items() >= wanted.items() and row["speed"]
    ]
    return found[-1] if found else None


def _paper_ratio(vocabulary: int, width: int, head: str) -> float | None:
    """Of Tables 2 and 3: in units of the full softmax of the same model, V = 500K, d =
    768.
    """
    if (vocabulary, width) != (500_000, 768):
        return None
    for row in (*printed("k"), *printed("sampling")):
        name = (
            f"k-NN k={row['k']:.0f}"
            if row["k"]
            else {"target": "target sampling"}.get(row["loss"], row["loss"])
        )
        if head.lower().startswith(name.lower()) and (not row["k"] or head == name):
            return row["speed"]
    return None
