"""A finished tokenizer that `trim` cuts and `extend` appends to: a unigram model, or
byte-pair encoding.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from vocap.errors import VocapError, listed, log
from vocap.text_files.text import Text
from vocap.tokenizer_files import encoders
from vocap.tokenizer_files.card import About
from vocap.tokenizer_files.export import find_settings, find_templates

FOLDERS = ("", "huggingface")  # of a tokenizer's settings, beside its file


class Reason(StrEnum):
    """The reason to keep a token. LANGUAGE and EXTREME: of unigram models; PART: of a
    merge that stays.
    """

    TEXT, HELDOUT, CHARACTER, SPECIAL = "text", "heldout", "character", "special"
    LANGUAGE, EXTREME, PART = "language", "extreme", "part"


@dataclass(frozen=True)
class KeptTokens:
    """The tokens that stay, each with its reason, and the rows of the merges that stay.

    `unreachable`: tokens that are left out although no text lacks them; `facts`:
    entries of description.json.
    """

    reasons: Mapping[str, str]
    merges: Sequence[int] = ()
    unreachable: Sequence[str] = ()
    facts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Extension:
    """The tokenizer `after`, with the new tokens of a language behind all others, which
    are `origin` (in words).

    `origins`: the old ids behind each new token; `rows` of additions.tsv; `facts`:
    entries of description.json.
    """

    after: "Adaptable"
    origin: str
    origins: Sequence[Sequence[int]]
    rows: Sequence[tuple[Any, ...]]
    facts: Mapping[str, int]


def encoder_as_loaded(
    definition: Mapping[str, Any], ids: Mapping[str, int], path: Path
) -> encoders.HuggingFaceEncoder:
    """The encoder of a tokenizer.json as users load it: special tokens in the text are
    themselves.

    Raises VocapError, naming `path`, where the library refuses it, or gives a token
    another id than `ids`.
    """
    encoder = encoders.parse_encoder(json.dumps(definition).encode(), path)
    encoder.tokenizer.encode_special_tokens = False
    for token, number in ids.items():
        if encoder.ids.get(token) != number:
            raise VocapError(
                f"{path}: tokenizers gives {token!r} the id {encoder.ids.get(token)} instead of "
                f"{number}; save it again with its added tokens in the order of their ids"
            )
    return encoder


class Adaptable(Protocol):
    """A tokenizer of either kind.

    `ids` are those of a model's rows, special tokens among them; they differ from the
    encoder's in XLM-R's files.
    """

    path: Path
    ids: dict[str, int]
    encoder: encoders.Encoder
    lacking: Sequence[str] = ()  # special tokens of every result that have no id
    reasons: ClassVar[tuple[str, ...]]  # to keep a token, in the order of the summary
    unused: ClassVar[frozenset[str]] = frozenset()  # options of the other kind
    columns: ClassVar[tuple[str, ...]]  # of additions.tsv

    @property
    def total(self) -> int:
        """T: the number of ids."""
        return max(self.ids.values()) + 1

    @property
    def names(self) -> list[str]:
        """The encoder's tokens by id, to be read."""
        return [piece or "" for piece in self.encoder.pieces]

    @property
    def corpora(self) -> Path | None:
        """The corpora of the run that made the tokenizer, if there are any."""
        folder = self.path.parent.parent.parent / "corpora"
        return folder if folder.is_dir() else None

    @property
    def chat(self) -> dict[str, str]:
        """The chat templates in its folder, or in that of its export."""
        return find_templates(self.path, FOLDERS)

    @property
    def config(self) -> dict[str, Any]:
        """Its tokenizer_config.json, or that of its export."""
        return find_settings(self.path, FOLDERS)

    def in_order(self) -> "Adaptable":
        """The tokenizer with the encoder's ids in the order of `ids`."""
        return self

    def owners(self) -> dict[str, list[str]]:
        """Token to the languages whose it is, by pieces.tsv beside the file; empty
        where that is unknown.
        """
        return {}

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line, to be read."""
        return [self.names[number] for number in self.encoder.encode_batch([line])[0]]

    def choose(
        self,
        text: NDArray[np.int64],
        heldout: NDArray[np.int64],
        owned: Collection[str],
        least: int,
        all_characters: bool,
    ) -> KeptTokens:
        """The tokens that stay, by their uses in training and held-out text, int64 [V]
        each.
        """

    def cut_to(self, choice: KeptTokens, owners: Mapping[str, Sequence[str]]) -> "Adaptable":
        """The tokenizer of these tokens alone."""

    def extended(self, text: Text, settings: Mapping[str, Any]) -> Extension:
        """Train on a text, and append `pieces` of the settings. Raises VocapError where
        it gives none.
        """

    def count_new(
        self,
        available: int,
        left_out: Sequence[str],
        scripts: Collection[str],
        text: str,
        settings: Mapping[str, Any],
    ) -> int:
        """The number of new tokens: `pieces` of the settings, or the most of
        `available` that keep `multiple_of`.

        What is missing in the text of this name is logged, and the tokens `left_out`,
        which are no text of the language, whose `scripts` are. Raises VocapError where
        the text gives none.
        """
        if left_out:
            says = (
                "%s: %d new pieces of only digits, punctuation or symbols, or of other scripts "
                "than %s, are left out: %s"
            )
            named = ", ".join(sorted(scripts))
            log.info(says, self.path, len(left_out), named, listed(left_out, separator=" "))
        wanted, multiple = settings["pieces"], settings.get("multiple_of", 1)
        if available >= wanted:
            return wanted
        count = available - (self.total + available) % multiple
        if count < 1:
            raise VocapError(
                f"{text}: it gives {available} new pieces, too few for a multiple of {multiple} "
                "ids; give more text"
            )
        log.warning("%s: too little text for %d new pieces; it gives %d", text, wanted, count)
        return count

    def write(
        self,
        folder: Path,
        name: str,
        kind: str,
        settings: Mapping[str, Any],
        facts: Mapping[str, Any],
    ) -> tuple[About, Mapping[str, Any]]:
        """Write tokenizer, tables, description (with `kind`, `settings` and `facts`) and
        export to `folder`; warnings call it `name`.

        Returns what the card says, and the description.
        """
