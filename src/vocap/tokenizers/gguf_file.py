"""A tokenizer as a GGUF file, the form of llama.cpp: its vocabulary, without a model's
weights.

The names of keys are those of the package `gguf`, which writes the file. llama.cpp
computes the segmentation itself: of unigram models without byte pieces, which it calls
`t5`, and of byte-pair encoding whose text is cut by an expression that it has under a
name. Measured for other kinds: it gives other ids (docs/clients.md).
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from vocap.bpe.model_file import Derivations, is_bpe, read_bpe
from vocap.bpe.tiktoken_files import cut_expression
from vocap.errors import UsageError, VocapError
from vocap.files.io import replacing
from vocap.tokenizer_files.cuts import PUBLISHED
from vocap.tokenizer_files.id_layout import layout_of
from vocap.tokenizer_files.layout import check_unigram
from vocap.tokenizer_files.model_file import BYTE, USER_DEFINED, ids_of, read_model

if TYPE_CHECKING:
    from gguf import GGUFWriter

# llama.cpp's names of the cuts for which it gives the same ids
CUTS = {"gpt2": "gpt-2", "llama-3": "llama-bpe", "qwen": "qwen2"}
EXPRESSIONS = {PUBLISHED[split]: name for split, name in CUTS.items()}
CONTROL, SYMBOL, TEXT = 3, 4, 1  # of llama.cpp's types of tokens


def export_gguf(path: str | Path, output: str | Path) -> int:
    """Write a sentencepiece.model, or a tokenizer.json of byte-pair encoding, as the
    GGUF file `output`; returns the number of ids.

    Raises VocapError, naming the file and the reason, for a tokenizer that llama.cpp
    cannot hold with the same ids, UsageError without the package gguf.
    """
    try:
        from gguf import GGUFWriter
    except ImportError:
        raise UsageError(
            "the format gguf takes the package gguf, which is not installed: "
            "pip install 'vocap[gguf]'"
        ) from None
    logging.getLogger("gguf").setLevel(logging.WARNING)  # it names each file that it writes
    path = Path(path)
    with replacing(output, "wb") as file:
        writer = GGUFWriter(file.name, "llama")
        count = _add_merges(writer, path) if is_bpe(path) else _add_pieces(writer, path)
        writer.write_header_to_file(Path(file.name))
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return count


def _add_pieces(writer: "GGUFWriter", path: Path) -> int:
    """The keys of a SentencePiece unigram model."""
    proto = read_model(path)
    check_unigram(proto, str(path))
    kinds = {entry.type for entry in proto.pieces}
    for kind, name in ((BYTE, "byte pieces"), (USER_DEFINED, "user-defined symbols")):
        if kind in kinds:
            raise VocapError(
                f"{path}: it has {name}, for which llama.cpp would give other ids; take byte-pair "
                "encoding cut as gpt2, llama-3 or qwen"
            )
    spec, layout = proto.normalizer_spec, layout_of(proto)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([entry.piece.encode() for entry in proto.pieces])
    writer.add_token_scores([entry.score for entry in proto.pieces])
    # the numbers of llama.cpp's types are those of sentencepiece_model.proto
    writer.add_token_types([entry.type for entry in proto.pieces])
    writer.add_add_space_prefix(spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(spec.remove_extra_whitespaces)
    if spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(spec.precompiled_charsmap)
    ids = ids_of(proto)
    _add_roles(writer, {role: ids[token] for role, token in layout.roles.items()})
    return len(ids)


def _add_merges(writer: "GGUFWriter", path: Path) -> int:
    """The keys of byte-pair encoding."""
    read = read_bpe(path)
    expression = cut_expression(read)
    if read.definition.get("normalizer") or expression not in EXPRESSIONS:
        raise VocapError(
            f"{read.path}: llama.cpp has no cut like its own, or its text is normalised; train it "
            f"with preset lossless and split {', '.join(CUTS)}"
        )
    # llama-bpe takes a whole word that is a token, whatever the merges give
    if unreachable := Derivations(read).unreachable():
        raise VocapError(
            f"{read.path}: no merges lead to the token {read.tokens[unreachable[0]]!r}, for which "
            "llama.cpp may give other ids"
        )
    kinds = dict.fromkeys(read.special, CONTROL) | dict.fromkeys(read.added, SYMBOL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(EXPRESSIONS[expression])
    writer.add_token_list([token.encode() for token in read.tokens])
    writer.add_token_types([kinds.get(number, TEXT) for number in range(len(read.tokens))])
    writer.add_token_merges(
        [f"{read.tokens[one]} {read.tokens[other]}" for one, other, _ in read.merges.tolist()]
    )
    writer.add_add_space_prefix(False)
    numbers = {token: number for number, token in enumerate(read.tokens)}
    _add_roles(writer, {role: numbers[token] for role, token in read.roles.items()})
    return len(read.tokens)


def _add_roles(writer: "GGUFWriter", ids: dict[str, int]) -> None:
    """The ids of special tokens with a role."""
    for role, number in ids.items():
        getattr(writer, f"add_{role}_token_id")(number)
