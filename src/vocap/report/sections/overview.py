"""The front page: the tokenizer to take, sentences, gains and losses, how to load each; and the run's settings."""

from itertools import accumulate

from markupsafe import Markup

from vocap.report.data.comparison import Size, front_page, method, sizes, text_facts
from vocap.report.data.results import Results, Sentence
from vocap.report.page.blocks import Block, Code, Cuts, Facts, Fold, Note, Section, Text, counted, not_run, text_of
from vocap.report.page.tables import caption, signed
from vocap.report.sections.comparison import headline
from vocap.report.sections.corpora import little_text, short_of_total
from vocap.wording import listed

LOADS = {  # Python that loads each form
    "sentencepiece.model": "from sentencepiece import SentencePieceProcessor\n"
    'processor = SentencePieceProcessor(model_file="{}")',
    "tokenizer.json": 'from tokenizers import Tokenizer\ntokenizer = Tokenizer.from_file("{}")',
    "huggingface": 'from transformers import AutoTokenizer\ntokenizer = AutoTokenizer.from_pretrained("{}")',
}
MOVED = 5  # languages that gain most, and that lose most


def section(results: Results) -> Section:
    """Warnings, then the tokenizer to take, sentences, gains and losses, how to load each, the run in numbers."""
    blocks: list[Block] = [*_warnings(results)]
    if not results.tokenizers:
        blocks.append(not_run("tokenizers", "No tokenizer has been made yet."))
    loads, said = _loads(results), Markup("<strong>Take {}.</strong> {}")
    for place, one in enumerate(found := sizes(results)):
        take = Text(said.format(one.best, headline(results, one)))
        part = [take, *(load for load in loads if load.title == one.best)]
        blocks += part if place == 0 else [Fold(f"At {one.label}: {one.best}", part)]
    if loads:
        blocks.append(Fold(f"Python that loads each of {counted(len(loads), 'tokenizer')}", loads))
    blocks += [*_cuts(results), *_movers(results, found), Facts(_counts(results))]
    return Section("overview", "Your tokenizers", "Start", blocks)


def _loads(results: Results) -> list[Code]:
    """Every tokenizer of this run, with the lines that load it from the folder of the command."""
    blocks = []
    for tokenizer in results.configured_tokenizers():
        place = f"{results.folder}/tokenizers/{tokenizer.name}"
        lines = [LOADS[form].format(f"{place}/{form}") for form in tokenizer.forms]
        read = text_facts(tokenizer).get("lines")
        said = [
            f"{tokenizer.total:,} ids" if tokenizer.total is not None else "",
            method(results, tokenizer),
            f"{read:,} lines" if read is not None else "",
        ]
        if lines:
            blocks.append(Code(tokenizer.name, "\n".join(lines), ", ".join(filter(None, said))))
    return blocks


def _cuts(results: Results) -> list[Block]:
    if not results.sentences:
        return []
    names = front_page(results)
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


def _movers(results: Results, found: list[Size]) -> list[Block]:
    """The languages that gain and lose most at the first T, by the best beside the reference."""
    one = next((one for one in found if one.compared), None)
    if one is None:
        return []
    name = one.compared[0]
    rows = one.counted[one.counted.tokenizer == name].sort_values("percent", kind="stable")
    changes = list(zip(rows.language, rows.percent, strict=True))
    lose = [change for change in changes if change[1] < 0][:MOVED]
    gain = [change for change in changes[::-1] if change[1] > 0][:MOVED]
    ends = [
        ", ".join(f"{results.name(code)} {signed(change)} %" for code, change in some) or "none"
        for some in (gain, lose)
    ]
    said = Markup(
        '{} against {}, in percent of each language’s own ALP: {}. <a href="#comparison">All languages</a>'
    )
    return [
        Text("Largest gains and losses", "heading"),
        Text(said.format(name, one.reference, f"gain most: {ends[0]}; lose most: {ends[1]}")),
        Text(caption("overview")),
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
    return notes


def _warning(title: str, text: str, section: str) -> Note:
    link = Markup('<strong>{}</strong> {} <a href="#{}">More</a>').format(title, text, section)
    return Note(link, "warning")


def settings(results: Results) -> Section:
    """The merged configuration, the versions, and results of other configurations."""
    blocks: list[Block] = [Text(f"Made with {text_of(results.versions)}.")]
    if results.folder != "results" and not results.folder.startswith("/"):
        blocks.append(Text(f"On this page results/ stands for {results.folder}/, the folder of this run."))
    if results.left:
        said = "; ".join(f"{kind} {', '.join(names)}" for kind, names in results.left.items())
        blocks.append(Note(f"In the results folder, left from other configurations, not shown: {said}."))
    if results.settings:
        blocks.append(Code.of_file(results.settings, "the configuration of this run"))
    else:
        blocks.append(Note("The configuration was not given: --settings FILE shows it here."))
    return Section("settings", "Settings and versions", "Settings", blocks)
