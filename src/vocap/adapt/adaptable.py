"""What a tokenizer of either kind does so that `trim` can cut it, and `extend` append to it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from vocap.tokenizer_files.encoders import Encoder

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


class Additions(Protocol):
    """The new tokens of a language, from one training; behind all others, any number of them."""

    origin: str  # in words, for the summary

    def available(self, count: int) -> int:
        """The new tokens that the text gives where `count` are asked for."""

    def extended(self, count: int) -> "Adaptable":
        """The tokenizer with `count` of the new tokens."""

    def account(self, after: "Adaptable") -> tuple[list[list[int]], list[tuple], dict[str, Any]]:
        """The old ids behind each new token of `after`, rows of additions.tsv, facts for description.json."""


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

    def learn(self, text: Path, counts: Sequence[int], settings: Mapping[str, Any]) -> Additions:
        """Train the numbers of new tokens in `counts` (rising). Raises VocapError where the text gives none."""

    def write(self, folder: Path, out: Path, kind: str, settings: Mapping, facts: Mapping) -> str:
        """Write tokenizer, tables, description and export to `folder`, which becomes `out`; returns the card."""
