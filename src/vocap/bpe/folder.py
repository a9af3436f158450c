"""A tokenizer's folder: tokenizer.json, the table of its pieces, and the description of its settings."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import Tokenizer

from vocap import __version__
from vocap.bpe.tokenizer_json import Rows, build, token_names
from vocap.bpe.words import Alphabet
from vocap.files.atomic import write_text
from vocap.files.tsv import write_tsv
from vocap.tokenizer_files.export import configuration
from vocap.tokenizer_files.folder import COLUMNS


def write_definition(folder: Path, tokenizer: Tokenizer, roles: Mapping[str, str], length: int) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`: `roles` to their special tokens, the longest input."""
    config = configuration(tokenizer, roles, length)
    write_text(folder / "tokenizer.json", tokenizer.to_str(pretty=False))
    write_text(folder / "tokenizer_config.json", json.dumps(config, ensure_ascii=False, indent=2) + "\n")


def write_tokenizer(
    out: str | os.PathLike, alphabet: Alphabet, merges: np.ndarray, rows: Rows, description: Mapping, total: int
) -> int:
    """Write `tokenizer.json`, its configuration, `pieces.tsv` and, last, `description.json`; returns the ids.

    `merges` int32 [M, 3]; `description`: kind, settings and more; `total`: the ids that were asked for. A piece's
    score is less the number of merges before its own, 0 for the alphabet.
    """
    out = Path(out)
    names = token_names(alphabet, merges)
    by_id = rows.ids(names)
    tokenizer = build(alphabet, merges, rows)
    (out / "description.json").unlink(missing_ok=True)  # it says that the folder is complete
    write_definition(out, tokenizer, rows.layout.roles, rows.layout.model_max_length)
    ranks = {names[new]: -rank for rank, new in reversed(list(enumerate(merges[:, 2].tolist())))}
    table, first = [], len(rows.controls) + len(rows.bytes)
    for number, name in enumerate(by_id[first : len(by_id) - len(rows.last)], start=first):
        symbol = number < first + len(rows.symbols)
        piece = name if symbol else alphabet.text(name)
        table.append((piece, number, 0 if symbol else ranks.get(name, 0), "", "symbol" if symbol else "ok", ""))
    write_tsv(out / "pieces.tsv", COLUMNS, table)
    content = {
        "kind": description["kind"],
        "total": len(by_id),
        "settings": {"total": total, **description["settings"]},
        "scores": "by the order of merges",
        "pieces": len(table) - len(rows.symbols),
        "dead": 0,
        "dead_share": 0.0,
        "merges": len(merges),
        "short": total - len(by_id),
        **{key: value for key, value in description.items() if key not in ("kind", "settings")},
        "versions": {"vocap": __version__, "tokenizers": tokenizers.__version__},
    }
    write_text(out / "description.json", json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    return len(by_id)
