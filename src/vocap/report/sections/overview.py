"""What you see: the few numbers that sum the run up."""

from vocap.report.blocks import Section, Text, Tiles, counted
from vocap.report.comparing import groups, pairs
from vocap.report.results import Results
from vocap.report.sections.gaps import missing_languages


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
    blocks = [Text(text), Tiles(tiles)]
    blocks += [Text(sentence) for sentence in _findings(results)]
    return Section("overview", "What you see", "Overview", blocks)


def _findings(results: Results) -> list[str]:
    sentences = []
    for pair in pairs(results):
        rows = groups(results, pair)
        everything = rows[-1]
        parts = ", ".join(f"{_signed(one.gain)} for {one.resource}-resource languages" for one in rows[:-1])
        parts = f" ({parts})" if len(rows) > 2 else ""
        side = "higher" if everything.gain >= 0 else "lower"
        sentences.append(
            f"At T = {pair.size}, VOCAP’s held-out ALP is on average {abs(everything.gain):.2f} nats per line "
            f"{side} than JOINT’s{parts}; it is higher in {everything.better} of "
            f"{counted(everything.languages, 'language')}."
        )
    return sentences


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


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
