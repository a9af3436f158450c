"""The front page: the tokenizers and how to load them, sentences, gains and losses; and the run's settings."""

from itertools import accumulate

from markupsafe import Markup

from vocap.report.data.comparison import method, sizes, text_facts
from vocap.report.data.results import Results, Sentence
from vocap.report.data.sentences import compared
from vocap.report.page.blocks import Block, Code, Cuts, Facts, Fold, Note, Section, Text, counted, not_run
from vocap.report.page.tables import signed
from vocap.report.sections.comparison import headline
from vocap.report.sections.corpora import little_text, short_of_total
from vocap.wording import duration, listed

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
    blocks: list[Block] = [*_warnings(results), *_loads(results)]
    if not results.tokenizers:
        blocks.append(not_run("tokenizers", "No tokenizer has been made yet."))
    blocks += [*_cuts(results), *_movers(results), Facts(_counts(results))]
    return Section("overview", "Your tokenizers", "Start", blocks)


def _loads(results: Results) -> list[Block]:
    """Every tokenizer of this run, with the lines that load it from the folder of the command."""
    blocks, used = [], set()
    for tokenizer in results.configured_tokenizers():
        if not tokenizer.forms:
            continue
        used.update(tokenizer.forms)
        place = f"{results.folder}/tokenizers/{tokenizer.name}"
        lines = [LOADS[form][1].format(f"{place}/{form}") for form in tokenizer.forms]
        read = text_facts(tokenizer).get("lines")
        said = [
            f"{tokenizer.total:,} ids" if tokenizer.total is not None else "",
            method(results, tokenizer),
            f"{read:,} lines" if read is not None else "",
        ]
        blocks.append(Code(tokenizer.name, "\n".join(lines), ", ".join(filter(None, said))))
    if not blocks:
        return []
    imports = Code("Imports", "\n".join(line for form, (line, _) in LOADS.items() if form in used), "")
    rest = blocks[LOADED:]
    more = [Fold(counted(len(rest), "other tokenizer"), rest)] if rest else []
    return [imports, *blocks[:LOADED], *more]


def _cuts(results: Results) -> list[Block]:
    if not results.sentences:
        return []
    names = compared(results)
    sentences = [
        (results.name(one.language), one.language, [_cut(name, one, place) for place, name in enumerate(names)])
        for one in results.sentences
    ]
    marked = "; underlined are tokens that the other does not have there" if len(names) > 1 else ""
    said = (
        f"A typical held-out line of each of {counted(len(sentences), 'language')}, segmented by "
        f"{' and '.join(names)}. Colours change where a token ends{marked}."
    )
    heading = "The same sentence under both" if len(names) > 1 else "Segmented sentences"
    return [Text(heading, "heading"), Text(said), Cuts(sentences)]


def _cut(name: str, sentence: Sentence, place: int) -> tuple[str, int, list[tuple[str, str]]]:
    """Stretches with their classes: `d` where another tokenizer has no such token, `u` for <unk>."""
    ends = [list(accumulate(len(text) for text, _ in cut)) for cut, _ in sentence.cuts]
    spans = [list(zip([0, *cut], cut, strict=False)) for cut in ends]
    others = [set(found) for k, found in enumerate(spans) if k != place]
    cut, tokens = sentence.cuts[place]
    stretches = []
    for (text, unknown), span in zip(cut, spans[place], strict=True):
        marks = ["d"] * any(span not in other for other in others) + ["u"] * unknown
        stretches.append((text, " ".join(marks)))
    return name, tokens, stretches


def _movers(results: Results) -> list[Block]:
    """The best tokenizers of each T, and the languages that gain and lose most at the first T."""
    found = [one for one in sizes(results) if one.compared]
    if not found:
        return []
    one, name = found[0], found[0].compared[0]
    rows = one.counted[one.counted.tokenizer == name].sort_values("percent", kind="stable")
    changes = list(zip(rows.language, rows.percent, strict=True))
    lose = [(results.name(code), f"{signed(change)} %") for code, change in changes if change < 0][:MOVED]
    gain = [(results.name(code), f"{signed(change)} %") for code, change in changes[::-1] if change > 0][:MOVED]
    explained = Markup(
        "ALP is the mean over held-out lines of the summed natural logarithms of their tokens’ probabilities "
        "(Equation 1): nats per line, always negative, better nearer to 0. In percent of each language’s own ALP "
        'long and short lines count alike. <a href="#comparison">All languages</a>'
    )
    return [
        Text("Largest gains and losses", "heading"),
        *(Text(headline(results, entry)) for entry in found),
        Text(f"Gain most with {name} against {one.reference}:"),
        Facts(gain),
        Text("Lose most:" if lose else "No language loses."),
        *([Facts(lose)] if lose else []),
        Text(explained),
    ]


def _counts(results: Results) -> list[tuple[str, str]]:
    """The run in numbers."""
    trained = sum(len(results.trained(code)) for code in results.curves)
    failed = sum(map(len, results.curves.values())) - trained
    lines = sum(stats.get("kept") or 0 for stats in results.corpora.values())
    totals = sorted({entry.setting("total") for entry in results.allocations.values()} - {None})
    of = f", T = {', '.join(f'{total:,}' for total in totals)}" if totals else ""
    counts = [
        ("Languages", results.languages, f"{len(results.languages):,}"),
        ("Text", results.corpora, f"{lines:,} lines, train and held out"),
        ("Vocabularies", results.curves, f"{trained:,} trained, {failed:,} sizes out of reach"),
        ("Allocations", results.allocations, f"{len(results.allocations)}{of}"),
        ("Tokenizers", results.tokenizers, f"{len(results.tokenizers)}"),
    ]
    facts = [(name, said if there else "not run") for name, there, said in counts]
    if results.seconds:
        slowest = max(results.seconds, key=results.seconds.get)
        facts.append(("Time of jobs", f"{duration(sum(results.seconds.values()))}, most of it {slowest}"))
    return facts


def _warnings(results: Results) -> list[Note]:
    """Notes above all numbers: languages without text, missing packages, T not reached."""
    notes = []
    if missing := [row for row in little_text(results) if not row["kept"]]:
        takes = "takes" if len(missing) == 1 else "take"
        names = listed([row["name"] for row in missing])
        said = f"{counted(len(missing), 'language')} without text {takes} no part: {names}."
        notes.append(_warning("Text is missing.", said, "corpora"))
    packages = [entry for entry in results.packages if entry.get("missing")]
    if packages:
        reasons = listed([f"{entry.get('package')} ({entry['missing']})" for entry in packages], 6)
        notes.append(
            _warning("Packages are missing.", f"The starter corpus was made without {reasons}.", "corpora")
        )
    if short := short_of_total(results):
        said = "; ".join(
            f"{row['kind']} {row['name']} is {counted(row['short'], 'id')} short"
            + (f" of {row['total']:,}" if row["total"] else "")
            for row in short
        )
        notes.append(_warning("T was not reached.", f"There were too few pieces: {said}.", "corpora"))
    if results.left:
        said = "; ".join(f"{kind} {', '.join(names)}" for kind, names in results.left.items())
        notes.append(Note(f"In the results folder, left from other configurations, not shown: {said}."))
    return notes


def _warning(title: str, text: str, section: str) -> Note:
    link = Markup('<strong>{}</strong> {} <a href="#{}">More</a>').format(title, text, section)
    return Note(link, "warning")


def settings(results: Results) -> Section:
    """The merged configuration, the versions, and the time of each stage where it is known."""
    blocks: list[Block] = [Facts(list(results.versions.items()))]
    if results.folder != "results" and not results.folder.startswith("/"):
        blocks.append(Text(f"On this page results/ stands for {results.folder}/, the folder of this run."))
    if results.seconds:
        blocks.append(Facts([(f"Time of {stage}", f"{spent:,.0f} s") for stage, spent in results.seconds.items()]))
    if results.settings:
        blocks.append(Code.of_file(results.settings, "the configuration of this run"))
    else:
        blocks.append(Note("The configuration was not given: --settings FILE shows it here."))
    return Section("settings", "Settings and versions", "Settings", blocks)
