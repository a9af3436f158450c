"""The front page: the tokenizers and how to load them, segmented sentences, largest gains and losses."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from markupsafe import Markup

from vocap.report.data.comparisons import best_other, comparisons, method, text_facts
from vocap.report.data.every_tokenizer import apart_by_text, regimes
from vocap.report.data.results import Results, Sentence, Stretch
from vocap.report.data.sentences import compared
from vocap.report.page.blocks import (
    Block,
    Cut,
    Cuts,
    Fold,
    Heading,
    Loads,
    Movers,
    Note,
    Section,
    Text,
    Tiles,
    counted,
    not_run,
)
from vocap.report.sections.missing import missing_languages, short_of_total
from vocap.report.sections.same_size import headline, percent

LOADS = {  # by form: the import, and the line
    "sentencepiece.model": (
        "from sentencepiece import SentencePieceProcessor",
        'SentencePieceProcessor(model_file="{}")',
    ),
    "tokenizer.json": ("from tokenizers import Tokenizer", 'Tokenizer.from_file("{}")'),
    "huggingface": ("from transformers import AutoTokenizer", 'AutoTokenizer.from_pretrained("{}")'),
}
LOADED = 10  # tokenizers that the front page names; more are folded
MOVED = 5  # languages that gain most, and that lose most


def section(results: Results) -> Section:
    """Warnings first, then tokenizers, sentences, gains and losses, and the run in numbers."""
    blocks: list[Block] = _warnings(results)
    if loads := _loads(results):
        blocks += loads
    elif not results.tokenizers:
        blocks.append(not_run("tokenizers", "No tokenizer has been made yet."))
    blocks += _cuts(results)
    blocks += _movers(results)
    blocks += [Tiles(_tiles(results))]
    return Section("overview", "Your tokenizers", "Start", blocks)


def _loads(results: Results) -> list[Block]:
    """Every tokenizer of this run, with the lines that load it from the folder of the command."""
    rows = []
    for tokenizer in results.configured_tokenizers():
        place = f"{results.folder}/tokenizers/{tokenizer.name}"
        lines = [LOADS[form][1].format(f"{place}/{form}") for form in tokenizer.forms]
        if lines:
            read = text_facts(tokenizer).get("lines")
            said = [
                f"{tokenizer.total:,} ids" if tokenizer.total is not None else "",
                method(results, tokenizer),
                f"{read:,} lines" if read is not None else "",
            ]
            rows.append((tokenizer.name, ", ".join(filter(None, said)), lines))
    if not rows:
        return []
    used = {form for tokenizer in results.tokenizers.values() for form in tokenizer.forms}
    shown = Loads([line for form, (line, _) in LOADS.items() if form in used], rows[:LOADED])
    rest = rows[LOADED:]
    more = [Fold(counted(len(rest), "other tokenizer"), [Loads((), rest)])] if rest else []
    return [shown, *more]


def _cuts(results: Results) -> list[Block]:
    if not results.sentences:
        return []
    names = compared(results)
    sentences = [
        (results.name(one.language), one.language, [_cut(name, one, place) for place, name in enumerate(names)])
        for one in results.sentences
    ]
    both = " and ".join(names)
    several = len(names) > 1
    said = (
        f"A typical held-out line of each of {counted(len(sentences), 'language')}, segmented by {both}. "
        "Colours change "
        "where a token ends" + ("; underlined are tokens that the other does not have there." if several else ".")
    )
    heading = "The same sentence under both" if several else "Segmented sentences"
    return [Heading(heading), Text(said), Cuts(sentences)]


def _cut(name: str, sentence: Sentence, place: int) -> Cut:
    """Stretches with their classes: `d` where another tokenizer has no such token, `u` for <unk>."""
    others = [set(_spans(cut)) for k, (cut, _) in enumerate(sentence.cuts) if k != place]
    cut, tokens = sentence.cuts[place]
    stretches = []
    for (text, unknown), span in zip(cut, _spans(cut), strict=True):
        marks = ["d"] * any(span not in other for other in others) + ["u"] * unknown
        stretches.append((text, " ".join(marks)))
    return Cut(name, tokens, stretches)


def _spans(cut: Sequence[Stretch]) -> list[tuple[int, int]]:
    ends = list(accumulate(len(text) for text, _ in cut))
    return list(zip([0, *ends], ends, strict=False))


def _movers(results: Results) -> list[Block]:
    """The best tokenizer of each T in the mean, and the languages that gain and lose most at the first T."""
    found = comparisons(results)
    if not found:
        return []
    one, name = found[0], best_other(found[0])
    changes = sorted(one.changes[name].items(), key=lambda item: (item[1], results.rank(item[0])))
    most = max(abs(change) for _, change in changes) or 1.0

    def listed(members: Sequence[tuple[str, float]]) -> list[tuple[str, str, float]]:
        return [(results.name(code), percent(change), 100 * abs(change) / most) for code, change in members]

    lose = [item for item in changes if item[1] < 0][:MOVED]
    gain = [item for item in reversed(changes) if item[1] > 0][:MOVED]
    shown = Movers(
        [
            (f"Gain most with {name} against {one.reference.name}", listed(gain)),
            ("Lose most" if lose else "No language loses", listed(lose)),
        ]
    )
    explained = Markup(
        "ALP is the mean over held-out lines of the summed natural logarithms of their tokens’ probabilities "
        "(Equation 1): nats per line, always negative, better nearer to 0. In percent of each language’s own ALP "
        'long and short lines count alike. <a href="#comparison">All languages</a>'
    )
    said = [Text(headline(results, entry)) for entry in found]
    pair = [results.tokenizers[name], one.reference]
    limits = [Text(apart)] if (apart := apart_by_text(regimes(pair))) else []
    return [Heading("Largest gains and losses"), *said, shown, Text(explained), *limits]


def _tiles(results: Results) -> list[tuple[str, str, str]]:
    trained = sum(len(results.trained(code)) for code in results.curves)
    failed = sum(len(points) for points in results.curves.values()) - trained
    with_text = sum(1 for stats in results.corpora.values() if stats.get("kept"))
    lines = sum(stats.get("kept") or 0 for stats in results.corpora.values())
    missing = len(missing_languages(results))
    remark = f"{with_text:,} with text" + (f", {missing} missing" if missing else "") if results.corpora else ""
    totals = sorted({entry.setting("total") for entry in results.allocations.values()} - {None})
    kinds = Counter(tokenizer.kind for tokenizer in results.tokenizers.values())
    parts = [  # results, their noun, their number with noun, remark
        (results.languages, "languages", counted(len(results.languages), "language"), remark),
        (results.corpora, "lines of text", f"{lines:,} lines of text kept", "train and held out"),
        (
            results.curves,
            "vocabularies",
            f"{trained:,} vocabularies trained",
            f"{failed:,} sizes out of reach" if failed else "no size out of reach",
        ),
        (
            results.allocations,
            "allocations",
            counted(len(results.allocations), "allocation"),
            "T = " + ", ".join(f"{total:,}" for total in totals) if totals else "",
        ),
        (
            results.tokenizers,
            "tokenizers",
            counted(len(results.tokenizers), "tokenizer"),
            ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
        ),
    ]
    tiles = []
    for found, noun, said, remark in parts:
        number, _, what = said.partition(" ")
        tiles.append((number, what, remark) if found else ("–", noun, "not run"))
    if results.seconds:
        total = sum(results.seconds.values())
        slowest = max(results.seconds, key=results.seconds.get)
        tiles.append((_time(total), "of jobs", f"most of it {slowest}"))
    return tiles


def _warnings(results: Results) -> list[Note]:
    """Notes above all numbers: languages without text, missing packages, T not reached."""
    notes = []
    if missing := missing_languages(results):
        names = _listed([name for _, name, _ in missing])
        takes = "takes" if len(missing) == 1 else "take"
        said = f"{counted(len(missing), 'language')} without text {takes} no part: {names}."
        notes.append(_note("Text is missing.", said, "missing"))
    packages = [entry for entry in results.packages if entry.get("missing")]
    if packages:
        reasons = _listed([f"{entry.get('package')} ({entry['missing']})" for entry in packages], 6)
        said = f"The starter corpus was made without {reasons}."
        notes.append(_note("Packages are missing.", said, "corpora"))
    if short := short_of_total(results):
        said = "; ".join(
            f"{kind} {name} is {counted(count, 'id')} short" + (f" of {total:,}" if total else "")
            for kind, name, total, count in short
        )
        notes.append(_note("T was not reached.", f"There were too few pieces: {said}.", "missing"))
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


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
