"""The first part of the page: the tokenizer to take, the ids that it gives to each language and
what a sentence costs there, in one sentence and one picture; then the tokenizer for each use,
what loses by it, how each loads, and sentences that are cut.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from vocap.errors import listed
from vocap.report.data.comparison import Size, frame, front_page, sizes
from vocap.report.data.decision import programs
from vocap.report.data.results import AllocationResults, Results, Stretch, Tokenizer
from vocap.report.page.blocks import (
    CodeBlock,
    Cuts,
    Facts,
    Fold,
    Note,
    PageBlock,
    Paragraph,
    not_run,
)
from vocap.report.page.figures import Figure, drawn_as
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Column, Table, caption, counted, specified
from vocap.report.paper import paper_size
from vocap.report.sections.corpora import little_text, short_of_total
from vocap.tables.frames import records
from vocap.tokenizers.settings import Vocap

PAPER_SIZES = "paper_allocated_thousands"
NAMED = 3  # languages of one size that the sentence names; of more it has the number
LOADS = {  # Python that loads each form
    "sentencepiece.model": "from sentencepiece import SentencePieceProcessor\n"
    'processor = SentencePieceProcessor(model_file="{}")',
    "tokenizer.json": 'from tokenizers import Tokenizer\ntokenizer = Tokenizer.from_file("{}")',
    "huggingface": "from transformers import AutoTokenizer\ntokenizer = "
    'AutoTokenizer.from_pretrained("{}")',
}
# measures that a tokenizer for a model that writes is chosen by: the first that all have
WRITING = ("parallel_bits", "parallel_tokens", "bigram_bits_per_byte", "tokens_per_sentence")
FEW_LINES = 10_000  # of the median language: tokenizers of more text differ in their order
FEW_HELD_OUT = 100  # lines of a language
OPEN = 2  # segmented sentences that are not folded


@dataclass(frozen=True)
class Shares:
    """What a tokenizer, or an allocation without one, gives to each language.

    `ids`: by language those of its vocabulary before all are merged; where `counted`,
    as `allocation` has no sizes, those that an equal amount of its training text uses, else
    its held-out text. `costs`: its tokens of parallel text over those of English.
    """

    name: str
    kind: str
    total: int | None  # T as asked for
    reached: int | None  # ids that there are
    allocation: AllocationResults | None
    ids: dict[str, int]
    costs: dict[str, float]

    @property
    def counted(self) -> bool:
        """Whether the ids are those that text uses."""
        return self.allocation is None

    @property
    def short(self) -> bool:
        """Whether the text does not give T ids."""
        return bool(self.total and self.reached and self.reached < self.total)


def section(results: Results) -> list[PageBlock]:
    """The answer at the smallest T, its picture and numbers, the advice by use, the answers at
    other T, how to load each, sentences.
    """
    found = {one.name: one for one in shares(results)}
    if not found:
        return [*_warnings(results), not_run("tokenizers", "No tokenizer has been made yet.")]
    compared = sizes(results)
    default = next(iter(found.values()))
    answers = [found.get(one.choice.best, default) for one in compared] or [default]
    first, size = answers[0], next(iter(compared), None)
    pictured = [first, *(one for one in found.values() if one is not first)]
    blocks = [
        *_answer(results, first, size),
        *_warnings(results),
        _figure(results, pictured),
        _table(results, pictured),
        *_advice(results, size),
    ]
    for share, one in zip(answers[1:], compared[1:], strict=True):
        said = [*_answer(results, share, one), *_advice(results, one)]
        blocks.append(Fold(f"At {one.label}: {one.choice.best}", said))
    if loads := _loads(results):
        which = f"each of {len(loads):,} tokenizers" if len(loads) > 1 else "the tokenizer"
        blocks.append(Fold(f"Python that loads {which}", loads))
    return [*blocks, *_cuts(results)]


def shares(results: Results) -> list[Shares]:
    """Those of VOCAP tokenizers, of other allocations, of other tokenizers, then of
    allocations that no tokenizer is made from; without sizes of a language none.
    """
    made = [
        one
        for one in results.configured_tokenizers()
        if one.kind_class.merged or not one.kind_class.made
    ]
    used = [one.allocation for one in made]
    found = [_of_tokenizer(results, one) for one in made]
    found += [_of_allocation(one) for one in results.allocations.values() if one not in used]
    found.sort(key=lambda one: (one.kind != Vocap.label, one.counted))
    return [one for one in found if one.ids]


def _of_allocation(entry: AllocationResults) -> Shares:
    kind = entry.text_rule.name.upper() if entry.text_rule else Vocap.label
    total = entry.setting("total")
    reached = total and total - (entry.summary.get("short") or 0)
    ids = {code: size for code, size in entry.sizes.items() if size}
    return Shares(entry.name, kind, total, reached, entry, ids, {})


def _of_tokenizer(results: Results, tokenizer: Tokenizer) -> Shares:
    every = frame(results)
    rows = every[every.tokenizer == tokenizer.name].set_index("language")
    allocation = tokenizer.allocation
    ids: Mapping[str, float | None] = allocation.sizes if allocation else {}
    if not ids:
        allocation = None
        held_out = rows.vocabulary_used * (tokenizer.total or 0)
        ids = rows.training_ids.fillna(held_out).fillna(0).to_dict()
    return Shares(
        tokenizer.name,
        tokenizer.kind_label,
        tokenizer.asked,
        tokenizer.total,
        allocation,
        {code: round(size) for code, size in ids.items() if size},
        rows.ratio_to_english.dropna().to_dict(),
    )


def _answer(results: Results, share: Shares, one: Size | None) -> list[PageBlock]:
    """The sentence, and why it is so."""
    values = {"results": results, "share": share, "one": one}
    # the amounts of text of the languages that get the most and the fewest ids
    rows = columns(results, share)
    ends = [(row["n"], results.lines(row["l"]) or 0) for row in (rows[0], rows[-1])]
    why = sentence("reasons", **values, ends=ends)
    said = Paragraph(sentence("answer", **values, **_ends(results, share)), "answer")
    return [said, Paragraph(why, "reason")] if why else [said]


def _ends(results: Results, share: Shares) -> dict[str, Any]:
    """The smallest and the largest number of ids, the languages of these, by name or of many
    their number; and the languages other than English by their costs.
    """
    found: dict[str, Any] = {}
    for end, size in (("least", min(share.ids.values())), ("most", max(share.ids.values()))):
        names = [results.name(code) for code in results.languages if share.ids.get(code) == size]
        said = listed(names) if len(names) <= NAMED else counted(len(names), "language")
        found[end] = (size, said)
    costs = [(cost, results.name(code)) for code, cost in share.costs.items() if code != "en"]
    return found | {"costs": sorted(costs)}


def _doubts(results: Results, one: Size) -> list[PageBlock]:
    """How far the choice holds: little text, few held-out lines, ids that are fewer than
    asked for; each with what to do.
    """
    corpora = results.corpora.values()
    middle = statistics.median([stats.get("kept") or 0 for stats in corpora] or [0])
    held = one.counted[one.counted.tokenizer == one.reference]
    few = held.language[held.lines < FEW_HELD_OUT] if not one.choice.on_parallel_text else ()
    values = {
        "middle": int(middle) if middle < FEW_LINES else 0,
        "few": list(map(results.name, few)),
        "totals": () if one.reached else (one.own.total.min(), one.own.total.max()),
    }
    if not any(values.values()):
        return []
    more = any((stats.get("n") or 0) > (stats.get("kept") or 0) for stats in corpora)
    return [Note(sentence("doubts", **values, more=more), "warning")]


def _advice(results: Results, one: Size | None) -> list[PageBlock]:
    """How far the choice holds, the tokenizer for each use, with the figures of this run that
    say so and the programs that load it, and every language that another tokenizer serves better.
    """
    doubts = _doubts(results, one) if one else []
    if not (one and one.reached and one.compared):
        return doubts
    own, best = one.own, one.choice.best
    # for a model that writes: byte-pair encoding, of lossless text where there is some
    writers = own[own.byte_pair]
    lossless = writers[writers.round_trip == 1]
    writers = lossless if len(lossless) else writers
    key = next((key for key in WRITING if len(writers) and writers[key].notna().all()), "")
    writer = writers[key].idxmin() if key else ""
    equal = own.gini.idxmin() if own.gini.count() > 1 else ""
    more = 100 * (own.parallel_tokens[equal] / own.parallel_tokens[best] - 1) if equal else 0.0
    uses = {
        "For an encoder": (best, sentence("encoder", one=one)),
        "For a model that writes text": (writer, sentence("writer", one=one, name=writer, key=key)),
        "For equal cost in all languages": (
            equal,
            sentence("equal", one=one, name=equal, more=more),
        ),
    }
    facts = [
        (use, sentence("programs", said=said, names=programs(results, name)))
        for use, (name, said) in uses.items()
    ]
    losses = one.losses().reset_index()
    losses["language"] = losses.language.map(results.name)
    lost = records(losses[losses.change < 0])
    text = sentence("losses", one=one, lost=lost, measured=len(losses))
    blocks = [*doubts, Facts(facts), Paragraph(text)]
    return blocks if one.choice.deciding != "percent" else [*blocks, Paragraph(caption("overview"))]


def _figure(results: Results, found: Sequence[Shares]) -> Figure:
    shown = [
        {"name": one.name, "counted": one.counted, "rows": columns(results, one)} for one in found
    ]
    first = found[0]
    # bars of ids above, marks of costs below, the language of most ids at the left; a live
    # one marks the column of the language that is named
    chart = {
        "name": first.name,
        "counted": first.counted,
        "priced": bool(first.costs),
        "groups": results.colours(),
    }
    return drawn_as(
        "languages",
        columns(results, first),
        chart,
        controls={"tokenizers": shown},
        count=len(first.ids),
        shown=first.name,
        said=sentence("given", share=first, **_ends(results, first)).unescape(),
    )


def columns(results: Results, one: Shares) -> list[dict[str, Any]]:
    """A row for each language, most ids first, of equal ones the dearest: l(anguage),
    n(ame), g(roup by n), s(ize), c(ost), q (the paper's size).
    """
    rows = [
        {
            "l": code,
            "n": results.name(code),
            "g": results.amounts[code],
            "s": size,
            "c": one.costs.get(code) and round(one.costs[code], 4),
            "q": paper_size(code, PAPER_SIZES),
        }
        for code, size in one.ids.items()
    ]
    return sorted(rows, key=lambda row: (-row["s"], -(row["c"] or 0), row["n"]))


def _table(results: Results, found: Sequence[Shares]) -> Table:
    """The numbers of the picture, of every tokenizer."""
    columns: dict[Column, Mapping[str, Any]] = {}
    for one in found:
        noun = "ids used" if one.counted else "ids"
        columns[Column(f"size_{one.name}", f"{one.name}, {noun}", "number")] = one.ids
        if one.costs:
            columns[Column(f"times_{one.name}", "times English", "number", 2)] = one.costs
    paper = {code: paper_size(code, PAPER_SIZES) for code in results.languages}
    columns[Column("paper", "The paper, 1,000 pieces", "number")] = paper
    return specified("language-sizes", results.rows(columns), [*columns])


def _warnings(results: Results) -> list[Note]:
    """A note above all numbers: languages without text, missing packages, warnings of the
    allocations, each once with their names, and T that the text does not reach.
    """
    said: dict[str, list[str]] = {}
    for entry in results.allocations.values():
        unknown = "no summary.json: the settings and the clipping are not known"
        # a T that the text does not reach stands below
        told = [] if entry.summary.get("short") else entry.warnings
        for text in told if entry.summary else [unknown]:
            said.setdefault(f"{text[:1].upper()}{text[1:]}", []).append(entry.name)
    text = sentence(
        "warnings",
        missing=[row["name"] for row in little_text(results) if not row["kept"]],
        packages=[entry for entry in results.packages if entry.get("missing")],
        said=said,
        short=short_of_total(results),
    )
    return [Note(text, "warning")] if text else []


def _loads(results: Results) -> list[CodeBlock]:
    """Every tokenizer of this run, with the lines that load it from the folder of the
    command.
    """
    blocks = []
    for one in results.configured_tokenizers():
        place = f"{results.folder}/tokenizers/{one.name}"
        lines = [LOADS[form].format(f"{place}/{form}") for form in one.forms]
        if lines:
            remark = sentence("made", one=one, method=one.method)
            blocks.append(CodeBlock(one.name, "\n".join(lines), remark))
    return blocks


def _cuts(results: Results) -> list[PageBlock]:
    """Example sentences. Stretches have the class `d` where another tokenizer has no such token,
    `u` for <unk>.
    """
    if not results.sentences:
        return []
    names = front_page(results)
    sentences = []
    for line in results.sentences:
        # of two tokenizers the stretches of the other come beside those of one
        spans = [_spans(cut) for cut, _ in line.cuts]
        cuts = []
        for name, (cut, tokens), own, other in zip(
            names, line.cuts, spans, spans[::-1], strict=True
        ):
            stretches = [
                (text, ("d " * (span not in other) + "u" * unknown).strip())
                for (text, unknown), span in zip(cut, own, strict=True)
            ]
            cuts.append((name, tokens, stretches))
        sentences.append((results.name(line.language), line.language, cuts))
    heading = "The same sentence under both" if len(names) > 1 else "Segmented sentences"
    blocks: list[PageBlock] = [
        Paragraph(heading, "heading"),
        Paragraph(sentence("cuts", count=len(sentences), names=names)),
    ]
    blocks.append(Cuts(sentences[:OPEN]))
    if more := sentences[OPEN:]:
        blocks.append(Fold(f"{counted(len(more), 'language')} more", [Cuts(more)]))
    return blocks


def _spans(cut: Sequence[Stretch]) -> list[tuple[int, int]]:
    """Begin and end of each stretch in its line."""
    return list(pairwise(accumulate((len(text) for text, _ in cut), initial=0)))
