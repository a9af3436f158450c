"""What you see: the few numbers that sum the run up."""

from markupsafe import Markup

from vocap.report.blocks import Block, Note, Section, Text, Tiles, counted
from vocap.report.results import Results
from vocap.report.same_size import comparisons
from vocap.report.sections.gaps import missing_languages, short_of_total
from vocap.report.sections.same_size import leading


def section(results: Results) -> Section:
    """Tiles and two or three sentences, each made only from what is there."""
    trained = sum(len(results.trained(code)) for code in results.curves)
    failed = sum(len(points) for points in results.curves.values()) - trained
    with_text = sum(1 for stats in results.corpora.values() if stats.get("kept"))
    lines = sum(stats.get("kept") or 0 for stats in results.corpora.values())
    missing = len(missing_languages(results))
    tiles = [
        (
            f"{len(results.languages):,}",
            "language" if len(results.languages) == 1 else "languages",
            f"{with_text:,} with text" + (f", {missing} missing" if missing else "") if results.corpora else "",
        ),
        (f"{lines:,}", "lines of text kept", "train and held out")
        if results.corpora
        else ("–", "lines of text", "not run"),
        (
            f"{trained:,}",
            "vocabularies trained",
            f"{failed:,} sizes out of reach" if failed else "no size out of reach",
        )
        if results.curves
        else ("–", "vocabularies", "not run"),
        (
            f"{len(results.allocations):,}",
            "allocations" if len(results.allocations) != 1 else "allocation",
            _totals(results),
        )
        if results.allocations
        else ("–", "allocations", "not run"),
        (
            f"{len(results.tokenizers):,}",
            "tokenizers" if len(results.tokenizers) != 1 else "tokenizer",
            _kinds(results),
        )
        if results.tokenizers
        else ("–", "tokenizers", "not run"),
    ]
    if results.seconds:
        total = sum(results.seconds.values())
        slowest = max(results.seconds, key=results.seconds.get)
        tiles.append((_time(total), "of jobs", f"most of it {slowest}"))
    text = (
        "From raw text to a multilingual tokenizer. ALP, the average log probability, is the mean over a text's "
        "lines of the summed natural logarithms of its tokens' unigram probabilities (Equation 1): nats per "
        "line, always negative, and the closer to zero the better a vocabulary suits the language."
    )
    blocks: list[Block] = [Text(text), *_gaps(results), Tiles(tiles)]
    blocks += [Text(sentence) for sentence in _findings(results)]
    return Section("overview", "What you see", "Overview", blocks)


def _gaps(results: Results) -> list[Note]:
    """What a reader must know before any number: no text, no package, T not reached."""
    notes = []
    if missing := missing_languages(results):
        names = _listed([name for _, name, _ in missing])
        takes = "takes" if len(missing) == 1 else "take"
        said = f"{counted(len(missing), 'language')} without text {takes} no part: {names}."
        notes.append(_note("Text is missing.", said, "gaps"))
    packages = [entry for entry in results.packages if entry.get("missing")]
    if packages:
        reasons = _listed([f"{entry.get('package')} ({entry['missing']})" for entry in packages], 6)
        said = f"The starter corpus was made without {reasons}."
        notes.append(_note("Packages are missing.", said, "corpora"))
    if short := short_of_total(results):
        said = "; ".join(
            f"{what} {name} is {counted(count, 'id')} short" + (f" of {total:,}" if total else "")
            for what, name, total, count in short
        )
        notes.append(_note("T was not reached.", f"There were too few pieces: {said}.", "gaps"))
    if results.left:
        said = "; ".join(f"{kind} {', '.join(names)}" for kind, names in results.left.items())
        notes.append(Note(f"In the results folder, left from other configurations, not shown: {said}."))
    return notes


def _note(title: str, text: str, section: str) -> Note:
    link = Markup('<strong>{}</strong> {} <a href="#{}">More</a>').format(title, text, section)
    return Note(link, "warning")


def _listed(names: list[str], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _findings(results: Results) -> list[str]:
    return [leading(one) for one in comparisons(results)]


def _totals(results: Results) -> str:
    totals = sorted({total for entry in results.allocations.values() if (total := total_of(entry))})
    return "T = " + ", ".join(f"{total:,}" for total in totals) if totals else ""


def total_of(entry) -> int | None:
    """T of an allocation, wherever its summary says it."""
    for place in (entry.summary, entry.summary.get("settings")):
        if isinstance(place, dict):
            for key in ("total", "T"):
                if isinstance(place.get(key), int):
                    return place[key]
    return None


def _kinds(results: Results) -> str:
    counts: dict[str, int] = {}
    for tokenizer in results.tokenizers.values():
        counts[tokenizer.kind] = counts.get(tokenizer.kind, 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
