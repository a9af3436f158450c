"""What a tokenizer does to be adapted; the check of every line before and after; the folder of a result."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from vocap.errors import VocapError
from vocap.files.atomic import replacing_directory
from vocap.files.tsv import write_tsv
from vocap.text_files.named_texts import Texts, read_sentences
from vocap.tokenizer_files import CARD, EXPORTED
from vocap.tokenizer_files.encoders import Encoder
from vocap.unigram.alp import count_tokens

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

    def origins(self, after: "Adaptable") -> list[list[int]]:
        """The old ids that each new token of `after` is made of."""

    def account(self, after: "Adaptable", origins: Sequence[Sequence[int]]) -> tuple[list[tuple], dict[str, Any]]:
        """Rows of additions.tsv under `Adaptable.columns`, and facts for description.json."""


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


def corpora_of(tokenizer: Path) -> Path | None:
    """The corpora of the run in whose folder a tokenizer's file lies, if it lies in one."""
    beside = tokenizer.parent.parent.parent / "corpora"
    return beside if beside.is_dir() else None


EXAMPLES = 3
_LINE = 80  # characters of an example


@dataclass
class Check:
    """The lines of one text: `identical` have the same pieces; `unforeseen` use one that training text did not.

    `unforeseen` of held-out text: the lines that would have changed if it had not been read, an estimate for
    unseen text; None where it is not measured.
    """

    lines: int = 0
    identical: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    unforeseen: int | None = None
    examples: list[str] = field(default_factory=list)

    def row(self, language: str, part: str) -> dict[str, Any]:
        """The cells of comparison.tsv by column; no share where there is no line."""
        return {
            "language": language,
            "part": part,
            "lines": self.lines,
            "identical": self.identical,
            "share": self.identical / self.lines if self.lines else None,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "unforeseen": self.unforeseen,
            "example": "; ".join(self.examples),
        }


Checks = Mapping[tuple[str, str], Check]  # by language and part


def count_uses(encoder: Encoder, texts: Texts) -> tuple[np.ndarray, np.ndarray]:
    """Uses of each id in the texts and in the held-out texts, int64 [V]. Raises VocapError for no line."""
    counts = np.zeros((2, encoder.size), np.int64)
    for parts in texts.values():
        for part, path in parts.items():
            counts[int(part == "heldout")] += count_tokens(
                encoder.encode_batch, encoder.size, read_sentences(path)
            )[0]
    if not counts.any():
        raise VocapError("no line in any text; give text with a sentence a line")
    return counts[0], counts[1]


def compare_texts(
    before: Adaptable,
    after: Adaptable,
    new_ids: Mapping[int, int],
    texts: Texts,
    foreseen: np.ndarray | None = None,
) -> dict[tuple[str, str], Check]:
    """The check of every language and part.

    `new_ids`: the encoder's id in `after` of each id of `before` that stays. `foreseen` bool [V before]: the
    pieces that were chosen without held-out text, for its check.
    """
    return {
        (code, part): _compare(
            before, after, new_ids, read_sentences(path), foreseen if part == "heldout" else None
        )
        for code, parts in texts.items()
        for part, path in parts.items()
    }


def _compare(
    before: Adaptable,
    after: Adaptable,
    new_ids: Mapping[int, int],
    blocks: Iterable[list[str]],
    foreseen: np.ndarray | None,
) -> Check:
    """Segment every line with both; one block of lines is held at a time."""
    check = Check(unforeseen=None if foreseen is None else 0)
    renamed = [new_ids.get(number, -1) for number in range(before.encoder.size)]
    surprising = set() if foreseen is None else set(np.flatnonzero(~foreseen).tolist())
    for lines in blocks:
        check.lines += len(lines)
        both = (side.encoder.encode_batch(lines) for side in (before, after))
        for line, old, new in zip(lines, *both, strict=True):
            check.tokens_before += len(old)
            check.tokens_after += len(new)
            if check.unforeseen is not None and not surprising.isdisjoint(old):
                check.unforeseen += 1
            if list(map(renamed.__getitem__, old)) == new:
                check.identical += 1
            elif len(check.examples) < EXAMPLES:
                check.examples.append(_show(before.tokens(line), after.tokens(line), line))
    return check


def _show(one: list[str], other: list[str], line: str) -> str:
    """The line, shortened, and the part of both splits that differs, with a piece on either side."""
    shortest = min(len(one), len(other))
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shortest)
    end = 0
    while end < shortest - start and one[-1 - end] == other[-1 - end]:
        end += 1
    first, last = max(start - 1, 0), max(end - 1, 0)
    shown = [" ".join(side[first : len(side) - last]) for side in (one, other)]
    return f"“{line if len(line) <= _LINE else line[:_LINE] + '…'}”: {shown[0]} → {shown[1]}"


ID_COLUMNS = ("old", "new", "piece", "reason")
OWNED = (
    *("sentencepiece.model", *EXPORTED[:2], "pieces.tsv", "description.json"),
    *("ids.tsv", "comparison.tsv", "additions.tsv", "huggingface/", "model/"),
)


def write_adapted(
    out: Path,
    after: Adaptable,
    kind: str,
    settings: Mapping[str, Any],
    ids: Sequence[tuple],
    checks: Checks,
    facts: Mapping[str, Any],
    model=None,
    additions: Sequence[tuple] = (),
) -> None:
    """Write `OWNED` to the folder `out`, whole or not at all: `model/` with a model, additions.tsv with additions.

    `ids` are rows of `ID_COLUMNS`, `additions` of `after.columns`; `facts` are entries of description.json.
    """
    with replacing_directory(out, owned=OWNED) as folder:
        card = after.write(folder, out, kind, settings, facts)
        write_tsv(folder / "ids.tsv", ID_COLUMNS, ids)
        rows = [found.row(language, part) for (language, part), found in checks.items()]
        write_tsv(folder / "comparison.tsv", tuple(rows[0]), [tuple(row.values()) for row in rows])
        if additions:
            write_tsv(folder / "additions.tsv", after.columns, additions)
        (folder / "huggingface" / CARD).write_text(card, "utf-8")
        if model is not None:
            from vocap.adapt.model_rows import save_model  # torch: only where it is needed

            save_model(model, folder / "huggingface", folder / "model")
