"""The tokenizer to adapt: its SentencePiece model, and the ids that its users know."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vocap.errors import VocapError
from vocap.tokenizers.layout import Contents, lay_out, read_contents
from vocap.tokenizers.settings import META
from vocap.tsv import read_tsv
from vocap.vocabularies.encoders import SentencePieceEncoder, is_json
from vocap.vocabularies.model_file import build_processor, read_model

MODEL = "sentencepiece.model"


@dataclass(frozen=True)
class Source:
    """A unigram model at `path`, and `ids`: piece to id, special tokens among them.

    The ids are the model's own, or those of a `tokenizer.json` beside it where they differ: XLM-R's are shifted.
    """

    path: Path
    proto: object  # ModelProto
    ids: dict[str, int]

    @cached_property
    def contents(self) -> Contents:
        return read_contents(self.proto, str(self.path))

    @cached_property
    def encoder(self) -> SentencePieceEncoder:
        """Its rows are those of `proto`."""
        return SentencePieceEncoder(build_processor(self.proto, self.path))

    @property
    def total(self) -> int:
        """T: the number of ids."""
        return max(self.ids.values()) + 1

    def owners(self, table: Path | None = None) -> dict[str, list[str]]:
        """Piece to the languages whose chosen vocabularies hold it; empty where nothing says so.

        From `table`, with the columns piece and languages as vocabulary.tsv has them, or pieces.tsv beside the
        model.
        """
        path = table or self.path.parent / "pieces.tsv"
        if table is None and not path.is_file():
            return {}
        rows = read_tsv(path, ("piece", "languages"))
        return {row["piece"]: row["languages"].split(",") for row in rows if row["languages"]}


def load_source(path: Path) -> Source:
    """The tokenizer of a .model or of a folder with one: results/tokenizers/NAME, or XLM-R's files.

    Raises VocapError for anything else, naming the remedy.
    """
    model = _find_model(path)
    proto = read_model(model)
    ids = {entry.piece: number for number, entry in enumerate(proto.pieces)}
    definition = model.parent / "tokenizer.json"
    if path.is_dir() and definition.is_file():
        ids = read_ids(definition)
        missing = [entry.piece for entry in proto.pieces if entry.piece not in ids]
        if missing:
            raise VocapError(
                f"{definition}: it lacks the piece {missing[0]!r} of {model.name}; "
                "they are not of one tokenizer: keep the files of one"
            )
    return Source(model, proto, ids)


def in_order(source: Source) -> Source:
    """The same tokenizer with its model's rows in the order of `ids`, so that both forms of it have the same ids.

    Raises VocapError unless these are <s> 0, <pad> 1, </s> 2, <unk> 3, and all others once, <mask> among them.
    """
    special = [token for token in META if token not in source.ids]
    if special or [source.ids[token] for token in META[:-1]] != [0, 1, 2, 3] or source.total != len(source.ids):
        raise VocapError(
            f"{source.path}: its ids are not <s> 0, <pad> 1, </s> 2, <unk> 3, <mask> behind them; lay it out with "
            "vocap mono first, or name the folder with its tokenizer.json"
        )
    proto = lay_out(source.contents, source.proto.normalizer_spec)  # its settings, and the special tokens' types
    entries = {entry.piece: entry for entry in proto.pieces}
    if foreign := [token for token in source.ids if token not in entries]:
        raise VocapError(f"{source.path}: its model has no text piece {foreign[0]!r}; lay it out with vocap mono")
    del proto.pieces[:]
    for token in sorted(source.ids, key=source.ids.get):
        proto.pieces.add().CopyFrom(entries[token])
    return Source(source.path, proto, source.ids)


def read_ids(definition: Path) -> dict[str, int]:
    """Token to id of a tokenizer.json, added tokens among them. Raises VocapError, naming the file."""
    from vocap.vocabularies.encoders import load_encoder

    if not definition.is_file():
        raise VocapError(f"{definition}: no such file; save the tokenizer beside its model")
    return dict(load_encoder(definition).ids)


def special_ids(ids: dict[str, int]) -> dict[str, int]:
    """The ids of the special tokens that there are."""
    return {token: ids[token] for token in META if token in ids}


def _find_model(path: Path) -> Path:
    if not path.exists():
        raise VocapError(f"{path}: no such tokenizer; give results/tokenizers/NAME, or a SentencePiece .model")
    if path.is_file():
        if path.suffix == ".json" or is_json(path):
            raise VocapError(f"{path}: not a SentencePiece model; name the .model that it was made from")
        return path
    models = [path / MODEL] if (path / MODEL).is_file() else sorted(path.glob("*.model"))
    if len(models) != 1:
        found = ", ".join(model.name for model in models) or "none"
        raise VocapError(f"{path}: not one SentencePiece .model in it ({found}); name the file itself")
    return models[0]
