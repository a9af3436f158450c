"""The tokenizer of merges: ids in the layout of all tokenizers, text read as in
training.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers

from vocap.bpe.cutting import Pretokenization
from vocap.bpe.model_file import describe_pairs
from vocap.bpe.training import token_names
from vocap.bpe.words import Alphabet
from vocap.errors import UsageError
from vocap.tokenizer_files.charsmap import read_charsmap
from vocap.tokenizer_files.cuts import SPACE
from vocap.tokenizer_files.encoders import HuggingFaceEncoder
from vocap.tokenizer_files.export import special_tokens_step
from vocap.tokenizer_files.id_layout import MASK, IdLayout
from vocap.tokenizer_files.model_file import BYTES
from vocap.tokenizer_files.normalizer import build_normalizer
from vocap.unigram.text_settings import COVERAGE


class Rows:
    """The ids of a tokenizer of byte-pair encoding besides its pieces of text.

    Special tokens, control symbols, reserved ids and user-defined symbols come before the
    pieces, and the mask after them.
    """

    def __init__(self, how: Pretokenization, layout: IdLayout):
        self.how, self.layout = how, layout
        special = [entry.token for entry in layout.special]
        self.controls = [*special, *how.settings.control_symbols, *layout.reserved_names]
        self.symbols = list(how.settings.user_defined_symbols)
        self.last = [MASK] if layout.mask else []

    @property
    def reserved(self) -> list[str]:
        """The names that no merge may give, as symbols of the alphabet spell them."""
        names = [*self.controls, *self.last, *self.symbols]
        return [*names, *BYTES]

    def tokens(self, total: int, alphabet: Alphabet, exact: bool = True) -> int:
        """The number of tokens, symbols among them, of a tokenizer of `total` ids.

        Raises UsageError for a total that does not hold the alphabet, naming the
        smallest that does, and, if `exact`, for one that is no multiple of the
        layout's.
        """
        if exact:
            self.layout.check_total(total)
        apart = len(self.ids([]))
        if total - apart < len(alphabet.names):
            raise UsageError(
                f"T = {total} does not hold the {len(alphabet.names)} bytes of the alphabet, "
                "special tokens and symbols; the smallest possible T is "
                f"{apart + len(alphabet.names)}"
            )
        return total - apart

    def ids(self, names: Sequence[str]) -> list[str]:
        """All tokens by id; `names`: the symbols and the tokens of merges."""
        return [*self.controls, *self.symbols, *names, *self.last]


def build_bpe(alphabet: Alphabet, merges: np.ndarray, rows: Rows) -> Tokenizer:
    """The `tokenizers.Tokenizer` of `merges` (int32 [M, 3])."""
    how, layout = rows.how, rows.layout
    names = token_names(alphabet, merges)
    by_id = rows.ids(names)
    pairs = [(names[a], names[b]) for a, b, _ in merges.tolist()]
    tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate(by_id)}, pairs))
    if not how.settings.keeps_text:
        tokenizer.normalizer = _normalizer(how)
    tokenizer.pre_tokenizer = how.cut.pre_tokenizer()
    tokenizer.decoder = _decoder(how)
    tokenizer.post_processor = special_tokens_step(
        layout, {token: number for number, token in enumerate(by_id)}
    )
    controls = [*rows.controls, *rows.last]
    tokenizer.add_special_tokens(
        [
            AddedToken(token, lstrip=token == MASK, normalized=False, special=True)
            for token in controls
        ]
    )
    tokenizer.add_tokens(
        [AddedToken(symbol, normalized=False, special=False) for symbol in rows.symbols]
    )
    return tokenizer


@cache  # rules take seconds to convert, and every T of a training has the same
def _normalizer(how: Pretokenization) -> normalizers.Normalizer:
    from sentencepiece import sentencepiece_model_pb2

    from vocap.unigram.model_files import model_parts

    spec = sentencepiece_model_pb2.ModelProto.FromString(
        model_parts(COVERAGE, how.settings)[1]
    ).normalizer_spec
    rules = read_charsmap(spec.precompiled_charsmap)
    step = build_normalizer(
        rules, spec.precompiled_charsmap, (), spec.add_dummy_prefix, spec.remove_extra_whitespaces
    )
    return normalizers.Sequence([step, normalizers.Replace(SPACE, " ")])


def _decoder(how: Pretokenization) -> decoders.Decoder:
    steps: list[decoders.Decoder] = [decoders.ByteLevel()]
    if how.settings.add_dummy_prefix:
        steps.append(decoders.Replace(Regex(r"\A "), ""))
    return decoders.Sequence(steps) if len(steps) > 1 else steps[0]


def describe_merges(
    tokenizer: Tokenizer,
    merges: NDArray[np.int32],
    rows: Rows,
    description: Mapping[str, Any],
    total: int,
) -> tuple[list[tuple[str, int, float, str, str, str]], dict[str, Any]]:
    """The tables of a tokenizer of `build_bpe`, as `describe_pairs`.

    `merges` int32 [M, 3]; `description`: kind, settings and more; `total`: the ids that
    were asked for.
    """
    encoder = HuggingFaceEncoder(tokenizer, None)
    first = len(rows.controls) + len(rows.symbols)
    settings = {"total": total, **description["settings"]}
    more = {"short": total - encoder.size, **description, "settings": settings}
    found = describe_pairs(encoder, (merges[:, 2] + first).tolist(), **more)
    tokenizer.encode_special_tokens = False  # as it is loaded; the encoder sets it
    return found
