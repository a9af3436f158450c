"""Encoders for the tests: ours in its Hugging Face form, one put together as XLM-R's
is, and SentencePiece.
"""

from functools import cache

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.tokenizers import scripts
from vocap.finetuning.encoding import InputEncoder
from vocap.tokenizer_files.export import build_tokenizer, scores_of
from vocap.tokenizer_files.id_layout import TOKEN_ROLES

SIZE = 700
TOKENS = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}


def _fast(backend: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **{name: TOKENS[role] for name, role in TOKEN_ROLES.items()}
    )


@cache
def ours(byte_fallback: bool = False) -> InputEncoder:
    return InputEncoder(_fast(build_tokenizer(scripts.model(SIZE, byte_fallback))))


@cache
def as_xlmr() -> InputEncoder:
    """The pieces of `ours` in the steps of XLM-R's tokenizer.json: `Precompiled`, then
    words, then `Metaspace`.
    """
    proto = scripts.model(SIZE)
    backend = Tokenizer(models.Unigram(scores_of(proto), unk_id=3))
    backend.normalizer = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    backend.post_processor = ours().backend.post_processor
    return InputEncoder(_fast(backend))


TOKENIZERS = {"ours": ours, "bytes": lambda: ours(byte_fallback=True), "xlmr": as_xlmr}


@cache
def sentencepiece():
    """SentencePiece's own reading of the model that `ours` was made from."""
    return scripts.processor(scripts.model(SIZE))
