"""ALP of a text under any tokenizer (Equation 1)."""

from dataclasses import dataclass

from vocap.errors import VocapError
from vocap.text_files.text import Text, text_blocks
from vocap.tokenizer_files import Cuts
from vocap.tokenizer_files.loading import AnyTokenizer, open_encoder
from vocap.unigram.alp import corpus_alp


@dataclass(frozen=True)
class TextMeasure:
    """A text under a tokenizer: `alp` in nats a line, at most 0; `vocabulary`: ids of
    the tokenizer; `unk_rate`: the share of the tokens that are unknown.
    """

    alp: float
    tokens: int
    sentences: int
    tokens_per_sentence: float
    vocabulary: int
    unk_rate: float


def measure_text(model: AnyTokenizer, text: Text, *, split: Cuts = ()) -> TextMeasure:
    """Measure a text under any SentencePiece or Hugging Face tokenizer.

    Parameters
    ----------
    model
        A tokenizer that is loaded, the bytes of a .model, or the path of a .model, a
        tokenizer.json, a tekken.json, a file of tiktoken's ranks, or a folder that
        holds one.
    text
        Every line counts, empty ones too.
    split
        Where tiktoken's ranks, which do not say it, cut text.

    Raises
    ------
    VocapError
        For a text without lines, and for a file that is no tokenizer.

    References
    ----------
    Equation 1 of Zheng et al. (2021), Allocating Large Vocabulary Capacity for
    Cross-lingual Language Model Pre-training.
    """
    encoder = open_encoder(model, split)
    found = corpus_alp(encoder, text_blocks(text)())
    if found is None:
        raise VocapError(f"{text}: no lines, so no mean; give a text with a sentence a line")
    unknown = 0 if encoder.unk_id is None else int(found.counts[encoder.unk_id])
    return TextMeasure(
        alp=found.alp,
        tokens=found.tokens,
        sentences=found.sentences,
        tokens_per_sentence=found.tokens_per_sentence,
        vocabulary=encoder.size,
        unk_rate=unknown / found.tokens if found.tokens else 0.0,
    )


def alp(model: AnyTokenizer, text: Text, *, split: Cuts = ()) -> float:
    """Average log probability of a text under a tokenizer, nats a line (Equation 1);
    arguments as of `measure_text`.
    """
    return measure_text(model, text, split=split).alp
