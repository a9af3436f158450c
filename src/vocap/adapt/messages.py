"""The words of `vocap trim` and `vocap extend`: their results for a terminal."""

from collections.abc import Iterator
from pathlib import Path

from vocap.adapt.adapted import Adapted
from vocap.adapt.comparison import LineCheck
from vocap.adapt.extend import Extended
from vocap.unigram.usage import cell

WORST_SHOWN = 5  # languages with most changed lines


def trimmed_text(found: Adapted) -> str:
    """What was kept, line by line what changed, and the model."""
    counts = found.facts["kept_for"].items()
    reasons = (f"{count:,} {reason}" for reason, count in counts if count)
    shown = [f"kept: {', '.join(reasons)}"]
    for (code, part), check in found.checks.items():
        if check.lines:
            note = f"{code} {part}: {check.identical:,} of {check.lines:,} lines as before"
            if check.unforeseen is not None:
                share = percentage(check.unforeseen, check.lines)
                note += f"; {check.unforeseen:,} ({share}) use pieces that only this text kept"
            shown += [note, *(f"  {example}" for example in check.examples)]
    lines, identical = found.facts["lines_compared"], found.facts["lines_identical"]
    verdict = "all the same" if lines == identical else f"{lines - identical:,} differ"
    shown.append(f"{lines:,} lines compared, {verdict}")
    return "\n".join([*shown, *_model(found)])


def extended_text(found: Extended, output: Path) -> str:
    """What was added, its effects on the new language and on the others, and the model,
    in the folder `output`.
    """
    before, after = found.source.total, found.tokenizer.total
    shown = [f"{output}: {before:,} + {after - before:,} = {after:,} ids, from {found.origin}"]
    for (code, part), check in found.checks.items():
        if code == found.language and check.lines:
            shown.append(f"{code} {part}: {_effect(check)}")
    return "\n".join([*shown, *_others(found), *_model(found)])


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


def _others(found: Extended) -> Iterator[str]:
    """The effect of the new pieces on the other languages."""
    others = {
        code: check
        for (code, _), check in found.checks.items()
        if code != found.language and check.lines
    }
    if not others:
        yield "no text of other languages was given: changes for them are not measured"
        return
    lines = sum(check.lines for check in others.values())
    changed = lines - sum(check.identical for check in others.values())
    before = sum(check.sums["paid_before"] for check in others.values())
    after = sum(check.sums["paid_after"] for check in others.values())
    moved = 100 * (after - before) / before if before else 0.0
    line = (
        f"{len(others)} other languages: {changed:,} of {lines:,} lines segmented differently "
        f"({percentage(changed, lines)}), tokens {moved:+.3f} %"
    )
    yield f"{line}; the most:" if changed else line
    worst = sorted(others.items(), key=lambda pair: (pair[1].identical / pair[1].lines, pair[0]))
    for code, check in worst[:WORST_SHOWN]:
        if changed := check.lines - check.identical:
            yield f"  {code}: {percentage(changed, check.lines)} of its lines"
            yield from (f"    {example}" for example in check.examples[:1])


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
