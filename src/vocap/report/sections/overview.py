"""The tokenizer to take for each use, how far that holds, what loses by it, sentences,
how to load; the settings.
"""

import statistics
from collections.abc import Sequence
from itertools import accumulate, pairwise

from markupsafe import Markup

from vocap.errors import listed
from vocap.report.data.comparison import (
    INTERVALS,
    MEASURE,
    Size,
    front_page,
    sizes,
)
from vocap.report.data.results import CutSentence, Results, Stretch
from vocap.report.page.blocks import (
    CodeBlock,
    Cuts,
    Facts,
    Fold,
    Note,
    PageBlock,
    Paragraph,
    counted,
    first_open,
    not_run,
    text_of,
)
from vocap.report.page.tables import caption, format_number, signed

LOADS = {  # Python that loads each form
    "sentencepiece.model": "from sentencepiece import SentencePieceProcessor\n"
    'processor = SentencePieceProcessor(model_file="{}")',
    "tokenizer.json": 'from tokenizers import Tokenizer\ntokenizer = Tokenizer.from_file("{}")',
    "huggingface": "from transformers import AutoTokenizer\ntokenizer = "
    'AutoTokenizer.from_pretrained("{}")',
}
HELD_OUT = 5  # the first place of a measure of held-out lines among those of the front page
NOUNS = {  # of the measures that tokenizers are chosen by, the first that is measured
    "parallel_bits": "bits per byte of parallel text",
    "parallel_tokens": "tokens per sentence of parallel text",
    "bigram_bits_per_byte": "bits per byte of held-out lines",
    "tokens_per_sentence": "tokens per held-out line",
}
FEW_LINES = 10_000  # of the median language: tokenizers of more text differ in their order
FEW_HELD_OUT = 100  # lines of a language
OPEN = 2  # segmented sentences that are not folded


def section(results: Results) -> list[PageBlock]:
    """The tokenizer to take, sentences, gains and losses, how to load each, the run in
    numbers.
    """
    blocks: list[PageBlock] = []
    if not results.tokenizers:
        blocks.append(not_run("tokenizers", "No tokenizer has been made yet."))
    blocks += first_open(
        [(f"At {one.label}: {one.best}", _taken(results, one)) for one in sizes(results)]
    )
    if loads := _loads(results):
        which = f"each of {len(loads):,} tokenizers" if len(loads) > 1 else "the tokenizer"
        blocks.append(Fold(f"Python that loads {which}", loads))
    return [*blocks, *_cuts(results), Fold("The run in numbers", [Facts(_counts(results))])]


def _taken(results: Results, one: Size) -> list[PageBlock]:
    """The tokenizer to take at one T and for each use, the best by each measure, the
    languages that lose.
    """
    where = f" ({results.parallel_text})" if results.parallel_text else ""
    on = f", on parallel text{where}" if one.on_parallel_text else ", on held-out lines"
    said = Markup("<strong>{}.</strong> {}, {}{}.")
    blocks: list[PageBlock] = [
        Paragraph(said.format(_choice(one), one.label, counted(len(one.summary), "tokenizer"), on)),
        *_doubts(results, one),
    ]
    if not one.compared:
        return blocks
    best = []
    for measure in sorted(MEASURE.values(), key=lambda measure: measure.first):
        groups = one.regimes if measure.by_regime else {"": list(one.summary.index)}
        for regime, names in groups.items():
            values = one.summary[measure.key][names].dropna()
            # those from elsewhere, each of a regime of its own, do not compare
            foreign = measure.by_regime and not one.summary.own[names].any()
            if len(values) < 2 or not measure.first or foreign:
                continue
            name = values.idxmax() if measure.more_is_better else values.idxmin()
            title = measure.title if measure.first < HELD_OUT else f"{measure.title}, held out"
            title = f"{title}, {regime}" if regime and len(one.regimes) > 1 else title
            language = (
                f" ({results.name(one.summary.worst[name])})"
                if measure.key == "worst_ratio"
                else ""
            )
            best.append((title, f"{name} {_value(one, name, measure.key)}{language}"))
    if one.reached:
        blocks += [Facts(_uses(one)), *_losses(results, one)]
    return [
        *blocks,
        Fold("The best by each measure", [Facts(best)]),
    ]


def _choice(one: Size) -> str:
    """The tokenizer to take, and those that are as good."""
    if not one.reached:
        return "There is too little text to choose by"
    if not one.tied:
        return f"Take {one.best}"
    return f"A tie: take {one.best} or {' or '.join(one.tied)}"


def _doubts(results: Results, one: Size) -> list[Note]:
    """How far the choice holds: little text, few held-out lines, differences within the
    intervals, ids that are fewer than asked for; each with what to do.
    """
    said = []
    kept = [stats.get("kept") or 0 for stats in results.corpora.values()]
    middle = int(statistics.median(kept)) if any(kept) else None
    if middle is not None and middle < FEW_LINES:
        more = any(
            (stats.get("n") or 0) > (stats.get("kept") or 0) for stats in results.corpora.values()
        )
        remedy = "Raise corpora.max_sentences" if more else "Bring more text"
        said.append(
            f"The median language has {middle:,} lines of text: with more, the order of the "
            f"tokenizers can differ. {remedy}"
        )
    held = one.counted[one.counted.tokenizer == one.reference]
    few = held.language[held.lines < FEW_HELD_OUT] if not one.on_parallel_text else ()
    if len(few):
        names = listed([results.name(code) for code in few], 4)
        said.append(
            f"Fewer than {FEW_HELD_OUT} held-out lines decide for {names}. Bring more text, or "
            "name parallel text under corpora.parallel"
        )
    part = one.summary[INTERVALS.get(one.deciding, "heldout")]
    unclear = [name for name in one.level if part[name] == part[name] and part[name][1] > 0]
    if unclear:
        said.append(
            f"Bits per byte do not tell {listed(unclear)} from the fewest (95 % interval), so "
            "fewer tokens decide. More lines make the intervals smaller"
        )
    totals = one.summary.total[one.summary.own].dropna()
    if not one.reached:
        said.append(
            f"The tokenizers have from {totals.min():,} to {totals.max():,} ids, and more ids need "
            f"fewer tokens. To compare equals, take T = {totals.min():,} or less, or more text"
        )
    if not said:
        return []
    text = Markup("<strong>How far this holds.</strong> {}.").format(". ".join(said))
    return [Note(text, "warning")]


def _value(one: Size, name: str, key: str) -> str:
    return format_number(float(one.summary[key][name]), MEASURE[key])


def _uses(one: Size) -> list[tuple[str, str]]:
    """The tokenizer to take for each use, with the figures of this run that say so."""
    own, best = one.summary[one.summary.own], one.best
    # the first choice, and those that bits do not tell from the fewest
    near = [name for name in one.level if name != best and name not in one.tied]
    level = f"; {listed(near)} not told apart by bits, with more tokens" if near else ""
    measured = f"the highest ALP in percent of each language’s under {one.reference}"
    if one.deciding in NOUNS:
        measured = f"{_value(one, best, one.deciding)} {NOUNS[one.deciding]}"
    either = f" or {' or '.join(one.tied)}" if one.tied else ""
    uses = [("For an encoder", f"{best}{either}, {measured}{level}")]
    # all text comes back, else every byte has a token
    lossless, whole = own[own.round_trip == 1], own[own.bytes]
    pool = lossless if len(lossless) else whole
    key = next((key for key in NOUNS if len(pool) and pool[key].notna().all()), "")
    said = "none of this run gives all text back or has a token for every byte"
    if key:
        name = pool[key].idxmin()
        back = (
            f"; {_value(one, name, 'round_trip')} of the lines come back"
            if own.round_trip[name] >= 0
            else ""
        )
        said = f"{name}, {_value(one, name, key)} {NOUNS[key]}{back}"
    remedy = "" if len(lossless) else "; text: {preset: lossless} gives back all"
    uses.append(("For a model that writes text", f"{said}{remedy}"))
    # the most equal
    said = "not measured: parallel text is missing (corpora.parallel)"
    if own.gini.count() > 1:
        name = own.gini.idxmin()
        more = 100 * (own.parallel_tokens[name] / own.parallel_tokens[best] - 1)
        than = f", {signed(more)} % tokens against {best}" if name != best else ""
        said = f"{name}, Gini coefficient {_value(one, name, 'gini')}{than}"
    return [*uses, ("For equal cost in all languages", said)]


def _losses(results: Results, one: Size) -> list[PageBlock]:
    """Every language that another tokenizer serves better."""
    other = one.reference if one.best != one.reference else one.compared[0]
    unit = {"percent": "own ALP", "bigram_bits_per_byte": "bits per byte of held-out lines"}.get(
        one.deciding, "tokens per sentence of parallel text"
    )
    texts = []
    # all losses, by the tokenizer that is better
    groups: dict[str, list[str]] = {}
    for code, (change, name) in one.losses.items():
        groups.setdefault(name, []).append(f"{results.name(code)} {signed(change)} %")
    if groups:
        measured = counted(len(one.changes(one.best, other)), "language")
        of = f"{len(one.losses)} of {measured}, in percent of its {unit}"
        lost = "; ".join(f"to {name} {listed(found)}" for name, found in groups.items())
        texts.append(f"{one.best} loses against another tokenizer in {of}: {lost}.")
    else:
        texts.append(f"No other tokenizer is better than {one.best} in any language.")
    texts.append(caption("overview") if one.deciding == "percent" else "")
    return [Paragraph(text) for text in texts if text]


def _loads(results: Results) -> list[CodeBlock]:
    """Every tokenizer of this run, with the lines that load it from the folder of the
    command.
    """
    blocks = []
    for tokenizer in results.configured_tokenizers():
        place = f"{results.folder}/tokenizers/{tokenizer.name}"
        lines = [LOADS[form].format(f"{place}/{form}") for form in tokenizer.forms]
        read = tokenizer.text.get("lines")
        said = [
            f"{tokenizer.total:,} ids" if tokenizer.total is not None else "",
            results.method(tokenizer),
            f"{read:,} lines" if read is not None else "",
        ]
        if lines:
            blocks.append(
                CodeBlock(tokenizer.name, "\n".join(lines), ", ".join(filter(None, said)))
            )
    return blocks


def _cuts(results: Results) -> list[PageBlock]:
    if not results.sentences:
        return []
    names = front_page(results)
    sentences = []
    for one in results.sentences:
        cuts = [_cut(name, one, place) for place, name in enumerate(names)]
        sentences.append((results.name(one.language), one.language, cuts))
    marked = "; underlined are tokens that the other does not have there" if len(names) > 1 else ""
    said = (
        f"A typical held-out line of each of {counted(len(sentences), 'language')}, segmented by "
        f"{' and '.join(names)}. Colours change where a token ends{marked}."
    )
    heading = "The same sentence under both" if len(names) > 1 else "Segmented sentences"
    blocks: list[PageBlock] = [Paragraph(heading, "heading"), Paragraph(said)]
    blocks.append(Cuts(sentences[:OPEN]))
    if more := sentences[OPEN:]:
        blocks.append(Fold(f"{counted(len(more), 'language')} more", [Cuts(more)]))
    return blocks


def _cut(name: str, sentence: CutSentence, place: int) -> tuple[str, int, list[tuple[str, str]]]:
    """Stretches with their classes: `d` where another tokenizer has no such token, `u`
    for <unk>.
    """
    spans = [_spans(cut) for cut, _ in sentence.cuts]
    others = [set(found) for k, found in enumerate(spans) if k != place]
    cut, tokens = sentence.cuts[place]
    stretches = []
    for (text, unknown), span in zip(cut, spans[place], strict=True):
        marks = []
        if any(span not in other for other in others):
            marks.append("d")
        if unknown:
            marks.append("u")
        stretches.append((text, " ".join(marks)))
    return name, tokens, stretches


def _spans(cut: Sequence[Stretch]) -> list[tuple[int, int]]:
    """Begin and end of each stretch in its line."""
    return list(pairwise(accumulate((len(text) for text, _ in cut), initial=0)))


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
    return [(name, said if there else "not run") for name, there, said in counts]


def settings(results: Results) -> list[PageBlock]:
    """The merged configuration, the versions, and results of other configurations."""
    blocks: list[PageBlock] = [Paragraph(f"Made with {text_of(results.versions)}.")]
    if results.left:
        said = "; ".join(f"{kind} {', '.join(names)}" for kind, names in results.left.items())
        blocks.append(
            Note(f"In the results folder, left from other configurations, not shown: {said}.")
        )
    if results.settings:
        blocks.append(CodeBlock.of_file(results.settings, "the configuration of this run"))
    else:
        blocks.append(Note("The configuration was not given: --settings FILE shows it here."))
    return blocks
