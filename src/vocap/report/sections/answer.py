"""The first screen: the ids that each language gets and what a sentence costs it, in
one sentence and one picture.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from vocap.allocation.inputs import UNEVEN
from vocap.errors import listed
from vocap.report.data.comparison import Size, frame, sizes
from vocap.report.data.results import AllocationResults, Results, Tokenizer
from vocap.report.page import figures
from vocap.report.page.blocks import Note, PageBlock, Paragraph, counted, not_run
from vocap.report.page.figures import Chart, Figure, drawn_as
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Column, Table, specified
from vocap.report.paper import paper_size
from vocap.report.sections.corpora import little_text, short_of_total
from vocap.tokenizers.settings import Vocap

PAPER_SIZES = "paper_allocated_thousands"
ENGLISH = "en"
ALIKE = 1.1  # times as many lines, below which they explain no difference of sizes
NAMED = 3  # languages of one size that the sentence names; of more it has the number
PRICED, UNPRICED = 300, 150  # px of the picture with costs and without
# of the picture's columns: title, key of its row, decimals of a number
TOOLTIP = [
    ["language", "n", None],
    ["ids", "s", 0],
    ["before", "b", 0],
    ["times English", "c", 2],
    ["the paper, 1,000 pieces", "q", 0],
]


@dataclass(frozen=True)
class Shares:
    """What a tokenizer, or an allocation without one, gives to each language.

    `ids`: by language those of its vocabulary before all are merged; where `counted`,
    as `allocation` has no sizes, those that occur in its held-out text. `costs`: its
    tokens of parallel text over those of English.
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
        """Whether the ids are those of held-out text."""
        return self.allocation is None

    @property
    def short(self) -> bool:
        """Whether the text does not give T ids."""
        return bool(self.total and self.reached and self.reached < self.total)

    @property
    def heading(self) -> str:
        """What the bars are, above the picture."""
        what = "that its held-out text uses" if self.counted else "of each language"
        return f"{self.name}: ids {what}"

    @property
    def price(self) -> str:
        """What the lower marks are."""
        return f"{self.name}: tokens, times English"


def section(results: Results) -> list[PageBlock]:
    """The sentence, the warnings, the picture, and its numbers folded."""
    found = shares(results)
    if not found:
        if results.tokenizers or results.allocations:
            return [*_warnings(results), Note("No size of a language is known yet.")]
        return [*_warnings(results), not_run("tokenizers", "No tokenizer has been made yet.")]
    return [
        Paragraph(answer(results, found), "answer"),
        *(Paragraph(text, "reason") for text in (reasons(results, found[0]),) if text),
        *_warnings(results),
        _figure(results, found),
        _table(results, found),
    ]


def shares(results: Results) -> list[Shares]:
    """The VOCAP tokenizer of the smallest T, without one another allocation, then all
    others, then allocations that no tokenizer is made from.
    """
    found = [
        _of_tokenizer(results, tokenizer)
        for tokenizer in results.configured_tokenizers()
        if tokenizer.kind_class.merged or not tokenizer.kind_class.made
    ]
    made = [results.allocation_of(one) for one in results.configured_tokenizers()]
    used = {one.name for one in made if one}
    found += [_of_allocation(one) for name, one in results.allocations.items() if name not in used]
    found = [one for one in found if one.ids]
    if not found:
        return []
    asked = min((one.total for one in found if one.total is not None), default=None)
    first = min(found, key=lambda one: (one.total != asked, one.kind != Vocap.label, one.counted))
    return [first, *(one for one in found if one is not first)]


def _of_allocation(entry: AllocationResults) -> Shares:
    kind = entry.rule.name.upper() if entry.rule and entry.rule.needs_text else Vocap.label
    total = entry.setting("total")
    reached = total and total - (entry.summary.get("short") or 0)
    ids = {code: size for code, size in entry.sizes.items() if size}
    return Shares(entry.name, kind, total, reached, entry, ids, {})


def _of_tokenizer(results: Results, tokenizer: Tokenizer) -> Shares:
    every = frame(results)
    rows = every[every.tokenizer == tokenizer.name].set_index("language")
    allocation = results.allocation_of(tokenizer)
    ids: Mapping[str, float | None] = allocation.sizes if allocation else {}
    if not ids:
        allocation = None
        ids = (rows.vocabulary_used.fillna(0) * (tokenizer.total or 0)).to_dict()
    return Shares(
        tokenizer.name,
        results.kind_label(tokenizer),
        results.asked(tokenizer),
        tokenizer.total,
        allocation,
        {code: round(size) for code, size in ids.items() if size},
        rows.ratio_to_english.dropna().to_dict(),
    )


def answer(results: Results, found: Sequence[Shares]) -> str:
    """The sentence: what a language gets, the tokenizer to take, what its sentence
    costs.
    """
    first, one = found[0], _size(results, found[0])
    taken = next((share for share in found if one and share.name == one.choice.best), first)
    price = _price(results, taken)
    at, given = sentence("at", share=first), _given(results, first)
    return sentence("answer", at=at, given=given, one=one, price=price)


def reasons(results: Results, first: Shares) -> str:
    """Why the languages at the ends get so many pieces, and the tokenizer to take;
    empty where neither is known.
    """
    one, ends, weighed = _size(results, first), None, False
    if first.allocation:
        weighed = bool(first.allocation.setting("alpha") and first.allocation.setting("beta"))
    if weighed:
        # the amounts of text, where the largest size goes to the language with more of it
        shown = columns(results, first)
        most, least = (results.lines(row["l"]) or 0 for row in (shown[0], shown[-1]))
        ends = (shown[0]["n"], most, shown[-1]["n"], least) if most >= ALIKE * least else None
    told = one if one and one.reached and one.compared else None
    return sentence("reasons", share=first, weighed=weighed, ends=ends, one=told)


def _size(results: Results, first: Shares) -> Size | None:
    """The comparison of the tokenizers of this T."""
    return next((one for one in sizes(results) if one.total == first.total), None)


def _given(results: Results, first: Shares) -> Markup:
    """The smallest and the largest number of ids, with their languages."""
    least, most = min(first.ids.values()), max(first.ids.values())
    low, high = (_languages(results, first.ids, size) for size in (least, most))
    return sentence("given", share=first, least=least, most=most, low=low, high=high)


def _languages(results: Results, ids: Mapping[str, int], size: int) -> str:
    """The languages of this size by name; of many their number."""
    names = [results.name(code) for code in results.languages if ids.get(code) == size]
    return listed(names) if len(names) <= NAMED else counted(len(names), "language")


def _price(results: Results, taken: Shares) -> Markup:
    """What a sentence costs, with the languages at the ends; empty without parallel
    text in English.
    """
    costs = {code: cost for code, cost in taken.costs.items() if code != ENGLISH}
    low, high = (end(costs, key=costs.__getitem__, default="") for end in (min, max))
    return sentence("price", costs=costs, low=low, high=high, name=results.name)


def _figure(results: Results, found: Sequence[Shares]) -> Figure:
    controls = {
        "tooltip": TOOLTIP,
        "tokenizers": [
            {
                "name": one.name,
                "sizes": one.heading,
                "costs": one.price,
                "rows": columns(results, one),
            }
            for one in found
        ],
    }
    first = found[0]
    return drawn_as(
        "languages",
        lambda: draw_languages(results, first),
        live=lambda: draw_languages(results, first, live=True),
        controls=controls,
        count=len(first.ids),
        said=_given(results, first).unescape(),
        price=_price(results, first).unescape(),
    )


def draw_languages(results: Results, one: Shares, live: bool = False) -> Chart:
    """Bars of ids above, marks of costs below, the language of most ids at the left; a
    live one marks the column of the language that is named.
    """
    groups = results.groups()
    return figures.fill(
        "languages.json",
        rows=columns(results, one),
        sizes=one.heading,
        costs=one.price,
        live=live,
        priced=bool(one.costs),
        height=PRICED if one.costs else UNPRICED,
        colours=figures.palette(groups),
        shapes=figures.group_shapes(groups),
    )


def columns(results: Results, one: Shares) -> list[dict[str, Any]]:
    """A row for each language, most ids first, of equal ones the dearest: l(anguage),
    n(ame), g(roup), s(ize), c(ost), q (the paper's size).
    """
    rows = [
        {
            "l": code,
            "n": results.name(code),
            "g": results.resource(code),
            "s": size,
            "c": one.costs.get(code) and round(one.costs[code], 4),
            "q": paper_size(code, PAPER_SIZES),
        }
        for code, size in one.ids.items()
    ]
    return sorted(rows, key=lambda row: (-row["s"], -(row["c"] or 0), row["n"]))


def _table(results: Results, found: Sequence[Shares]) -> Table:
    """The numbers of the picture, of every tokenizer."""
    cells: dict[str, Mapping[str, Any]] = {}
    more = []
    for one in found:
        cells[f"size_{one.name}"] = one.ids
        noun = "ids used" if one.counted else "ids"
        more.append(Column(f"size_{one.name}", f"{one.name}, {noun}", "number"))
        if one.costs:
            cells[f"times_{one.name}"] = one.costs
            more.append(Column(f"times_{one.name}", "times English", "number", 2))
    cells["paper"] = {code: paper_size(code, PAPER_SIZES) for code in results.languages}
    more.append(Column("paper", "The paper, 1,000 pieces", "number"))
    return specified("language-sizes", results.rows(cells), more)


def _warnings(results: Results) -> Iterator[Note]:
    """Notes above all numbers: languages without text, missing packages, T not
    reached.
    """
    if missing := [row["name"] for row in little_text(results) if not row["kept"]]:
        yield Note(sentence("without_text", names=missing), "warning")
    packages = [entry for entry in results.packages if entry.get("missing")]
    if names := [f"{entry.get('package')} ({entry['missing']})" for entry in packages]:
        yield Note(sentence("without_packages", names=names), "warning")
    uneven: dict[str, list[str]] = {}
    for entry in results.allocations.values():
        for text in entry.uneven:
            uneven.setdefault(text.removeprefix(f"{UNEVEN}, and "), []).append(entry.name)
    for text, names in uneven.items():
        yield Note(sentence("uneven", start=UNEVEN, text=text, names=names), "warning")
    if short := short_of_total(results):
        yield Note(sentence("short", rows=short), "warning")
