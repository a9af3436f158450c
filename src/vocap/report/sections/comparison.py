"""The tokenizers of each T compared: measures, frontier, gains and losses by
language.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas
from markupsafe import Markup

from vocap.errors import VocapError
from vocap.report.data import comparison
from vocap.report.data.comparison import MEASURE, UNKNOWN_LIMIT, Size
from vocap.report.data.decision import BASE, compare_totals, decide
from vocap.report.data.results import Records, Results, order_groups
from vocap.report.page import figures
from vocap.report.page.blocks import (
    Fold,
    Note,
    PageBlock,
    Paragraph,
    Script,
    first_open,
)
from vocap.report.page.figures import Figure, drawn_as, scatter_figure
from vocap.report.page.rendering import sentence
from vocap.report.page.tables import Column, Table, columns_of, counted, signed, specified
from vocap.tables.frames import records
from vocap.tables.line_bits import PARTS

# of charts, by keys of measures: across, up
AXES = (
    ("parallel_tokens", "alp"),
    ("gini", "parallel_tokens"),
    ("parallel_bits", "parallel_tokens"),
)
WITHOUT_PARALLEL = (("tokens_per_sentence", "alp"),)
INTERVALS = {"tokens": 2, "worst": 2, "bits": 3}  # of the decision, with their decimals


def section(results: Results) -> list[PageBlock]:
    """The table of all tokenizers, charts for each T, and tables by group and
    language.
    """
    found = comparison.sizes(results)
    if not found:
        said = "no tokenizer of several languages was measured on held-out text"
        return [Note(f"Nothing to compare: {said}.")]
    parallel = any(one.parallel for one in found)
    parts = [(f"Charts and languages at {one.label}", _one(results, one)) for one in found]
    return [
        Paragraph(sentence("compared", parallel=parallel, text=results.parallel_text)),
        *_decision(results),
        Fold("All measures", [_table(results, found)]),
        *first_open(parts),
        _groups(found),
        *_figure_4(results, found),
    ]


def decision_table(
    rows: pandas.DataFrame, name: Callable[[str], str], several: bool = False
) -> Table:
    """The rows of `decide`, languages by their `name`; of several runs with their spread."""
    shown = records(rows.assign(worst=rows.worst.map(name, na_action="ignore")))
    for row in shown:
        for key, digits in INTERVALS.items():
            low, high = row[f"{key}_low"], row[f"{key}_high"]
            row[f"{key}_interval"] = "" if low is None else f"{low:.{digits}f}–{high:.{digits}f}"
    return specified("decision", shown, columns_of("decision-runs") if several else ())


def loading_programs(rows: pandas.DataFrame) -> list[Markup]:
    """The programs that load the tokenizers of each model and cut, a sentence each."""
    alike = rows.groupby(["regime", "programs"], sort=False).tokenizer.unique()
    return [
        sentence("loaded", names=list(names), regime=regime, programs=programs)
        for (regime, programs), names in alike.items()
    ]


def compared_totals(rows: pandas.DataFrame) -> list[Markup]:
    """What the larger of each two T saves, a sentence each."""
    return [sentence("saved", **both) for both in compare_totals(rows)]


def _decision(results: Results) -> list[PageBlock]:
    """The table of `vocap decide` and its sentences, for a model of the reader; nothing where
    it has no rows.
    """
    try:
        rows = decide({results.folder: results})
    except VocapError:
        return []
    said = map(Markup(" ").join, (loading_programs(rows), compared_totals(rows)))
    return [Script("model", vars(BASE)), decision_table(rows, results.name), *map(Paragraph, said)]


def looks(results: Results) -> dict[str, tuple[str, str]]:
    """Colour and shape of each tokenizer in every figure: those of its kind; of several
    of one T other shapes.
    """
    found: dict[str, tuple[str, str]] = {}
    places: Counter[tuple[str, int | None]] = Counter()
    for one in results.configured_tokenizers():
        kind = one.kind_label, one.asked
        colour, shape = one.kind_class.colour, one.kind_class.shape
        if one.text_rule:
            colour, shape = figures.BY_TEXT
        place = figures.MARKS.index(shape) + places[kind]
        found[one.name] = colour, figures.MARKS[place % len(figures.MARKS)]
        places[kind] += 1
    return found


def _table(results: Results, found: Sequence[Size]) -> Table:
    rows = []
    for one in found:
        # those from elsewhere have no T of this run: they stand at the end, once
        shown = one.summary[one.summary.own | (one is found[-1])].reset_index()
        advice = dict.fromkeys(one.choice.level, "not told apart") | {one.choice.best: "take"}
        for row in records(shown):
            row["size"] = one.total if row["own"] else None
            row["advice"] = advice.get(row["tokenizer"]) if one.reached else None
            row["worst"] = row["worst"] and results.name(row["worst"])
            for part in PARTS:
                low, high = row[f"{part}_low"], row[f"{part}_high"]
                row[part] = f"{low:.4f} to {high:.4f}" if high else ""
            rows.append(row)
    by_q = ", ".join(dict.fromkeys(one.q_from for one in found if one.q_from))
    by_q = f"; by q: weighted by the language’s share of the text, from {by_q}" if by_q else ""
    return specified(
        "comparison", rows, [*MEASURE.values(), *columns_of("comparison-more")], by_q=by_q
    )


def _one(results: Results, one: Size) -> list[PageBlock]:
    """Charts and languages of one T, and the limits of comparison."""
    both = one.summary.parallel_tokens.count() > 1
    planes = AXES if both else WITHOUT_PARALLEL
    axes = [pair for pair in planes if len(one.summary.dropna(subset=[*pair])) > 1]
    charts: list[PageBlock] = [_plane(results, one, *pair) for pair in axes]
    strips = [_strip(results, one, one.compared[0])] if one.compared else []
    more = charts[1:]
    if len(one.regimes) > 1:
        more.append(Note(sentence("regimes", regimes=one.regimes)))
    fold = [Fold("Inequality, limits of comparison", more)] if more else []
    return [*charts[:1], *strips, *_apart(results, one), *fold, _languages(results, one)]


def _plane(results: Results, one: Size, across: str, up: str) -> Figure:
    """Two measures of every tokenizer."""
    x, y = MEASURE[across], MEASURE[up]
    summary = one.summary.dropna(subset=[across, up]).reset_index(names="name")
    shown = summary[["name", "kind", across, up]].round(6)
    rows = records(shown.set_axis(["name", "of", "x", "y"], axis=1).assign(kind=shown.name))
    return scatter_figure(
        "comparison-plane",
        rows,
        looks(results),
        across.replace("_", "-"),
        one=one,
        x=x,
        y=y,
        short=y.axis.split(" (")[0],
        said=sentence("plane", up=y, regimes=one.regimes),
        tokenizers=counted(len(summary), "tokenizer"),
    )


def _strip(results: Results, one: Size, name: str) -> Figure:
    """Every language's difference of ALP under a tokenizer from that under the
    reference: a row for each resource group, a dot for each of its languages, in five lanes by
    rank.
    """
    found = one.counted[one.counted.tokenizer == name]
    numbers = found[["percent", "nats", "alp"]].assign(other=found.alp - found.nats)
    rows = numbers.round(4).assign(
        code=found.language, group=found.resource, language=found.language.map(results.name)
    )
    ordered = records(rows.sort_values(["percent", "code"]))
    return drawn_as(
        "comparison-strip",
        records(rows),
        {"groups": order_groups({*found.resource}), "name": name, "reference": one.reference},
        name,
        one=one,
        languages=counted(len(rows), "language"),
        ends=sentence("ends", least=ordered[0], most=ordered[-1]).unescape(),
    )


def _languages(results: Results, one: Size) -> Table:
    """ALP of each language under all tokenizers, and the differences from the
    reference.
    """
    columns: dict[Column, Mapping[str, Any]] = {}
    wide = one.rows.pivot(index="language", columns="tokenizer", values=["alp", "percent"])
    for key, title, names in (
        ("alp", "ALP, {}", one.summary.index),
        ("percent", "{}, %", one.compared),
    ):
        for name in names:
            column = Column(f"{key}_{name}", title.format(name), "number", 2)
            columns[column] = wide[key][name].dropna().to_dict()
    columns[Column("apart", "Reason for exclusion")] = one.apart
    return specified("comparison-languages", results.rows(columns), [*columns], one.key, one=one)


def _apart(results: Results, one: Size) -> list[Note]:
    """A note on languages and tokenizers that are left out, or that compare with no other."""
    follow = one.summary.follows_text & one.summary.parallel_tokens.notna()
    said = sentence(
        "left_out",
        one=one,
        elsewhere=list(one.summary.index[~one.summary.own]) if one.total else [],
        follow=list(one.summary.index[follow]),
        apart=[f"{results.name(code)} ({why})" for code, why in sorted(one.apart.items())],
        limit=f"{100 * UNKNOWN_LIMIT:.0f} %",
    )
    return [Note(said)] if said else []


def _groups(found: Sequence[Size]) -> Table:
    rows = []
    for one in found:
        means = (
            one.by_group()
            .assign(size=one.total, reference=one.reference)
            .astype({"better": object})
        )
        same = means.tokenizer == one.reference
        means.loc[same, ["percent", "nats", "percent_q", "nats_q", "better"]] = None
        rows += records(means)
    return specified("comparison-groups", rows, columns_of("measures"))


def _figure_4(results: Results, found: Sequence[Size]) -> list[PageBlock]:
    """The paper's Figure 4 of the VOCAP tokenizers by sizes; nothing without a JOINT
    one of their T.
    """
    rows: Records = []
    for one in found:
        facts, means = one.summary, one.by_group()
        for name in facts.index[facts.by_sizes & facts.reference[one.reference]]:
            own = means[means.tokenizer == name].set_index("group")
            pair = pandas.DataFrame({"joint": own.alp - own.nats, "vocap": own.alp})
            pair = pair.assign(best=pair.max(axis=1), gain=own.nats).round(3)
            pair["row"] = [f"{group}, {name}" for group in own.index]
            rows += records(pair.assign(label=own.nats.map(signed), languages=own.languages))
    if not rows:
        return []
    words = "; ".join(f"{row['row']}: {row['label']}" for row in rows)
    figure = drawn_as("vocap-joint-groups", rows, {}, words=words)
    return [Fold("The paper’s Figure 4: VOCAP and JOINT by resource group", [figure])]
