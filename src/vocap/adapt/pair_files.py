"""Byte-pair encoding to adapt: the tokenizer of a tokenizer.json, and the folder of the result."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import tokenizers
from tokenizers import Tokenizer

from vocap import __version__
from vocap.adapt.folder import OWNED, Check, corpora_of, write_changes
from vocap.bpe.derivation import Derivations
from vocap.bpe.export import about, longest_input, write_export
from vocap.bpe.folder import COLUMNS, write_definition
from vocap.bpe.model_file import BpeFile, read_bpe
from vocap.errors import VocapError
from vocap.files.atomic import replacing_directory, write_text
from vocap.files.tsv import write_tsv
from vocap.tokenizer_files.card import write_card
from vocap.tokenizer_files.encoders import HuggingFaceEncoder
from vocap.tokenizer_files.splitter import Splitter

ADDED_COLUMNS = ("piece", "id", "merge", "uses", "origin")
NAMED = 20  # tokens that a message lists


class PairEncoder(HuggingFaceEncoder):
    """The encoder of a definition of byte-pair encoding, as the content of tokenizer.json."""

    def __init__(self, definition: Mapping):
        self.definition = definition
        tokenizer = Tokenizer.from_str(json.dumps(definition, ensure_ascii=False))
        super().__init__(tokenizer, tokenizer.token_to_id(definition["model"].get("unk_token") or ""))

    @cached_property
    def readable(self) -> list[str]:
        """Every token by id, to be read: bytes as text, U+2581 for spaces."""
        return [piece or "" for piece in Splitter(self).pieces]

    def split_batch(self, lines: list[str]) -> list[list[str]]:
        """The tokens of every line, as the file has them."""
        return [[self.pieces[number] for number in ids] for ids in self.encode_batch(lines)]


@dataclass(frozen=True)
class PairSource:
    """A tokenizer.json of byte-pair encoding, read and checked."""

    read: BpeFile

    @property
    def path(self) -> Path:
        return self.read.path

    @cached_property
    def encoder(self) -> PairEncoder:
        return checked_encoder(self.read.definition, self.read.tokens, self.path)

    @cached_property
    def ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.read.tokens)}

    @property
    def total(self) -> int:
        """T: the number of ids."""
        return len(self.read.tokens)

    @property
    def corpora(self) -> Path | None:
        """The corpora of the run that made the tokenizer, where it lies in a run's folder."""
        return corpora_of(self.path)

    @cached_property
    def derivations(self) -> Derivations:
        return Derivations(self.read)


def load_pairs(path: Path) -> PairSource:
    """The tokenizer of a tokenizer.json or of a folder with one.

    Raises VocapError as `read_bpe`, and for one that leaves out merges at random.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core, as with SentencePiece
    read = read_bpe(path)
    if read.definition["model"].get("dropout"):
        raise VocapError(f"{read.path}: dropout leaves out merges at random; set model.dropout to null first")
    return PairSource(read)


def checked_encoder(definition: Mapping, tokens: Sequence[str], path: Path) -> PairEncoder:
    """The encoder of a definition. Raises VocapError where the library refuses it, or gives tokens other ids."""
    try:
        encoder = PairEncoder(definition)
    except Exception as error:  # the library raises no type of its own
        if isinstance(error, MemoryError):
            raise
        raise VocapError(f"{path}: tokenizers cannot load it ({str(error)[:300]}); save it again") from None
    for number, token in enumerate(tokens):
        if encoder.ids.get(token) != number:
            raise VocapError(
                f"{path}: tokenizers gives {token!r} the id {encoder.ids.get(token)} instead of {number}; save it "
                "again with its added tokens in the order of their ids"
            )
    return encoder


def write_pairs(
    out: Path,
    source: PairSource,
    after: PairEncoder,
    kind: str,
    settings: Mapping,
    ids: Sequence[tuple],
    checks: Mapping[tuple[str, str], Check],
    model=None,
    additions: Sequence[tuple] = (),
    **more,
) -> None:
    """Write the folder `out`, whole or not at all: `model/` with a model, additions.tsv with additions.

    `after` is the result; `ids` and `checks` as of `folder.write_adapted`, `additions` rows of `ADDED_COLUMNS`.
    """
    owned = (*OWNED, "tokenizer.json", "tokenizer_config.json")
    with replacing_directory(out, owned=owned) as folder:
        write_definition(folder, after.tokenizer, source.read.roles, longest_input(source.path))
        read = read_bpe(folder / "tokenizer.json")
        dead = set(Derivations(read).unreachable())
        description = {
            "kind": kind,
            "total": len(read.tokens),
            "settings": dict(settings),
            "scores": "by the order of merges",
            "pieces": len(read.tokens) - len(read.special) - len(read.added),
            "dead": len(dead),
            "dead_share": len(dead) / len(read.tokens),
            "merges": len(read.merges),
            **more,
            "versions": {"vocap": __version__, "tokenizers": tokenizers.__version__},
        }
        write_tsv(folder / "pieces.tsv", COLUMNS, _account(read, after.readable, dead))
        write_text(folder / "description.json", json.dumps(description, ensure_ascii=False, indent=2) + "\n")
        write_export(read, folder / "huggingface")
        card = write_card(out.resolve().name, about(read), description)
        write_changes(folder, ids, checks, ADDED_COLUMNS, additions, card, model)


def _account(read: BpeFile, readable: Sequence[str], dead: set[int]) -> list[tuple]:
    """Rows of pieces.tsv; a score is less the number of merges before the token's first."""
    first = {new: -rank for rank, new in reversed(list(enumerate(read.merges[:, 2].tolist())))}
    return [
        (
            readable[number],
            number,
            first.get(number, 0),
            "",
            "symbol" if number in read.added else "dead" if number in dead else "ok",
            "",
        )
        for number in range(len(read.tokens))
        if number not in read.special
    ]


def listed(names: Sequence[str]) -> str:
    """The first of some tokens, for a message.

    >>> listed(["a", "b"])
    'a b'
    """
    return " ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")
