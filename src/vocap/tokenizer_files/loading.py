"""Tokenizers that are loaded, or named by a path, for functions that take either."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from vocap.errors import UsageError, VocapError
from vocap.tokenizer_files import Cuts
from vocap.tokenizer_files.encoders import (
    Encoder,
    SentencePieceEncoder,
    find_definition,
    load_encoder,
    parse_encoder,
)
from vocap.tokenizer_files.ranks import cuts_of

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tokenizers import Tokenizer

AnyTokenizer = Union[str, Path, bytes, "Tokenizer", "SentencePieceProcessor"]


def load_tokenizer(folder: str | Path) -> "Tokenizer":
    """Load the tokenizer of a folder that has `huggingface/` in it, or of such a
    folder.
    """
    from tokenizers import Tokenizer

    for place in (Path(folder) / "huggingface", Path(folder)):
        if (place / "tokenizer.json").is_file():
            return Tokenizer.from_file(str(place / "tokenizer.json"))
    raise VocapError(
        f"{folder}: no tokenizer.json in it, nor in huggingface/ there; build or export one first"
    )


def open_encoder(tokenizer: AnyTokenizer, split: Cuts = ()) -> Encoder:
    """The encoder of one tokenizer, as `open_encoders`."""
    name = Path(tokenizer).name if isinstance(tokenizer, str | Path) else "the tokenizer"
    return open_encoders({name: tokenizer}, split)[name]


def open_encoders(named: Mapping[str, AnyTokenizer], splits: Cuts) -> dict[str, Encoder]:
    """The encoders of tokenizers by name: of paths, of the bytes of a .model, or of ones
    that are loaded, which stay as they are.

    `splits`: where tiktoken's ranks, which do not say it, cut text, as `cuts_of` takes
    them. Raises VocapError for a path that leads to no tokenizer.
    """
    paths = {
        name: find_definition(Path(one))
        for name, one in named.items()
        if isinstance(one, str | Path)
    }
    cuts = cuts_of(paths, splits)
    return {
        name: load_encoder(paths[name], cuts[name]) if name in paths else _encoder_of(one)
        for name, one in named.items()
    }


def _encoder_of(tokenizer: Any) -> Encoder:
    if isinstance(tokenizer, bytes):
        from sentencepiece import SentencePieceProcessor

        return SentencePieceEncoder(SentencePieceProcessor(model_proto=tokenizer))
    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)  # of transformers
    if hasattr(tokenizer, "encode_batch"):  # a tokenizer of Hugging Face; encoders change theirs
        return parse_encoder(tokenizer.to_str().encode(), "the tokenizer")
    if not hasattr(tokenizer, "id_to_piece"):
        raise UsageError(
            f"a {type(tokenizer).__name__} is no tokenizer; give its path, or one of tokenizers, "
            "transformers or sentencepiece"
        )
    return SentencePieceEncoder(tokenizer)
