"""Tokenizers as they were trained: in memory, and the folder that a command writes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocap.errors import SettingError, log
from vocap.files.io import replacing, write_json, write_tsv
from vocap.result import Result
from vocap.tokenizer_files.id_layout import IdLayout
from vocap.tokenizer_files.layout import PIECE_COLUMNS, dead_pieces, describe, serialize
from vocap.tokenizer_files.model_file import MODEL
from vocap.tokenizers.settings import check_symbols
from vocap.unigram.text_settings import TextSettings

if TYPE_CHECKING:
    import pandas as pd
    from sentencepiece.sentencepiece_model_pb2 import ModelProto
    from tokenizers import Tokenizer

PieceRow = tuple[str, int | None, float, str, str, str]


@dataclass(frozen=True, repr=False)
class TrainedTokenizer(Result, ABC):
    """A tokenizer that was trained.

    Attributes
    ----------
    description : the content of description.json: kind, total, settings, dead pieces
    rows : those of pieces.tsv
    """

    description: dict[str, Any]
    rows: Sequence[PieceRow]

    @property
    def total(self) -> int:
        """The number of its ids; fewer than T where the text does not hold them."""
        return int(self.description["total"])

    @property
    def kind(self) -> str:
        """Its kind, as in the section `tokenizers` of a configuration."""
        return str(self.description["kind"])

    @property
    def pieces(self) -> "pd.DataFrame":
        """The table pieces.tsv: a row a piece, by id."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=PIECE_COLUMNS)

    @property
    @abstractmethod
    def model(self) -> bytes:
        """The content of its file: sentencepiece.model, or tokenizer.json."""

    @property
    def measured(self) -> "Tokenizer | bytes":
        """What `evaluate` takes of it."""
        return self.tokenizer

    @property
    @abstractmethod
    def tokenizer(self) -> "Tokenizer":
        """The tokenizer of the library `tokenizers`: the ids of the exported one."""

    def write(self, folder: str | Path) -> None:
        """Write its file, pieces.tsv and, last, description.json, each whole or not at
        all.
        """
        folder = Path(folder)
        (folder / "description.json").unlink(missing_ok=True)  # it says that all is there
        self.write_model(folder)
        write_tsv(folder / "pieces.tsv", PIECE_COLUMNS, self.rows)
        write_json(folder / "description.json", self.description)

    @abstractmethod
    def write_model(self, folder: Path) -> None:
        """Write its file."""


@dataclass(frozen=True, repr=False)
class TrainedUnigram(TrainedTokenizer):
    """A unigram model; `proto`: its `ModelProto`."""

    proto: "ModelProto"

    @property
    def model(self) -> bytes:
        return serialize(self.proto)

    @property
    def measured(self) -> bytes:
        return self.model

    @property
    def tokenizer(self) -> "Tokenizer":
        from vocap.tokenizer_files.export import build_tokenizer

        return build_tokenizer(self.proto)

    def write_model(self, folder: Path) -> None:
        # SentencePiece has loaded its pieces before, for the dead ones
        with replacing(folder / MODEL, "wb") as file:
            file.write(self.proto.SerializeToString(deterministic=True))


@dataclass(frozen=True, repr=False)
class TrainedBpe(TrainedTokenizer):
    """Byte-pair encoding; `built`: its tokenizer, `layout`: that of its ids."""

    built: "Tokenizer"
    layout: IdLayout

    @property
    def model(self) -> bytes:
        return self.built.to_str().encode()

    @property
    def tokenizer(self) -> "Tokenizer":
        return self.built

    def write_model(self, folder: Path) -> None:
        from vocap.bpe.model_file import write_definition

        write_definition(folder, self.built, self.layout.roles, self.layout.use)


def as_trained(
    kind: str,
    proto: "ModelProto",
    settings: Mapping[str, Any],
    owners: Mapping[str, Sequence[str]] | None = None,
    scores: str = "as SentencePiece trained them",
    **more: Any,
) -> TrainedUnigram:
    """A model with its scores as they are: dead pieces are reported, not repaired.

    `owners`: piece to languages; `more`: further entries of the description.
    """
    dead = dead_pieces(proto)
    status = dict.fromkeys(dead, "dead")
    rows, description = describe(kind, proto, settings, scores, owners or {}, status, dead, **more)
    return TrainedUnigram(description, rows, proto)


def check_unigram_text(settings: TextSettings, layout: IdLayout) -> None:
    """Raise UsageError for symbols and a layout that a unigram model cannot have."""
    layout.check_unknown()
    for name in ("user_defined_symbols", "control_symbols"):
        try:
            check_symbols(list(getattr(settings, name)), layout)
        except ValueError as error:
            raise SettingError(name, str(error)) from None


def warn_if_short(name: object, total: int, reached: int) -> None:
    """Warn of a tokenizer that has fewer ids than T, for want of text."""
    if reached < total:
        log.warning(
            "%s: too little text for T = %d: the tokenizer has %d ids, %d short (more text fills "
            "it)",
            name,
            total,
            reached,
            total - reached,
        )
