"""What of the stages' results the configuration names."""

from collections.abc import Collection, Mapping
from typing import Any

KINDS = ("allocations", "tokenizers", "languages", "models", "fine-tuned models")


class Selection:
    """An earlier configuration may have left other results in the folder, which the page does not show.

    What the settings leave out is all shown. `languages`: the codes asked for; None where they do not say.
    """

    def __init__(self, settings: Mapping[str, Any], known: Collection[str]):
        asked = settings.get("languages")
        self.languages: list[str] | None = None
        if asked == "all":
            self.languages = list(known)
        elif isinstance(asked, list):
            self.languages = [str(code) for code in asked]
        self._tokenizers = settings.get("tokenizers")
        self._named = {
            "languages": self.languages,
            "allocations": _names(settings, "allocation"),
            "tokenizers": _names(settings, "tokenizers"),
            "models": _names(settings.get("pretraining") or {}, "models"),
            "fine-tuned models": _names(settings.get("finetuning") or {}, "models"),
        }
        self._left: dict[str, set[str]] = {kind: set() for kind in KINDS}

    def shows(self, kind: str, name: str) -> bool:
        """Whether the page shows it; what it does not show is remembered."""
        named = self._named[kind]
        if named is None or name in named:
            return True
        self._left[kind].add(name)
        return False

    @property
    def left(self) -> dict[str, list[str]]:
        """By kind, the names of what was found and is not shown."""
        return {kind: sorted(names) for kind, names in self._left.items() if names}

    def kind_of(self, tokenizer: str) -> str | None:
        """The kind that the settings give a tokenizer, None where they do not name it."""
        entry = self._tokenizers.get(tokenizer) if isinstance(self._tokenizers, dict) else None
        return entry.get("kind") if isinstance(entry, dict) else None


def _names(settings: Mapping[str, Any], section: str) -> list[str] | None:
    """The names of a section of named entries; None where the configuration has no such section."""
    entries = settings.get(section)
    if not isinstance(entries, dict):
        return None
    return [str(name) for name, entry in entries.items() if entry is not None]
