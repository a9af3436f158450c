"""What learning.py's runs reached: Markdown tables, and a picture of their curves."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import numpy as np

from vocap.report.page.figures import files, styled

# Okabe and Ito's colours, two of them darker for white paper; what mends a loss has its
# colour and dashes
STYLES = {
    "full": ("#1b1f24", [1, 0]),
    "k-NN": ("#0072b2", [1, 0]),
    "target sampling": ("#00805e", [1, 0]),
    "NCE": ("#c4510a", [1, 0]),
    "NEG": ("#b0578d", [1, 0]),
    "k-NN + uniform": ("#0072b2", [6, 3]),
    "k-NN, full finish": ("#0072b2", [2, 2]),
    "target, full finish": ("#00805e", [2, 2]),
}
MEASURES = {"bits_per_byte": "exact loss, bits per byte", "mrr": "mean reciprocal rank"}
AXES = {"step": "steps", "cpu_s": "CPU seconds"}
PARTS = np.linspace(0, 1, 9)  # of a run: where the seeds' curves are averaged
SIZE = (330, 230)  # of a panel, px
GAP = 13  # between two labels, px


def run_path(out: Path, steps: int, seed: int, budget: str, name: str) -> Path:
    """Where the run of a loss is; `steps`: of those with equal steps, `budget`: steps
    or time.
    """
    return out / "runs" / str(steps) / f"{seed} {budget} {name}.json"


def found_runs(out: Path, steps: int, budget: str, name: str) -> list[Path]:
    """The runs of a loss, a seed each; the full softmax sets the time, so it has but
    one kind.
    """
    kind = "steps" if name == "full" else budget
    return sorted((out / "runs" / str(steps)).glob(f"* {kind} {name}.json"))


def summary(path: Path) -> dict:
    """The last line of a run's metrics, with the mean |V'| of all of them and the
    probe's scores.
    """
    run = json.loads(path.read_text("utf-8"))
    rows = run["rows"]
    return (
        rows[-1]
        | {"candidates": statistics.mean(row["candidates"] for row in rows)}
        | run["probes"]
    )


def print_table(out: Path, steps: int, names: Sequence[str]) -> None:
    """Two Markdown tables: after equal steps, after equal time; mean and standard
    deviation over the seeds.
    """
    untrained = json.loads((out / "untrained.json").read_text("utf-8"))
    least, tests = untrained["frequencies"], list(untrained["probes"])
    for budget in ("steps", "time"):
        columns = [
            "seeds",
            "words",
            "steps",
            "CPU s",
            "nats",
            "bits per byte",
            "accuracy",
            "MRR",
            *tests,
        ]
        print(
            f"\nequal {budget}\n\n| loss | {' | '.join(columns)} |\n{'|---' * (len(columns) + 1)}|"
        )
        scores = f"{least['exact_loss']:.2f} | | {least['accuracy']:.4f} | {least['mrr']:.4f}"
        probed = " | ".join(f"{untrained['probes'][test]:.1f}" for test in tests)
        print(f"| word frequencies; untrained | | | | | {scores} | {probed} |")
        for name in names:
            if rows := [summary(path) for path in found_runs(out, steps, budget, name)]:
                print(f"| {name} | {len(rows)} | " + " | ".join(cells(rows, tests)) + " |")


def cells(rows: Sequence[dict], tests: Sequence[str]) -> list[str]:
    def cell(key: str, digits: int, spread: bool = True) -> str:
        values = [row[key] for row in rows]
        mean = f"{statistics.mean(values):,.{digits}f}"
        return (
            f"{mean} ± {statistics.stdev(values):.{digits}f}"
            if spread and len(values) > 1
            else mean
        )

    return [
        *(cell(key, 0, spread=False) for key in ("candidates", "step", "cpu_s")),
        *(cell("exact_loss", 2), cell("bits_per_byte", 3), cell("accuracy", 4), cell("mrr", 4)),
        *(cell(test, 1) for test in tests),
    ]


def draw(out: Path, steps: int, target: Path) -> None:
    """Curves of exact loss and rank against steps and against CPU seconds, mean and
    range over the seeds.

    Against steps the runs of equal steps, against seconds those of equal time, if there
    are any. A loss without runs is left out.
    """
    timed = any((out / "runs" / str(steps)).glob("* time *.json"))
    start = json.loads((out / "untrained.json").read_text("utf-8"))["rows"][0]
    rows = []
    for measure in MEASURES:
        panels = []
        for axis, budget in (("step", "steps"), ("cpu_s", "time" if timed else "steps")):
            curves = [
                (name, curve(paths, start, axis, measure))
                for name in STYLES
                if (paths := found_runs(out, steps, budget, name))
            ]
            panels.append(panel(dict(curves), axis, measure))
        rows.append(alt.hconcat(*panels, spacing=24))
    spec = styled(alt.vconcat(*rows, spacing=18).to_dict(validate=False))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(files(spec, target.stem)[f"{target.stem}.svg"])


def curve(paths: Sequence[Path], start: dict, axis: str, measure: str) -> list[dict]:
    """Points at even parts of the runs: mean x, and mean, least and greatest y over the
    seeds.
    """
    x, y = [], []
    for path in paths:
        lines = [start, *json.loads(path.read_text("utf-8"))["rows"]]
        parts = [line["step"] / lines[-1]["step"] for line in lines]
        x.append(np.interp(PARTS, parts, [line[axis] for line in lines]))
        y.append(np.interp(PARTS, parts, [line[measure] for line in lines]))
    columns = np.mean(x, 0), np.mean(y, 0), np.min(y, 0), np.max(y, 0)
    return [
        {"x": round(a, 1), "y": round(b, 5), "low": round(c, 5), "high": round(d, 5)}
        for a, b, c, d in zip(*columns, strict=True)
    ]


def panel(curves: dict[str, list[dict]], axis: str, measure: str) -> alt.LayerChart:
    """One panel; each curve is named at its end."""
    points = [{"loss": name, **point} for name, found in curves.items() for point in found]
    low, high = min(point["low"] for point in points), max(point["high"] for point in points)
    right = max(point["x"] for point in points)
    names = list(curves)
    colour = alt.Color(
        "loss:N",
        scale=alt.Scale(domain=names, range=[STYLES[name][0] for name in names]),
        legend=None,
    )
    dash = alt.StrokeDash(
        "loss:N",
        scale=alt.Scale(domain=names, range=[STYLES[name][1] for name in names]),
        legend=None,
    )
    x = alt.X("x:Q", title=AXES[axis], scale=alt.Scale(domain=[0, right * 1.36], nice=False))
    y = alt.Y(
        "y:Q", title=MEASURES[measure], scale=alt.Scale(domain=[low, high], nice=True, zero=False)
    )
    base = alt.Chart(alt.Data(values=points))
    bands = base.mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    lines = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    ends = [{"loss": name, **found[-1]} for name, found in curves.items()]
    for end, place in zip(
        ends, apart([end["y"] for end in ends], GAP * (high - low) / SIZE[1]), strict=True
    ):
        end["y"] = place
    text = alt.Chart(alt.Data(values=ends)).encode(x=x, y=y, text="loss:N")
    halo = text.mark_text(align="left", dx=5, fontSize=11, stroke="#ffffff", strokeWidth=3)
    labels = text.mark_text(align="left", dx=5, fontSize=11).encode(color=colour)
    return alt.layer(bands, lines, halo, labels).properties(width=SIZE[0], height=SIZE[1])


def apart(places: Sequence[float], gap: float) -> list[float]:
    """The places, moved as little as keeps them `gap` apart in their order."""
    order = np.argsort(places, kind="stable")
    moved = np.array(places)[order] - gap * np.arange(len(places))
    groups: list[list[float]] = []  # pool adjacent violators: the nearest rising sequence
    for place in moved:
        groups.append([place])
        while len(groups) > 1 and np.mean(groups[-2]) > np.mean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    rising = np.concatenate([[np.mean(group)] * len(group) for group in groups])
    result = np.empty(len(places))
    result[order] = rising + gap * np.arange(len(places))
    return result.tolist()
