"""Corpora and unigram tokenizers as the workflow leaves them."""

from pathlib import Path

from tests.made_text import write_lines
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.layout import relayout, serialize
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train


def write_corpora(root: Path, texts: dict[str, list[str]], heldout: int = 100) -> None:
    """Lines of each language: the last are held out."""
    for language, lines in texts.items():
        write_lines(root / "corpora" / language / "train.txt", lines[:-heldout])
        write_lines(root / "corpora" / language / "heldout.txt", lines[-heldout:])


def make_unigram(folder: Path, lines: list[str], size: int, **options) -> None:
    """A tokenizer in both forms; SentencePiece's own model beside its folder. Without
    rules of normalisation, so that it is exported quickly.
    """
    folder.mkdir(parents=True)
    stock = folder.parent / "stock.model"
    stock.write_bytes(train(lines, size, normalization="identity", **options))
    model = folder / "sentencepiece.model"
    model.write_bytes(serialize(relayout(read_model(stock), "stock")))
    export_unigram(model, folder / "huggingface")


def small_model(name: str, rows: int, **settings):
    """A model of a class of transformers, of one layer, with random weights and biases."""
    import torch
    import transformers

    torch.manual_seed(1)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    small |= {"intermediate_size": 24, "max_position_embeddings": 130, "vocab_size": rows}
    small |= {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    options = {key: settings.pop(key) for key in {"add_pooling_layer"} & settings.keys()}
    made = getattr(transformers, name)
    model = made(made.config_class(**small | settings), **options)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model
