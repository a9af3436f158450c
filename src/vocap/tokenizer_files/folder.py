"""A tokenizer's folder: the model, the table of its pieces, and the description of its settings."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import sentencepiece

from vocap import __version__
from vocap.files.atomic import replacing, write_text
from vocap.files.tsv import write_tsv
from vocap.tokenizer_files.layout import ROUNDING, serialize
from vocap.tokenizer_files.model_file import NORMAL, USER_DEFINED
from vocap.tokenizer_files.shadowing import dead_pieces

COLUMNS = ("piece", "id", "score", "languages", "status", "shadowed_by")


def account(
    proto,
    owners: Mapping[str, Sequence[str]],
    status: Mapping[str, str],
    shadows: Mapping[str, Sequence[str]],
    dropped: Sequence[tuple[str, float]] = (),
) -> list[tuple]:
    """Rows of `pieces.tsv`: the pieces and symbols by id, then those `dropped` (piece, score), without an id.

    `status`: that of pieces which are not `ok`; `shadows`: the segmentation of a raised or dead piece.
    """
    rows = []
    for index, entry in enumerate(proto.pieces):
        if entry.type in (NORMAL, USER_DEFINED):
            own = "symbol" if entry.type == USER_DEFINED else "ok"
            rows.append((entry.piece, index, entry.score, status.get(entry.piece, own)))
    rows += [(piece, None, score, "dropped") for piece, score in dropped]
    return [
        (piece, index, score, ",".join(owners.get(piece, ())), kind, " ".join(shadows.get(piece, ())))
        for piece, index, score, kind in rows
    ]


def write_tokenizer(out: str | os.PathLike, proto, rows: Sequence[tuple], description: Mapping) -> None:
    """Write `sentencepiece.model`, `pieces.tsv` and, last, `description.json`, each whole or not at all."""
    out = Path(out)
    data = serialize(proto)
    (out / "description.json").unlink(missing_ok=True)  # it says that the folder is complete
    with replacing(out / "sentencepiece.model", "wb") as file:
        file.write(data)
    write_tsv(out / "pieces.tsv", COLUMNS, rows)
    write_text(out / "description.json", json.dumps(description, ensure_ascii=False, indent=2) + "\n")


def describe(kind: str, proto, settings: Mapping, scores: str, dead: int, **more) -> dict:
    """The entries of `description.json` for every kind of tokenizer, and `more` for some."""
    pieces = sum(entry.type == NORMAL for entry in proto.pieces)
    return {
        "kind": kind,
        "total": len(proto.pieces),
        "settings": dict(settings),
        "scores": scores,
        "rounding": ROUNDING,
        "pieces": pieces,
        "dead": dead,
        "dead_share": dead / pieces,
        **more,
        "versions": {"vocap": __version__, "sentencepiece": sentencepiece.__version__},
    }


def write_as_trained(
    out: str | os.PathLike, kind: str, proto, settings: Mapping, owner: Sequence[str] = (), **more
) -> dict:
    """Write a tokenizer whose scores are SentencePiece's own: dead pieces are reported, not repaired.

    `owner` is the language of every piece, `more`: further entries of `description.json`.
    """
    dead = dead_pieces(proto)
    owners = {entry.piece: owner for entry in proto.pieces}
    description = describe(kind, proto, settings, "as SentencePiece trained them", len(dead), **more)
    write_tokenizer(out, proto, account(proto, owners, dict.fromkeys(dead, "dead"), dead), description)
    return description
