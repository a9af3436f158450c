"""Tokenizers as they were trained: in memory, and the folder that a command writes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocap.errors import SettingError, log
from vocap.files.io import write_json, write_tsv
from vocap.result import Result
from vocap.tokenizer_files.id_layout import IdLayout
from vocap.tokenizer_files.layout import (
    PIECE_COLUMNS,
    describe_as_trained,
    serialize,
    write_tokenizer,
)
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

    @abstractmethod
    def write(self, folder: str | Path) -> None:
        """Write its file, pieces.tsv and, last, description.json, each whole or not at
        all.
        """


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

    def write(self, folder: str | Path) -> None:
        write_tokenizer(folder, self.proto, self.rows, self.description)


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

    def write(self, folder: str | Path) -> None:
        from vocap.bpe.model_file import write_definition

        folder, layout = Path(folder), self.layout
        (folder / "description.json").unlink(missing_ok=True)  # it says that all is there
        write_definition(folder, self.built, layout.roles, layout.use)
        write_tsv(folder / "pieces.tsv", PIECE_COLUMNS, self.rows)
        write_json(folder / "description.json", self.description)


def as_trained(
    kind: str,
    proto: "ModelProto",
    settings: Mapping[str, Any],
    owners: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> TrainedUnigram:
    """A model with its scores as they are: dead pieces are reported, not repaired.

    `owners`: piece to languages; `more`: further entries of the description.
    """
    rows, description = describe_as_trained(kind, proto, settings, owners, **more)
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
