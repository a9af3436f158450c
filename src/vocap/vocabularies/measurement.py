"""ALP of a text under any tokenizer (Equation 1)."""

from dataclasses import dataclass

from vocap.errors import VocapError
from vocap.text_files.text import Text, text_blocks
from vocap.tokenizer_files import Cuts
from vocap.tokenizer_files.loading import AnyTokenizer, open_encoder
from vocap.unigram.usage import Segments, cell


@dataclass(frozen=True)
class TextMeasure:
    """A text under a tokenizer: `alp` in nats a line, at most 0; `vocabulary`: ids of
    the tokenizer; `unknown_bytes`: those of the unknown characters in UTF-8, which
    `tokens` counts in place of `<unk>`; `unk_rate`: the share of `<unk>` in the tokens
    of which it is one.
    """

    alp: float
    tokens: int
    sentences: int
    tokens_per_sentence: float
    vocabulary: int
    unk_rate: float
    unknown_bytes: int


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
    found = Segments(encoder)
    for lines in text_blocks(text)():
        found.add(lines)
    sums = found.sums
    if not sums["lines"]:
        raise VocapError(f"{text}: no lines, so no mean; give a text with a sentence a line")
    return TextMeasure(
        alp=cell(sums, "nats / lines"),
        tokens=sums["paid"],
        sentences=sums["lines"],
        tokens_per_sentence=cell(sums, "paid / lines"),
        vocabulary=encoder.size,
        unk_rate=cell(sums, "unknown_tokens / tokens") or 0.0,
        unknown_bytes=sums["unknown_bytes"],
    )


def alp(model: AnyTokenizer, text: Text, *, split: Cuts = ()) -> float:
    """The average log probability of a text under a tokenizer, in nats per line
    (Equation 1). The arguments are those of `measure_text`.
    """
    return measure_text(model, text, split=split).alp
