"""Adapted tokenizers: the tokenizer to adapt, the check of every line under both, the folder of the result."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import VocapError
from vocap.files.atomic import replacing_directory
from vocap.files.json_object import read_object
from vocap.files.tsv import read_tsv, write_tsv
from vocap.text_files.named_texts import Texts, read_sentences
from vocap.tokenizer_files import CARD, EXPORTED
from vocap.tokenizer_files.card import About, write_card
from vocap.tokenizer_files.encoders import SentencePieceEncoder, is_json, load_encoder
from vocap.tokenizer_files.export import write_export
from vocap.tokenizer_files.folder import account, describe, write_tokenizer
from vocap.tokenizer_files.guarded_tokenizer import GuardedTokenizer
from vocap.tokenizer_files.id_layout import ROLES, XLM_R_LAYOUT, IdLayout, layout_of
from vocap.tokenizer_files.layout import Contents, lay_out, read_contents
from vocap.tokenizer_files.model_file import build_processor, read_model
from vocap.tokenizer_files.shadowing import dead_pieces
from vocap.unigram.alp import count_tokens

MODEL = "sentencepiece.model"


@dataclass(frozen=True)
class SourceTokenizer:
    """A unigram model at `path`, and `ids`: piece to id, special tokens among them.

    The ids are the model's own, or those of a `tokenizer.json` beside it where they differ: XLM-R's are shifted.
    """

    path: Path
    proto: object  # ModelProto
    ids: dict[str, int]

    @cached_property
    def layout(self) -> IdLayout:
        """The model's own, with the settings of the export beside it; XLM-R's for a stock model.

        A stock model names tokens of roles that it lacks, such as <pad>; one that was laid out does not.
        """
        own, spec = layout_of(self.proto), self.proto.trainer_spec
        if any(getattr(spec, f"{role}_piece") and own.token(role) is None for role in ROLES):
            return XLM_R_LAYOUT
        return own.model_copy(update=_exported_settings(self.path.parent / "huggingface", own))

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

    @property
    def corpora(self) -> Path | None:
        """The corpora of the run that made the tokenizer, where it lies in a run's folder."""
        return corpora_of(self.path)

    def owners(self, table: Path | None = None) -> dict[str, list[str]]:
        """Piece to the languages whose chosen vocabularies hold it; empty without a table.

        The table has the columns piece and languages, as vocabulary.tsv; without one, pieces.tsv beside the model.
        """
        path = table or self.path.parent / "pieces.tsv"
        if table is None and not path.is_file():
            return {}
        rows = read_tsv(path, ("piece", "languages"))
        return {row["piece"]: row["languages"].split(",") for row in rows if row["languages"]}


def corpora_of(tokenizer: Path) -> Path | None:
    """The corpora of the run in whose folder a tokenizer's file lies, if it lies in one."""
    beside = tokenizer.parent.parent.parent / "corpora"
    return beside if beside.is_dir() else None


def load_source(path: Path) -> SourceTokenizer:
    """The tokenizer of a .model or of a folder with one: results/tokenizers/NAME, or XLM-R's files.

    Raises VocapError for anything else, naming the remedy.
    """
    model = _find_model(path)
    proto = read_model(model)
    ids = {entry.piece: number for number, entry in enumerate(proto.pieces)}
    definition = model.parent / "tokenizer.json"
    if path.is_dir() and definition.is_file():
        ids = dict(load_encoder(definition).ids)
        missing = [entry.piece for entry in proto.pieces if entry.piece not in ids]
        if missing:
            raise VocapError(
                f"{definition}: it lacks the piece {missing[0]!r} of {model.name}; "
                "they are not of one tokenizer: keep the files of one"
            )
    return SourceTokenizer(model, proto, ids)


def in_order(source: SourceTokenizer) -> SourceTokenizer:
    """The same tokenizer with its model's rows in the order of `ids`, so that both forms of it have the same ids.

    Raises VocapError unless each piece has one id, and special tokens have the first in the order of the layout.
    """
    wanted = [entry.token for entry in source.layout.special]
    given = [source.ids.get(token) for token in wanted]
    absent = [token for token in source.layout.names if token not in source.ids]
    if absent or given != list(range(len(wanted))) or source.total != len(source.ids):
        raise VocapError(
            f"{source.path}: its ids are not {', '.join(wanted)} from 0 on, all others behind them; lay it "
            "out with vocap mono first, or name the folder with its tokenizer.json"
        )
    spec = source.proto.trainer_spec
    proto = lay_out(source.contents, source.proto.normalizer_spec, source.layout, spec)
    entries = {entry.piece: entry for entry in proto.pieces}
    if foreign := [token for token in source.ids if token not in entries]:
        raise VocapError(f"{source.path}: its model has no text piece {foreign[0]!r}; lay it out with vocap mono")
    del proto.pieces[:]
    for token in sorted(source.ids, key=source.ids.get):
        proto.pieces.add().CopyFrom(entries[token])
    return SourceTokenizer(source.path, proto, source.ids)


def _exported_settings(folder: Path, layout: IdLayout) -> dict[str, Any]:
    """The settings of a layout that are those of the export in `folder`, if it is there."""
    definition, config = (folder / name for name in EXPORTED[:2])
    if not (definition.is_file() and config.is_file()):
        return {}
    length = read_object(config, "run vocap export again").get("model_max_length")
    template = (GuardedTokenizer("json", definition).pipeline()["post_processor"] or {}).get("single", ())
    around = {part["SpecialToken"]["id"] for part in template if "SpecialToken" in part}
    bos, eos = (layout.token(role) in around for role in ("bos", "eos"))
    found = {"bos_eos": "both" if bos and eos else "bos" if bos else "eos" if eos else "none"}
    return {**found, **({"model_max_length": length} if isinstance(length, int) else {})}


def _find_model(path: Path) -> Path:
    if not path.exists():
        raise VocapError(f"{path}: no such tokenizer; give results/tokenizers/NAME, or a SentencePiece .model")
    if path.is_file():
        if path.suffix == ".json" or is_json(path):
            raise VocapError(
                f"{path}: not a SentencePiece model, nor byte-pair encoding; name the .model that it was made from"
            )
        return path
    models = [path / MODEL] if (path / MODEL).is_file() else sorted(path.glob("*.model"))
    if len(models) != 1:
        found = ", ".join(model.name for model in models) or "none"
        raise VocapError(f"{path}: not one SentencePiece .model in it ({found}); name the file itself")
    return models[0]


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


def count_uses(encoder, texts: Texts) -> tuple[np.ndarray, np.ndarray]:
    """Uses of each id in the texts and in the held-out texts, int64 [V]. Raises VocapError for no line."""
    counts = np.zeros((2, encoder.size), np.int64)
    for parts in texts.values():
        for part, path in parts.items():
            found, _ = count_tokens(encoder.encode_batch, encoder.size, read_sentences(path))
            counts[int(part == "heldout")] += found
    if not counts.any():
        raise VocapError("no line in any text; give text with a sentence a line")
    return counts[0], counts[1]


def compare(
    before, after, new_ids: Mapping[int, int], blocks: Iterable[list[str]], foreseen: np.ndarray | None = None
) -> Check:
    """Segment every line with both encoders; one block of lines is held at a time.

    `new_ids`: the id in `after` of each id of `before` that stays. `foreseen` bool [V before]: the pieces that
    were chosen without this text.
    """
    check = Check(unforeseen=None if foreseen is None else 0)
    renamed = [new_ids.get(number, -1) for number in range(before.size)]
    surprising = set() if foreseen is None else set(np.flatnonzero(~foreseen).tolist())
    for lines in blocks:
        check.lines += len(lines)
        for line, old, new in zip(lines, before.encode_batch(lines), after.encode_batch(lines), strict=True):
            check.tokens_before += len(old)
            check.tokens_after += len(new)
            if check.unforeseen is not None and not surprising.isdisjoint(old):
                check.unforeseen += 1
            if list(map(renamed.__getitem__, old)) == new:
                check.identical += 1
            elif len(check.examples) < EXAMPLES:
                check.examples.append(_show(before, after, line))
    return check


def compare_texts(
    before, after, new_ids: Mapping[int, int], texts: Texts, foreseen: np.ndarray | None = None
) -> dict[tuple[str, str], Check]:
    """The check of every language and part; `foreseen` applies to held-out text."""
    return {
        (code, part): compare(
            before, after, new_ids, read_sentences(path), foreseen if part == "heldout" else None
        )
        for code, parts in texts.items()
        for part, path in parts.items()
    }


def trim_facts(kept: Collection[str], reasons: Sequence[str], checks: Mapping[Any, Check]) -> dict[str, Any]:
    """Entries of description.json: pieces by the reason that they are `kept` for, and lines that stay the same."""
    return {
        "kept_for": {reason: sum(why == reason for why in kept) for reason in reasons},
        "lines_compared": sum(found.lines for found in checks.values()),
        "lines_identical": sum(found.identical for found in checks.values()),
    }


def _show(before, after, line: str) -> str:
    """The line, shortened, and the part of both splits that differs, with a piece on either side."""
    one, other = (_tokens(side, line) for side in (before, after))
    start = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    first, last = max(start - 1, 0), max(end - 1, 0)
    shown = [" ".join(side[first : len(side) - last]) for side in (one, other)]
    return f"“{line if len(line) <= _LINE else line[:_LINE] + '…'}”: {shown[0]} → {shown[1]}"


def _tokens(side, line: str) -> list[str]:
    if isinstance(side, SentencePieceEncoder):
        return side.processor.encode(line, out_type=str)
    return [side.readable[number] for number in side.encode_batch([line])[0]]


ID_COLUMNS = ("old", "new", "piece", "reason")
ADDED_COLUMNS = ("piece", "id", "score", "own_score", "origin")
OWNED = (
    "sentencepiece.model",
    "pieces.tsv",
    "description.json",
    "ids.tsv",
    "comparison.tsv",
    "additions.tsv",
    "huggingface/",
    "model/",
)


def write_adapted(
    out: Path,
    layout: IdLayout,
    kind: str,
    proto,
    settings: Mapping,
    ids: Sequence[tuple],
    checks: Mapping[tuple[str, str], Check],
    owners: Mapping[str, Sequence[str]],
    scores: str,
    model=None,
    additions: Sequence[tuple] = (),
    **more,
) -> None:
    """Write `OWNED` to the folder `out`, whole or not at all: `model/` with a model, additions.tsv with additions.

    `ids` are rows of `ID_COLUMNS`, `additions` of `ADDED_COLUMNS`, `checks` by language and part, `owners` the
    languages of a piece where they are known.
    """
    dead = dead_pieces(proto)
    description = describe(kind, proto, settings, scores, len(dead), **more)
    with replacing_directory(out, owned=OWNED) as folder:
        write_tokenizer(folder, proto, account(proto, owners, dict.fromkeys(dead, "dead"), dead), description)
        write_export(proto, str(out), folder / "huggingface", layout)
        card = write_card(out.resolve().name, About.of(proto), description)
        write_changes(folder, ids, checks, ADDED_COLUMNS, additions, card, model)


def write_changes(
    folder: Path,
    ids: Sequence[tuple],
    checks: Mapping[tuple[str, str], Check],
    columns: Sequence[str],
    additions: Sequence[tuple],
    card: str,
    model,
) -> None:
    """Write the tables of an adapted tokenizer, the card of its export, which is there, and `model/` with a model.

    `ids` are rows of `ID_COLUMNS`, `additions` of `columns`, `checks` by language and part.
    """
    write_tsv(folder / "ids.tsv", ID_COLUMNS, ids)
    rows = [found.row(language, part) for (language, part), found in checks.items()]
    write_tsv(folder / "comparison.tsv", tuple(rows[0]), [tuple(row.values()) for row in rows])
    if additions:
        write_tsv(folder / "additions.tsv", columns, additions)
    (folder / "huggingface" / CARD).write_text(card, "utf-8")
    if model is not None:
        from vocap.adapt.model_rows import save_model  # torch: only where it is needed

        save_model(model, folder / "huggingface", folder / "model")
