"""A forecast as text for a terminal."""

from collections import Counter
from collections.abc import Iterable

from vocap.errors import duration
from vocap.files.io import aligned
from vocap.forecast.run import CORE_TFLOPS, RunForecast
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
    plain = forecast.as_plain()
    times = {"CPU": "cpu_s", "GPU": "gpu_s"} if forecast.gpu else {"CPU": "cpu_s"}
    rows = [["stage", "jobs", *times, "largest job", "disk"]]
    for name, row in [*plain["stages"].items(), ("total", plain["total"])]:
        cells = [duration(row[time]) for time in times.values()]
        cells += [format_size(row["memory_mb"]), format_size(row["disk_mb"])]
        rows.append([name, f"{row['jobs']:,}", *cells])
    lines = [*aligned(rows, left=[0]), ""]
    memory_mb, name = forecast.largest_training
    if name:
        lines.append(f"Memory of a GPU: at most {format_size(memory_mb)}, of {name}.")
    if forecast.operations:
        device = (
            f"GPUs of {forecast.tflops:g} TFLOPS each (--tflops)"
            if forecast.gpu
            else f"cores of {CORE_TFLOPS:g} TFLOPS each (--gpu: on GPUs)"
        )
        lines.append(f"Training: on {device}.")
    if fetched := plain["total"]["fetched_mb"]:
        lines.append(f"To fetch: {format_size(fetched)}.")
    lines += ["", *_remote_text(forecast.texts.values())]
    counted = Counter(text.basis for text in forecast.texts.values())
    bases = [f"{count} languages {BASES[basis]}" for basis, count in counted.items()]
    lines.append(f"Text: {'; '.join(bases)}.")
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


def format_size(megabytes: float) -> str:
    """Megabytes or gigabytes.

    >>> format_size(0.25), format_size(312), format_size(45678)
    ('0.2 MB', '312 MB', '45.7 GB')
    """
    if megabytes < 10:
        return f"{megabytes:.1f} MB"
    return f"{megabytes:.0f} MB" if megabytes < 10_000 else f"{megabytes / 1000:,.1f} GB"
