"""Whether ALP, a mean over lines, compares the languages at all: lines of one must not be much longer."""

import statistics

from vocap.allocation.inputs import Inputs
from vocap.allocation.settings import Allocation

FACTOR = 2.0  # from which a line counts as too long or too short; docs/allocation.md has the measurement
NAMED = 5  # languages in the message, on each side


def uneven_lines(inputs: Inputs, settings: Allocation) -> list[str]:
    """A warning where lines of some language hold `FACTOR` times the nats of the median language's, or 1/`FACTOR`.

    Nats of a line are -ALP under a language's smallest vocabulary. Characters would not do: of parallel sentences
    Chinese has a third of the characters of German, and as many nats. With `per: character` there is none.
    """
    if settings.per == "character" or len(inputs.languages) < 2:
        return []
    nats = {entry.language: -float(entry.alp[0]) for entry in inputs.languages}
    middle = statistics.median(nats.values())
    if middle <= 0:  # lines of one token that is always the same
        return []
    order = sorted(nats, key=lambda language: (-nats[language], language))
    longer = [language for language in order if nats[language] >= FACTOR * middle]
    shorter = [language for language in reversed(order) if nats[language] * FACTOR <= middle]
    if not longer and not shorter:
        return []
    said = [
        f"too {amount} for {_named(languages, nats, middle)}"
        for amount, languages in (("many", longer), ("few", shorter))
        if languages
    ]
    return [
        "lines differ in length between languages, and a language with longer lines gets more pieces for it: "
        f"{'; '.join(said)} (nats of its mean line over those of the median language). Cut paragraphs into "
        "sentences (split_sentences: true of the source of the text), or take per: character"
    ]


def _named(languages: list[str], nats: dict[str, float], middle: float) -> str:
    named = ", ".join(f"{language} ({nats[language] / middle:.2g} times)" for language in languages[:NAMED])
    more = len(languages) - NAMED
    return named + (f" and {more} more" if more > 0 else "")
