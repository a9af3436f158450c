"""The tokenizer to take for each use, how far that holds, what loses by it, sentences,
how to load; the settings.
"""

import statistics
from collections.abc import Sequence, Sized
from itertools import accumulate, pairwise

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
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import caption, signed

LOADS = {  # Python that loads each form
    "sentencepiece.model": "from sentencepiece import SentencePieceProcessor\n"
    'processor = SentencePieceProcessor(model_file="{}")',
    "tokenizer.json": 'from tokenizers import Tokenizer\ntokenizer = Tokenizer.from_file("{}")',
    "huggingface": "from transformers import AutoTokenizer\ntokenizer = "
    'AutoTokenizer.from_pretrained("{}")',
}
HELD_OUT = 5  # the first place of a measure of held-out lines among those of the front page
# measures that a tokenizer for a model that writes is chosen by: the first that all have
WRITING = ("parallel_bits", "parallel_tokens", "bigram_bits_per_byte", "tokens_per_sentence")
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
        [(f"At {one.label}: {one.choice.best}", _taken(results, one)) for one in sizes(results)]
    )
    if loads := _loads(results):
        which = f"each of {len(loads):,} tokenizers" if len(loads) > 1 else "the tokenizer"
        blocks.append(Fold(f"Python that loads {which}", loads))
    return [*blocks, *_cuts(results), Fold("The run in numbers", [Facts(_counts(results))])]


def _taken(results: Results, one: Size) -> list[PageBlock]:
    """The tokenizer to take at one T and for each use, the best by each measure, the
    languages that lose.
    """
    text = sentence("taken", one=one, text=results.parallel_text)
    blocks: list[PageBlock] = [Paragraph(text), *_doubts(results, one)]
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
            held_out = measure.first >= HELD_OUT
            told = regime if len(one.regimes) > 1 else ""
            title = sentence("best", title=measure.title, held_out=held_out, regime=told)
            language = (
                f" ({results.name(one.summary.worst[name])})"
                if measure.key == "worst_ratio"
                else ""
            )
            best.append((title, f"{name} {one.value(name, measure.key)}{language}"))
    if one.reached:
        blocks += [Facts(_uses(one)), *_losses(results, one)]
    return [
        *blocks,
        Fold("The best by each measure", [Facts(best)]),
    ]


def _doubts(results: Results, one: Size) -> list[Note]:
    """How far the choice holds: little text, few held-out lines, differences within the
    intervals, ids that are fewer than asked for; each with what to do.
    """
    corpora = results.corpora.values()
    kept = [stats.get("kept") or 0 for stats in corpora]
    middle = int(statistics.median(kept)) if any(kept) else FEW_LINES
    held = one.counted[one.counted.tokenizer == one.reference]
    few = held.language[held.lines < FEW_HELD_OUT] if not one.choice.on_parallel_text else ()
    part = one.summary[INTERVALS.get(one.choice.deciding, "heldout")]
    unclear = [name for name in one.choice.level if part[name] == part[name] and part[name][1] > 0]
    totals = one.own.total.dropna()
    values = {
        "middle": middle if middle < FEW_LINES else None,
        "few": [results.name(code) for code in few],
        "unclear": unclear,
        "totals": None if one.reached else (totals.min(), totals.max()),
    }
    if not any(value is not None and value != [] for value in values.values()):
        return []
    more = any((stats.get("n") or 0) > (stats.get("kept") or 0) for stats in corpora)
    return [Note(sentence("doubts", **values, more=more, fewest=FEW_HELD_OUT), "warning")]


def _uses(one: Size) -> list[tuple[str, str]]:
    """The tokenizer to take for each use, with the figures of this run that say so."""
    own = one.own
    # those that bits do not tell from the fewest
    near = [name for name in one.choice.level if name not in one.choice.names]
    # all text comes back, else every byte has a token
    lossless = own[own.round_trip == 1]
    pool = lossless if len(lossless) else own[own.bytes]
    key = next((key for key in WRITING if len(pool) and pool[key].notna().all()), "")
    writes = pool[key].idxmin() if key else ""
    # the most equal
    equal = own.gini.idxmin() if own.gini.count() > 1 else ""
    tokens = own.parallel_tokens
    more = 100 * (tokens[equal] / tokens[one.choice.best] - 1) if equal else 0.0
    return [
        ("For an encoder", sentence("encoder", one=one, near=near)),
        (
            "For a model that writes text",
            sentence("writer", one=one, name=writes, key=key, lossless=len(lossless)),
        ),
        (
            "For equal cost in all languages",
            sentence("equal", one=one, name=equal, more=more),
        ),
    ]


def _losses(results: Results, one: Size) -> list[PageBlock]:
    """Every language that another tokenizer serves better."""
    best, deciding = one.choice.best, one.choice.deciding
    other = one.reference if best != one.reference else one.compared[0]
    units = {"percent": "own ALP", "bigram_bits_per_byte": "bits per byte of held-out lines"}
    groups: dict[str, list[str]] = {}  # by the tokenizer that is better
    for code, (change, name) in one.losses.items():
        groups.setdefault(name, []).append(f"{results.name(code)} {signed(change)} %")
    text = sentence(
        "losses",
        best=best,
        groups=groups,
        lost=len(one.losses),
        measured=len(one.changes(best, other)),
        unit=units.get(deciding, "tokens per sentence of parallel text"),
    )
    said: list[PageBlock] = [Paragraph(text)]
    return [*said, Paragraph(caption("overview"))] if deciding == "percent" else said


def _loads(results: Results) -> list[CodeBlock]:
    """Every tokenizer of this run, with the lines that load it from the folder of the
    command.
    """
    blocks = []
    for tokenizer in results.configured_tokenizers():
        place = f"{results.folder}/tokenizers/{tokenizer.name}"
        lines = [LOADS[form].format(f"{place}/{form}") for form in tokenizer.forms]
        if lines:
            method, text = results.method(tokenizer), tokenizer.text
            remark = sentence("made", total=tokenizer.total, method=method, text=text)
            blocks.append(CodeBlock(tokenizer.name, "\n".join(lines), remark))
    return blocks


def _cuts(results: Results) -> list[PageBlock]:
    if not results.sentences:
        return []
    names = front_page(results)
    sentences = []
    for one in results.sentences:
        cuts = [_cut(name, one, place) for place, name in enumerate(names)]
        sentences.append((results.name(one.language), one.language, cuts))
    heading = "The same sentence under both" if len(names) > 1 else "Segmented sentences"
    blocks: list[PageBlock] = [
        Paragraph(heading, "heading"),
        Paragraph(sentence("cuts", count=len(sentences), names=names)),
    ]
    blocks.append(Cuts(sentences[:OPEN]))
    if more := sentences[OPEN:]:
        blocks.append(Fold(f"{counted(len(more), 'language')} more", [Cuts(more)]))
    return blocks


def _cut(name: str, line: CutSentence, place: int) -> tuple[str, int, list[tuple[str, str]]]:
    """Stretches with their classes: `d` where another tokenizer has no such token, `u`
    for <unk>.
    """
    spans = [_spans(cut) for cut, _ in line.cuts]
    others = [set(found) for k, found in enumerate(spans) if k != place]
    cut, tokens = line.cuts[place]
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
    parts: dict[str, Sized] = {
        "Languages": results.languages,
        "Text": results.corpora,
        "Vocabularies": results.curves,
        "Allocations": results.allocations,
        "Tokenizers": results.tokenizers,
    }
    values = {"lines": lines, "trained": trained, "failed": failed, "totals": totals}
    return [
        (name, sentence("count", name=name, there=len(there), **values))
        for name, there in parts.items()
    ]


def settings(results: Results) -> list[PageBlock]:
    """The merged configuration, the versions, and results of other configurations."""
    blocks: list[PageBlock] = [Paragraph(f"Made with {text_of(results.versions)}.")]
    if results.left:
        blocks.append(Note(sentence("left", left=results.left)))
    if results.settings:
        blocks.append(CodeBlock.of_file(results.settings, "the configuration of this run"))
    else:
        blocks.append(Note("The configuration was not given: --settings FILE shows it here."))
    return blocks
