"""`vocap extend` for byte-pair encoding: merges of the new language behind all old ones."""

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vocap.adapt.pair_files import PairEncoder, PairSource, checked_encoder, listed, write_pairs
from vocap.bpe.continuing import Additions, continue_training, count_words
from vocap.bpe.renumbering import append_tokens
from vocap.errors import VocapError
from vocap.text_files.named_texts import read_sentences
from vocap.unigram.alp import count_tokens

logger = logging.getLogger(__name__)


class PairLadder:
    """The new tokens of a language, `source` extended by any number of them: one training gives all."""

    def __init__(self, source: PairSource, text: Path, coverage: float):
        self.source, self.text, self.coverage = source, text, coverage

    def train(self, counts: list[int]) -> None:
        """Train the largest number. Raises VocapError where the text gives no new token."""
        words = count_words(self.source.read, self.source.encoder.tokenizer, read_sentences(self.text))
        if not words:
            raise VocapError(f"{self.text}: no text in it; give text with a sentence a line")
        logger.info("%s: %d distinct words", self.text, len(words))
        self.added = continue_training(self.source.read, words, max(counts), self.coverage)
        if not len(self.added):
            raise VocapError(f"{self.text}: every word of it is a token already; nothing to add")

    def available(self, count: int) -> int:
        """The new tokens that the text gives."""
        return len(self.added)

    def extended(self, count: int) -> PairEncoder:
        """The tokenizer with the first `count` of the new tokens."""
        tokens, merges = self.added.first(count)
        definition = append_tokens(self.source.read, tokens, merges)
        return checked_encoder(definition, [*self.source.read.tokens, *tokens], self.source.path)

    def changed_lines(self, after: PairEncoder, path: Path) -> int:
        """The lines of a text that the tokenizer and `after` encode otherwise."""
        return sum(
            old != new
            for lines in read_sentences(path)
            for old, new in zip(self.source.encoder.encode_batch(lines), after.encode_batch(lines), strict=True)
        )


def origins_of(source: PairSource, tokens: list[str]) -> list[list[int]]:
    """The old ids of each new token's characters; the unknown token's, or the first, for one that has none."""
    derivations, unknown = source.derivations, source.encoder.unk_id or 0
    return [
        derivations.encode(token)[0] if all(character in derivations.single for character in token) else [unknown]
        for token in tokens
    ]


def write_extended(
    out: Path, source: PairSource, after: PairEncoder, added: Additions, count: int, text: Path, settings: Mapping,
    checks, alps: Mapping, origins: list[list[int]], model=None, **more,
) -> None:  # fmt: skip
    """Write the folder of the result; new tokens that the text does not use are named."""
    tokens, pairs = added.first(count)
    total, readable = source.total, after.readable
    uses = count_tokens(after.encode_batch, after.size, read_sentences(text))[0]
    unused = [readable[number] for number in range(total, after.size) if not uses[number]]
    if unused:
        logger.warning(
            "%s: %d of %d new tokens are only parts of longer ones: %s", text, len(unused), count, listed(unused)
        )
    number, made = after.ids, {"".join(pair): pair for pair in reversed(pairs)}  # the first pair of each
    rows = []
    for place, (token, origin) in enumerate(zip(tokens, origins, strict=True)):
        new = total + place
        merge = " ".join(readable[number[part]] for part in made.get(token, ()))
        old = " ".join(source.encoder.readable[one] for one in origin)
        rows.append((readable[new], new, merge, int(uses[new]), old))
    ids = [(number, number, piece, "old") for number, piece in enumerate(readable[:total])]
    ids += [(None, number, piece, "new") for piece, number, *_ in rows]
    write_pairs(
        out, source, after, "extended", settings, ids, checks, model, rows,
        total_before=total,
        merges_before=len(source.read.merges),
        added=count,
        new_characters=len(added.characters[:count]),
        never_used=int(np.count_nonzero(uses[total:] == 0)),
        language_alp=alps,
        **more,
    )  # fmt: skip
