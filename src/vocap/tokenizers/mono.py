"""MONO: one language's model of one size as a tokenizer in the shared layout."""

from vocap.tokenizers.layout import build_model, read_contents


def relayout(proto, name: str):
    """The `ModelProto` of a stock model (`<unk> <s> </s>` first) in the shared layout.

    All its pieces stay, with their scores rounded; `<pad>` and `<mask>` are new, so a model of `size` ids becomes
    one of size + 2. `name` is said in errors. Raises VocapError for a model that is not unigram or has no pieces.
    """
    return build_model(read_contents(proto, name), proto.normalizer_spec)
