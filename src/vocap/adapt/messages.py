"""The words of `vocap trim` and `vocap extend`: their results for a terminal."""

from collections.abc import Iterator
from pathlib import Path

from vocap.adapt.adapted import Adapted
from vocap.adapt.comparison import CHECK_COLUMNS, Checks, LineCheck
from vocap.files.io import aligned
from vocap.unigram.usage import cell

WORST_SHOWN = 5  # texts of other languages with most changed lines


def trimmed_text(found: Adapted) -> str:
    """What was kept, text by text what changed, and the model."""
    counts = found.facts["kept_for"].items()
    kept = ", ".join(f"{count:,} {reason}" for reason, count in counts if count)
    lines, identical = found.facts["lines_compared"], found.facts["lines_identical"]
    verdict = "all the same" if lines == identical else f"{lines - identical:,} differ"
    ends = [f"{lines:,} lines compared, {verdict}", *_model(found)]
    return "\n".join([f"kept: {kept}", *_table(found.checks), *ends])


def extended_text(found: Adapted, output: Path) -> str:
    """What was added, its effects on the new language and on the others, and the model,
    in the folder `output`.
    """
    before, after = found.source.total, found.tokenizer.total
    texts = {key: check for key, check in found.checks.items() if check.lines}
    own = {key: check for key, check in texts.items() if key[0] == found.settings["language"]}
    others = {key: check for key, check in texts.items() if key not in own}
    worst = sorted(others, key=lambda key: (others[key].identical / others[key].lines, key))
    shown = [
        f"{output}: {before:,} + {after - before:,} = {after:,} ids, from {found.origin}",
        *_table({**own, **{key: others[key] for key in worst[:WORST_SHOWN]}}),
        *(f"{code} {part}: {_effect(check)}" for (code, part), check in own.items()),
    ]
    return "\n".join([*shown, _others(others), *_model(found)])


def _table(checks: Checks) -> Iterator[str]:
    """Rows of comparison.tsv, and an example of each below them."""
    rows = [
        [*key, *map(_shown, check.cells()[:-1])] for key, check in checks.items() if check.lines
    ]
    yield from aligned([CHECK_COLUMNS[:-1], *rows], left=(0, 1))
    for (code, part), check in checks.items():
        for example in check.examples[:1]:
            yield f"{code} {part}: {example}"


def _shown(value: float | None) -> str:
    return "" if value is None else f"{round(value, 4):,}"


def _effect(check: LineCheck) -> str:
    """The effect of the new pieces on a text of their language."""
    before, after = check.before.sums, check.after.sums
    shown = (
        f"{cell(before, 'paid / lines'):.2f} to {cell(after, 'paid / lines'):.2f} tokens a line, "
        f"ALP {cell(before, 'nats / lines'):.2f} to {cell(after, 'nats / lines'):.2f}"
    )
    if check.before.encoder.unk_id is not None and before["tokens"]:
        rates = (percentage(one["unknown_tokens"], one["tokens"] or 1) for one in (before, after))
        shown += f", unknown {' to '.join(rates)} of the tokens"
    return shown


def _others(others: Checks) -> str:
    """The effect of the new pieces on the other languages."""
    if not others:
        return "no text of other languages was given: changes for them are not measured"
    names = "lines_before", "identical", "paid_before", "paid_after"
    lines, same, before, after = (
        sum(check.sums[name] for check in others.values()) for name in names
    )
    return (
        f"{len({code for code, _ in others})} other languages: {lines - same:,} of {lines:,} lines "
        f"segmented differently ({percentage(lines - same, lines)}), tokens {before:,} to {after:,}"
    )


def _model(found: Adapted) -> list[str]:
    """The size of the model before and after, and its proof; nothing without a model."""
    proof = found.proof
    if found.model is None or proof is None:
        return []
    before, after = found.model.size, proof.size
    return [
        f"model: {before.parameters:,} to {after.parameters:,} parameters, of them embeddings "
        f"{before.embeddings:,} to {after.embeddings:,}; weights {before.megabytes:,.2f} to "
        f"{after.megabytes:,.2f} MB",
        f"model: {proof.output} of {proof.lines} lines differ by at most {proof.difference:.2g}, "
        f"the largest being {proof.largest:.3g}",
    ]


def percentage(count: float, whole: float) -> str:
    """The part of a whole in percent.

    >>> percentage(1, 3)
    '33.33 %'
    """
    return f"{100 * count / whole:.2f} %"
