"""The programs that load a tokenizer with equal ids, by its kind: docs/clients.md as data."""

from collections.abc import Collection
from functools import cache
from importlib import resources

import yaml

from vocap.errors import SettingError

# the names of `vocap init --for`, and those of the table
NAMES = {
    "transformers": "transformers",
    "sentencepiece": "sentencepiece",
    "llama.cpp": "llama.cpp",
    "tiktoken": "tiktoken",
    "vllm": "vLLM",
    "tokenizers-js": "transformers.js",
}
OWN_FORMS = {"tiktoken": "tiktoken", "llama.cpp": "gguf"}  # of `export`, of their own
CUTS = (
    "words",
    "llama-3",
)  # of byte-pair encoding that is made for programs, the first choice first


@cache
def loaded_by() -> dict[str, list[str]]:
    """The programs by the kinds of docs/clients.md."""
    return yaml.safe_load((resources.files("vocap.tokenizer_files") / "programs.yaml").read_bytes())


def serves(kind: str, names: Collection[str]) -> bool:
    """Whether all programs, by `NAMES`, load this kind of the table.

    >>> serves("unigram", ["llama.cpp"]), serves("bpe-words", ["llama.cpp"])
    (True, False)
    """
    return {NAMES[name] for name in names} <= set(loaded_by().get(kind, ()))


def cut_for(names: Collection[str]) -> str | None:
    """The cut of byte-pair encoding of lossless text that all programs load; None without."""
    return next((cut for cut in CUTS if serves(f"bpe-{cut}", names)), None)


def check_kinds(kinds: Collection[str], lossless: bool, names: Collection[str]) -> None:
    """Raise UsageError for a kind of `vocap init` that one of the programs does not load."""
    for kind in kinds:
        unigram = "unigram-bytes" if lossless else "unigram"
        forms = [unigram]
        if kind.endswith("bpe"):
            forms = [f"bpe-{cut}" for cut in CUTS] if lossless else ["bpe-nfkc"]
        if any(serves(form, names) for form in forms):
            continue
        failing = [name for name in names if not any(serves(form, [name]) for form in forms)]
        text = "lossless" if lossless else "normalised"
        raise SettingError(
            "for",
            f"{','.join(names)}: kind {kind} of {text} text is not loaded with equal ids by "
            f"{', '.join(failing or names)}; leave out that program, or take another kind "
            "(docs/clients.md)",
        )


def kinds_for(names: Collection[str], lossless: bool) -> tuple[tuple[str, ...], bool]:
    """The kind of `vocap init` that all programs load, and whether its text is lossless.

    Raises UsageError where there is none.
    """
    if serves("unigram-bytes" if lossless else "unigram", names):
        return ("pieces",), lossless
    if cut_for(names):
        return ("bpe",), True
    raise SettingError(
        "for",
        f"{','.join(names)}: no kind of tokenizer is loaded by all of them with equal ids; leave "
        "one out (docs/clients.md)",
    )
