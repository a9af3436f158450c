"""The huggingface/ folder of a tokenizer of byte-pair encoding, and the facts of its model card."""

from pathlib import Path

from vocap.bpe.model_file import BpeFile, read_bpe
from vocap.errors import VocapError
from vocap.files.json_object import read_object
from vocap.tokenizer_files.card import About
from vocap.tokenizer_files.export import template, write_folder
from vocap.tokenizer_files.id_layout import IdLayout


def export(path: str | Path, output: str | Path, layout: IdLayout | None = None) -> int:
    """Write `output` from a tokenizer.json, with the special tokens around a text that `layout` asks for.

    Returns the number of ids. Without a layout these and the longest input are those of the files. Raises
    VocapError as `read_bpe`, and for a layout with other tokens.
    """
    read = read_bpe(path)
    write_export(read, output, layout)
    return len(read.tokens)


def write_export(read: BpeFile, output: str | Path, layout: IdLayout | None = None) -> None:
    """As `export`, of a file that is read."""
    ids = {token: number for number, token in enumerate(read.tokens)}
    tokenizer, roles = read.tokenizer(), read.roles
    if layout is not None:
        if lacking := [name for name in layout.names if name not in ids]:
            raise VocapError(
                f"{read.path}: no special token {lacking[0]!r}; give the layout that the tokenizer was made with"
            )
        tokenizer.post_processor = template(layout, ids)
        roles = layout.roles
    length = layout.model_max_length if layout else longest_input(read.path)
    write_folder(output, tokenizer, roles, length)


def longest_input(definition: Path) -> int:
    """The longest input of the tokenizer_config.json beside a tokenizer.json, or that of a layout."""
    beside = definition.with_name("tokenizer_config.json")
    length = read_object(beside).get("model_max_length") if beside.is_file() else None
    return length if isinstance(length, int) and 0 < length < 1 << 40 else IdLayout().model_max_length


def about(read: BpeFile) -> About:
    """The facts for the model card."""
    special = sorted(read.special)
    leading = [number for place, number in enumerate(special) if place == number]
    others = f", {len(special) - len(leading)} more special tokens" if len(special) > len(leading) else ""
    others += f", {len(read.added)} user-defined symbols" if read.added else ""
    others += f", pieces of {len(read.merges):,} merges"
    if read.definition.get("normalizer"):
        losses = ["- Text is normalised: decoded text can differ from the encoded."]
    else:
        losses = ["- Every text comes back from its ids."]
    shown = [(read.tokens[number], number) for number in leading[:8]]
    return About("byte-pair encoding", len(read.tokens), shown, others, losses, "bpe, vocap")
