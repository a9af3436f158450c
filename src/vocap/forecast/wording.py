"""Forecasts and comparisons as text for a terminal."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from vocap.errors import duration, listed
from vocap.files.io import aligned
from vocap.forecast.run import RunForecast
from vocap.forecast.texts import LanguageText

BASES = {
    "earlier run": "counted by an earlier run (results/corpora)",
    "files": "from the sizes of your files, and the lines at the beginning of each",
    "starter table": "from the table of the starter corpus that ships with vocap",
    "listing": "from the listing of their files (results/corpora/LANG/files.json)",
    "guess": "guessed from the paper's sizes: no server was asked",
}


def forecast_text(forecast: RunForecast) -> str:
    """A table of stages, the largest training, the text to read from other machines, and
    what the forecast rests on.
    """
    plain, spread = forecast.as_plain(), forecast.spread
    times = {"CPU": "cpu_s"}
    if plain["total"]["gpu_s"]:
        times["GPU"] = "gpu_s"
    rows = [["stage", "jobs", *times, "largest job", "disk"]]
    for name, row in [*plain["stages"].items(), ("total", plain["total"])]:
        ranges = [
            f"{duration(spread['low'] * row[time])} to {duration(spread['high'] * row[time])}"
            for time in times.values()
        ]
        sizes = [format_size(row["memory_mb"]), format_size(row["disk_mb"])]
        rows.append([name, f"{row['jobs']:,}", *ranges, *sizes])
    lines = [*aligned(rows, left=[0]), ""]
    memory_mb, name = forecast.largest_training
    if memory_mb:
        lines += [f"On a GPU at most {format_size(memory_mb)}, of {name}.", ""]
    lines += _remote_text(forecast.texts.values())
    counted = Counter(text.basis for text in forecast.texts.values())
    bases = [f"{count} languages {BASES[basis]}" for basis, count in counted.items()]
    lines.append(f"Text: {'; '.join(bases)}.")
    lines.append(
        f"Cost model: fitted on {len(forecast.fitted_on)} runs; its errors: docs/cluster.md."
    )
    return "\n".join(lines)


def _remote_text(texts: Iterable[LanguageText]) -> list[str]:
    """What samples read from other machines, a row a language."""
    remote = [text for text in texts if text.remote]
    if not remote:
        return []
    rows = [["text elsewhere", "source", "to read", "of", "from"]]
    for text in remote:
        sizes = [format_size(text.stored_mb), format_size(text.whole_mb)]
        rows.append([text.language, text.source, *sizes, text.basis])
    total = format_size(sum(text.stored_mb for text in remote))
    rows.append(["total", "", total, format_size(sum(text.whole_mb for text in remote)), ""])
    return [*aligned(rows, left=[0, 1, 4]), ""]


def comparison_text(comparison: dict[str, Any]) -> str:
    """Forecast, measured and their ratio, by rule, by stage and in all, from
    `compare_costs`.
    """
    header = ["", "jobs", "CPU", "measured", "factor", "largest job", "measured", "factor"]
    rows = [_compared(name, row) for name, row in comparison["rules"].items()]
    rows.append([""] * len(header))
    rows += [_compared(name, row) for name, row in comparison["stages"].items()]
    rows.append(_compared("total", comparison["total"]))
    lines = [
        *aligned([header, *rows], left=[0]),
        "",
        "Factor: forecast over measured. Forecasts use only information from before the run. "
        "Memory is that of jobs of a second and more; shorter ones end unseen.",
    ]
    if names := comparison["missing"]:
        lines.append(f"{len(names)} jobs have no benchmark: {listed(names, 3)}.")
    if names := comparison["foreign"]:
        lines.append(
            f"{len(names)} benchmarks are of no job of this configuration: {listed(names, 3)}."
        )
    return "\n".join(lines)


def _compared(name: str, row: dict[str, Any]) -> list[str]:
    cells = [name, f"{row['jobs']:,}"]
    for quantity, shown in (("cpu_s", duration), ("memory_mb", format_size)):
        factor = row["factor"][quantity]
        cells += [shown(row[side][quantity]) for side in ("forecast", "measured")]
        cells.append(f"{factor:.2f}" if factor else "-")
    return cells


def format_size(megabytes: float) -> str:
    """Megabytes or gigabytes.

    >>> format_size(0.25), format_size(312), format_size(45678)
    ('0.2 MB', '312 MB', '45.7 GB')
    """
    if megabytes < 10:
        return f"{megabytes:.1f} MB"
    return f"{megabytes:.0f} MB" if megabytes < 10_000 else f"{megabytes / 1000:,.1f} GB"
