"""What a tokenizer of either kind does so that `trim` can cut it, and `extend` append to it."""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from vocap.errors import VocapError
from vocap.tokenizer_files.encoders import Encoder

logger = logging.getLogger(__name__)
TEXT, HELDOUT, CHARACTER, SPECIAL = "text", "heldout", "character", "special"  # reasons to keep a token


@dataclass(frozen=True)
class Choice:
    """The tokens that stay, each with its reason, and the rows of the merges that stay.

    `unreachable`: tokens that are left out although no text lacks them; `facts`: entries of description.json.
    """

    reasons: Mapping[str, str]
    merges: Sequence[int] = ()
    unreachable: Sequence[str] = ()
    facts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Extension:
    """The tokenizer `after`, with the new tokens of a language behind all others, which are `origin` (in words).

    `origins`: the old ids behind each new token; `rows` of additions.tsv; `facts`: entries of description.json.
    """

    after: "Adaptable"
    origin: str
    origins: Sequence[Sequence[int]]
    rows: Sequence[tuple]
    facts: Mapping[str, int]


def reachable_count(total: int, available: int, text: Path, settings: Mapping[str, Any]) -> int:
    """The number of new tokens: `pieces` of the settings, or the most of `available` ones that keep `multiple_of`.

    Raises VocapError where the text gives none.
    """
    wanted, multiple = settings["pieces"], settings.get("multiple_of", 1)
    if available >= wanted:
        return wanted
    count = available - (total + available) % multiple
    if count < 1:
        raise VocapError(
            f"{text}: it gives {available} new pieces, too few for a multiple of {multiple} ids; give more text"
        )
    logger.warning("%s: too little text for %d new pieces: %d", text, wanted, count)
    return count


class Adaptable(Protocol):
    """A finished tokenizer that `trim` cuts to some of its tokens, and `extend` appends to.

    `ids` are those of a model's rows, special tokens among them; they differ from the encoder's in XLM-R's files.
    """

    path: Path
    ids: dict[str, int]
    encoder: Encoder
    names: list[str]  # the encoder's tokens by id, to be read
    lacking: list[str]  # special tokens of every result that have no id
    reasons: ClassVar[tuple[str, ...]]  # to keep a token, in the order of the summary
    unused: ClassVar[frozenset[str]]  # options of the other kind
    columns: ClassVar[tuple[str, ...]]  # of additions.tsv

    @property
    def total(self) -> int:
        """T: the number of ids."""

    def in_order(self) -> "Adaptable":
        """The tokenizer with the encoder's ids in the order of `ids`."""

    def owners(self, table: Path | None) -> dict[str, list[str]]:
        """Token to the languages whose it is, by a table; empty where that is unknown."""

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line, to be read."""

    def choose(
        self, text: np.ndarray, heldout: np.ndarray, owned: Collection[str], least: int, all_characters: bool
    ) -> Choice:
        """The tokens that stay, by their uses in training and held-out text, int64 [V] each."""

    def cut_to(self, choice: Choice, owners: Mapping[str, Sequence[str]]) -> "Adaptable":
        """The tokenizer of these tokens alone."""

    def extended(self, text: Path, settings: Mapping[str, Any]) -> Extension:
        """Train on a text, and append `pieces` of the settings. Raises VocapError where it gives none."""

    def write(self, folder: Path, out: Path, kind: str, settings: Mapping, facts: Mapping) -> str:
        """Write tokenizer, tables, description and export to `folder`, which becomes `out`; returns the card."""
