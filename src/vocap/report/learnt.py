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


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
