"""VOCAP against JOINT by resource group, the paper's Figure 4, and by language."""

from vocap.report import charts
from vocap.report.blocks import Block, Fold, Note, Section, Text, counted, not_run
from vocap.report.comparing import UNKNOWN_LIMIT, Difference, Group, Pair, groups, pairs
from vocap.report.figures import Figure
from vocap.report.results import Results
from vocap.report.tables import Column, Table, signed


def section(results: Results) -> Section:
    """Group means over all T, then each pair's languages."""
    blocks: list[Block] = []
    found = pairs(results)
    if not results.tokenizers:
        blocks.append(not_run("tokenizers", "There is no tokenizer to compare yet."))
    elif not found:
        blocks.append(
            Note(
                "No VOCAP and JOINT tokenizer with the same number of ids have both been evaluated. Name one of "
                "kind vocap and one of kind joint with the same total in the configuration’s tokenizers section."
            )
        )
    else:
        blocks.append(
            Text(
                "A tokenizer of kind VOCAP holds the pieces of an allocation, which weighs languages against each "
                "other; JOINT is one training on the text of all languages. Compared are each VOCAP tokenizer and "
                "the first JOINT tokenizer of the same number of ids T in the configuration."
            )
        )
        blocks += [note for pair in found if (note := _apart(results, pair))]
        blocks += _languages(results, found[0])
        for pair in found[1:]:
            title = f"{pair.vocap} against {pair.joint}, T = {pair.size}: better in {_better(pair)}"
            blocks.append(Fold(title, _languages(results, pair)))
        if rows := [row for pair in found if pair.by_sizes for row in groups(pair)]:
            blocks.append(
                Fold("The paper’s Figure 4: mean ALP by resource group, in nats per line", _figure(rows))
            )
    return Section("comparison", "VOCAP against JOINT", "VOCAP and JOINT", blocks)


def _figure(rows: list[Group]) -> list[Block]:
    blocks: list[Block] = [_means(rows), _table(rows)]
    if any(row.weighted_gain is not None for row in rows):
        blocks.append(
            Text(
                "A plain mean counts every language once. The allocation itself weighs a language by a power of "
                "q, its share of the text (Equation 2), so the table has the mean weighted by q too."
            )
        )
    return blocks


def _better(pair: Pair) -> str:
    return f"{sum(one.gain > 0 for one in pair.compared)} of {counted(len(pair.compared), 'language')}"


def _moved(results: Results, pair: Pair) -> str:
    """The mean in percent, and the language that loses most, which no mean shows."""
    mean = sum(one.percent for one in pair.compared) / len(pair.compared)
    worst = min(pair.compared, key=lambda one: (one.percent, one.language))
    lost = f"{results.name(worst.language)} loses most, {-worst.percent:.1f} %" if worst.gain < 0 else "none loses"
    return f"In percent of each language’s ALP the mean difference is {signed(mean)} %; {lost}."


def _finding(results: Results, pair: Pair) -> str:
    """Which of the two is better in the means, and in how many languages; empty where none is compared."""
    rows = groups(pair)
    if not rows:
        return ""
    vocap, joint = pair.names
    apart = len(pair.differences) - len(pair.compared)
    out = f", {apart} more left out for its <unk> or by the allocation" if apart else ""
    out = out.replace(" its ", " their ") if apart > 1 else out
    everything = rows[-1]
    parts = ", ".join(f"{signed(one.gain)} for {one.resource}-resource languages" for one in rows[:-1])
    parts = f" ({parts})" if len(rows) > 2 else ""
    q = everything.weighted_gain
    weighted = "" if q is None else f" Weighted by q, as in Equation 2, the mean difference is {signed(q)}."
    side = "higher" if everything.gain >= 0 else "lower"
    return (
        f"At T = {pair.size}, {vocap}’s held-out ALP is on average {abs(everything.gain):.2f} nats per line "
        f"{side} than {joint}’s{parts}; it is higher in {everything.better} of "
        f"{counted(everything.languages, 'language')}{out}.{weighted} {_moved(results, pair)}"
    )


def _apart(results: Results, pair: Pair) -> Note | None:
    """The languages that no mean counts, and why."""
    apart = [one for one in pair.differences if one.apart]
    if not apart:
        return None
    named = ", ".join(f"{results.name(one.language)} ({one.apart})" for one in apart)
    counts = "is" if len(apart) == 1 else "are"
    return Note(
        f"{pair.vocap} against {pair.joint}: {counted(len(apart), 'language')} {counts} in no mean and no figure "
        f"here: {named}. One <unk> stands for a whole run of unknown text, so ALP rewards what a vocabulary "
        f"cannot write; languages above {100 * UNKNOWN_LIMIT:.0f} % <unk> in either tokenizer, and those that the "
        "allocation left out, stand in the table by language only.",
        "warning",
    )


def _means(rows: list[Group]) -> Figure:
    words = "; ".join(f"{row.resource} at {row.pair.label}: {row.gain:+.2f}" for row in rows)
    return Figure(
        "vocap-joint-groups",
        "Mean ALP by resource group",
        "Held-out ALP in nats per line, plain mean over the languages of each of the paper’s resource groups (by "
        "CommonCrawl size); the number is VOCAP minus JOINT, positive where VOCAP is better. The paper’s Figure "
        "4.",
        f"Dot chart with one row for each group and T; VOCAP minus JOINT, in nats per line: {words}.",
        lambda: charts.group_means(rows),
        table="vocap-joint-groups",
    )


def _table(rows: list[Group]) -> Table:
    columns = [
        Column("total", "T", "number"),
        Column("vocap", "VOCAP"),
        Column("joint", "JOINT"),
        Column("resource", "Group"),
        Column("languages", "Languages", "number"),
        Column("alp_vocap", "ALP, VOCAP", "number", 2),
        Column("alp_joint", "ALP, JOINT", "number", 2),
        Column("difference", "Difference", "number", 2),
        Column("difference_q", "Difference weighted by q", "number", 2),
        Column("better", "Better in", "number"),
    ]
    cells = [
        (
            row.pair.total,
            row.pair.vocap,
            row.pair.joint,
            row.resource,
            row.languages,
            row.vocap,
            row.joint,
            row.gain,
            row.weighted_gain,
            row.better,
        )
        for row in rows
    ]
    caption = (
        "Plain means over the languages of a group of their held-out ALP (nats per line); the difference is "
        "VOCAP minus JOINT, plain and weighted by each language’s sampling probability q, as in the allocation’s "
        "objective (Equation 2); “better in” counts the languages with a higher ALP under VOCAP. From "
        "results/tokenizers/{name}/evaluation.tsv, q from allocation.tsv of VOCAP’s allocation."
    )
    return Table("vocap-joint-groups", "VOCAP and JOINT by resource group", caption, columns, cells)


def _languages(results: Results, pair: Pair) -> list[Block]:
    ordered = sorted(pair.compared, key=lambda one: (one.percent, one.language))
    said = _finding(results, pair)
    blocks: list[Block] = [Text(said), _strip(results, pair, ordered[0], ordered[-1])] if ordered else []
    return [*blocks, _by_language(results, pair)]


def _strip(results: Results, pair: Pair, worst: Difference, best: Difference) -> Figure:
    return Figure(
        f"vocap-joint-{pair.vocap}-{pair.joint}",
        f"Every language at T = {pair.size}: {pair.vocap} minus {pair.joint}",
        f"Held-out ALP under {pair.vocap} minus ALP under {pair.joint}, in percent of the latter: right of zero "
        f"{pair.vocap} is better. One mark for each language, the upright stroke is the mean of the group; each "
        "group’s extremes carry their code.",
        f"Strip chart of {counted(len(pair.compared), 'language')}. The smallest difference is "
        f"{worst.percent:+.2f} % "
        f"({results.name(worst.language)}), the largest {best.percent:+.2f} % ({results.name(best.language)}).",
        lambda: charts.differences(results, pair),
        table=f"vocap-joint-{pair.vocap}-{pair.joint}",
    )


def _by_language(results: Results, pair: Pair) -> Table:
    columns = [
        Column("language", "Code"),
        Column("name", "Language"),
        Column("resource", "Group"),
        Column("alp_vocap", f"ALP, {pair.vocap}", "number", 2),
        Column("alp_joint", f"ALP, {pair.joint}", "number", 2),
        Column("difference", "Difference", "number", 2),
        Column("relative", f"of {pair.joint}’s", "number", 2, share=True),
        Column("apart", "In no mean because"),
    ]
    rows = [
        (
            one.language,
            results.name(one.language),
            one.resource,
            one.vocap,
            one.joint,
            one.gain,
            one.percent / 100,
            one.apart,
        )
        for one in pair.differences
    ]
    caption = (
        f"Held-out ALP of {pair.vocap} and {pair.joint} (T = {pair.total:,}) in nats per line; the "
        f"share is the difference as a share of {pair.joint}’s ALP, so that languages with long "
        f"lines compare with the others. From results/tokenizers/{{name}}/evaluation.tsv."
    )
    name = f"vocap-joint-{pair.vocap}-{pair.joint}"
    return Table(
        name,
        f"By language, T = {pair.size}: {pair.vocap} and {pair.joint}",
        caption,
        columns,
        rows,
        folded=len(rows) > 20,
    )
