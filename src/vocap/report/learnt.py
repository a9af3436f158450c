"""The text that a tokenizer was learnt from, as its description says: how much, and with which weights."""

from typing import Any

from vocap.report.results import Tokenizer


def text_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """The numbers among `lines`, `word_types`, `alpha` and `beta` that `description.json` has under `text`.

    `sample` is True where the lines were drawn from more.
    """
    text = tokenizer.description.get("text")
    text = text if isinstance(text, dict) else {}
    known = {name: text[name] for name in ("lines", "word_types", "alpha", "beta") if _number(text.get(name))}
    return known | ({"sample": True} if _number(text.get("sentences")) else {})


def weights(tokenizer: Tokenizer) -> str:
    """The exponents that weigh languages, in words; empty where the description has none."""
    facts = text_facts(tokenizer)
    return ", ".join(f"{name} {facts[name]:g}" for name in ("alpha", "beta") if name in facts)


def learnt(tokenizer: Tokenizer) -> str:
    """For a sentence: lines, word types, whether it is a sample, and weights; empty where nothing is stated."""
    facts = text_facts(tokenizer)
    parts = [
        f"{facts[name]:,} {noun}"
        for name, noun in (("lines", "lines"), ("word_types", "word types"))
        if name in facts
    ]
    if facts.get("sample"):
        parts.append("a sample")
    return ", ".join([*parts, *filter(None, [weights(tokenizer)])])


def listed(tokenizers: list[Tokenizer]) -> str:
    """A sentence for a comparison: of each of these tokenizers what it was learnt from."""
    found = {one.name: learnt(one) for one in tokenizers}
    stated = [f"{name}, {said}" for name, said in found.items() if said]
    silent = [name for name, said in found.items() if not said]
    parts = [f"Learnt from: {'; '.join(stated)}."] if stated else []
    if silent:
        parts.append(f"The text that {', '.join(silent)} learnt from is not stated in description.json.")
    return " ".join(parts)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
