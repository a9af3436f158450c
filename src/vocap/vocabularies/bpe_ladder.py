"""Every size of one language's byte-pair encoding, from one training."""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from vocap.bpe.replay import symbol_counts, token_counts
from vocap.bpe.tokenizer_json import Rows, build, merges_for
from vocap.bpe.training import MERGES, apply
from vocap.bpe.words import (
    SPACE,
    Alphabet,
    Pretokenization,
    byte_alphabet,
    character_alphabet,
    character_counts,
    count_words,
)
from vocap.errors import UsageError
from vocap.files.atomic import replacing
from vocap.progress import Steps
from vocap.tables.curve import Point
from vocap.text_files.lines import read_blocks
from vocap.tokenizer_files.id_layout import IdLayout, Special
from vocap.unigram.alp import average_log_probability

logger = logging.getLogger(__name__)
# <unk>, <s> and </s> come first, as in the models of SentencePiece: sizes count them
STOCK = IdLayout.model_construct(
    special=[
        Special(token=token, role=role) for token, role in (("<unk>", "unk"), ("<s>", "bos"), ("</s>", "eos"))
    ],
    mask=False,
)


def train_sizes(
    train: Path, heldout: Path | None, sizes: Sequence[int], how: Pretokenization, coverage: float, models: Path
) -> tuple[list[Point], dict[str, int], int]:
    """Write `models/{size}.json` for every size in reach; the points of the curve, and the characters' counts.

    ALPs are in nats a line, over all lines of either text, natural logarithm, p_uni counted on the same lines
    (Equation 1); they and the tokens come from the merges' own counts (`token_counts`). Also returns the number of
    training lines. Raises as `read_blocks`.
    """
    texts = [partial(read_blocks, path) for path in (train, heldout) if path is not None]
    words = count_words(texts, how)
    logger.info("%s: %d lines, %d distinct words", train, words.lines[0], len(words))
    characters = character_counts(words, words.counts[:, 0].copy())
    alphabet = _alphabet(how, characters, coverage)
    rows, base = Rows(how, STOCK), len(alphabet.names)
    tokens = {}
    for size in sizes:
        try:
            tokens[size] = rows.tokens(size, alphabet)
        except UsageError:
            continue
    symbols = alphabet.symbols(words)
    counts = np.zeros((len(words), 2), np.int64)
    counts[:, : words.counts.shape[1]] = words.counts
    wanted = max(tokens.values(), default=base)
    with Steps(f"{train}: merges", max(1, wanted // MERGES)) as steps:
        applied = apply(
            alphabet, symbols, counts, wanted, reserved=rows.reserved, progress=lambda _: steps.advance()
        )
    reached = max(base, int(applied.merges[:, 2].max(initial=0)) + 1)
    apart = len(rows.ids(alphabet.names)) - base

    def alps(text: int) -> dict[int, tuple[float, int]]:
        """ALP and tokens by number of tokens."""
        lines = words.lines[text] if text < len(words.lines) else 0
        initial = symbol_counts(symbols, counts[:, text], base)
        found = token_counts(initial, applied, text, [count for count in tokens.values() if count <= reached])
        return {size: (average_log_probability(each, lines), int(each.sum())) for size, each in found if lines}

    trained, held = alps(0), alps(1)
    largest = orjson.loads(build(alphabet, applied.merges, rows).to_str(pretty=False))
    points = []
    for size in sizes:
        path = models / f"{size}.json"
        if size not in tokens or tokens[size] > reached or not words.lines[0] or not len(words):
            path.unlink(missing_ok=True)
            points.append(Point(size, status=_reason(size, tokens, words, base + apart, reached + apart)))
            continue
        with replacing(path, "wb") as file:
            file.write(_truncated(largest, size, len(merges_for(applied.merges, tokens[size], base))))
        alp, total = trained[tokens[size]]
        heldout_alp = held.get(tokens[size], (None,))[0]
        points.append(Point(size, size, alp, heldout_alp, total / words.lines[0]))
    return points, characters, words.lines[0]


def _alphabet(how: Pretokenization, characters: dict[str, int], coverage: float) -> Alphabet:
    if how.unit == "bytes":
        return byte_alphabet()
    return character_alphabet(characters, coverage, [SPACE, *how.settings.required_chars])


def _reason(size: int, tokens: dict[int, int], words, least: int, most: int) -> str:
    if not len(words):
        return "no text"
    if size not in tokens:
        return f"too small: the alphabet takes {least} ids"
    return f"too little text: at most {most} pieces"


def _truncated(largest: dict[str, Any], size: int, merges: int) -> bytes:
    """The tokenizer.json of the first ids and merges of another: no id is behind the pieces."""
    model = largest["model"]
    vocabulary = {token: number for token, number in model["vocab"].items() if number < size}
    return orjson.dumps({**largest, "model": {**model, "vocab": vocabulary, "merges": model["merges"][:merges]}})
