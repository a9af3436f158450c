"""Small models and character maps."""

import io
from functools import cache

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tests.vocabularies.factories import make_text


def train_model(lines=None, size=120, **options) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines or make_text("latin", 200)),
        model_writer=model,
        vocab_size=size,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def parse(model: bytes):
    return sentencepiece_model_pb2.ModelProto.FromString(model)


BUILT_IN = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")


@cache
def built_in_maps() -> frozenset[bytes]:
    """The character maps that SentencePiece makes for its own rule names."""
    models = [train_model(["a"], 5, normalization_rule_name=name) for name in BUILT_IN]
    return frozenset(parse(model).normalizer_spec.precompiled_charsmap for model in models)


def charsmap(units: list[int], replacements: bytes = b"x\0") -> bytes:
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(trie).to_bytes(4, "little") + trie + replacements


def unit(label: int, offset: int, leaf: bool = False) -> int:
    """A unit of a Darts double array; `offset` below 2^21."""
    return offset << 10 | leaf << 8 | label
