"""The ids of a tokenizer's special tokens, from either form of it."""

import os
from pathlib import Path

from vocap.errors import VocapError
from vocap.tokenizer_files.encoders import is_json


def read_special_ids(path: str | os.PathLike) -> tuple[dict[str, int], tuple[int, ...]]:
    """The id of each role that a tokenizer has, the mask among them, and those of its other special tokens.

    `path`: a SentencePiece model, or a tokenizer.json, whose roles are those of the configuration beside it.
    Raises VocapError as `read_model` and `roles_of`.
    """
    path = Path(path)
    if not path.is_file():
        raise VocapError(f"{path}: no such file; give a tokenizer that vocap made")
    if is_json(path):
        from vocap.tokenizer_files.encoders import load_encoder
        from vocap.tokenizer_files.hugging_face import roles_of

        encoder = load_encoder(path)
        ids = {role: encoder.ids[token] for role, token in roles_of(path, encoder.ids).items()}
        special = _special_tokens(path)
    else:
        from vocap.tokenizer_files.id_layout import role_ids
        from vocap.tokenizer_files.model_file import CONTROL, read_model

        proto = read_model(path)
        ids = role_ids(proto)
        special = {number for number, entry in enumerate(proto.pieces) if entry.type == CONTROL}
    return ids, tuple(sorted(special - set(ids.values())))


def _special_tokens(path: Path) -> set[int]:
    """The ids of the added tokens of a tokenizer.json that are special."""
    from vocap.files.json_object import read_object

    return {entry["id"] for entry in read_object(path).get("added_tokens") or () if entry.get("special")}
