"""A finished tokenizer in the forms of other programs, and its model card."""

from pathlib import Path

from vocap.bpe import model_file, tiktoken_files
from vocap.errors import SettingError
from vocap.files.io import read_object, read_tsv, write_text
from vocap.tokenizer_files.card import COLUMNS, About, describe_use, write_card
from vocap.tokenizer_files.encoders import refuse_definition
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.id_layout import IdLayout
from vocap.tokenizer_files.model_file import parse_model
from vocap.tokenizers.gguf_file import export_gguf
from vocap.tokenizers.settings import KINDS

FORMATS = {"huggingface": None, "tiktoken": tiktoken_files.export_tiktoken, "gguf": export_gguf}


def export(
    model: str | Path,
    output: str | Path,
    *,
    layout: IdLayout | None = None,
    format: str = "huggingface",
) -> int:
    """Write a tokenizer in the form of Hugging Face, tiktoken or llama.cpp, with the
    same ids.

    Parameters
    ----------
    model
        A sentencepiece.model or a tokenizer.json of byte-pair encoding.
    output
        Folder to write, or the file to write for the format gguf.
    layout
        Tokens around a text and longest input, by default those of the model.
    format
        One of `FORMATS`.

    Returns
    -------
    int
        The number of ids.

    Raises
    ------
    UsageError
        For a layout that does not fit the format, and an output that holds anything
        else.
    VocapError
        For a tokenizer that the format cannot hold with the same ids.
    """
    model = Path(model)
    write = FORMATS[format]
    if write is not None:
        if layout is not None:
            raise SettingError("layout", f"{format} keeps no tokens around a text; leave it out")
        return write(model, output)
    if model_file.is_bpe(model):
        return model_file.export_bpe(model, output, layout)
    refuse_definition(model)
    return export_unigram(model, output, layout)


def card(
    model: str | Path,
    output: str | Path | None = None,
    *,
    evaluation: str | Path | None = None,
    text: str | None = None,
) -> str:
    """Write the model card of a tokenizer, with its method, text, licences, languages
    and limits.

    Parameters
    ----------
    model
        A sentencepiece.model or a tokenizer.json of byte-pair encoding. The
        description.json beside it gives the method and the settings.
    output
        File to write. Without it nothing is written.
    evaluation
        Table of `vocap evaluate` with the languages and their measures.
    text
        Where the text comes from, and its licences, in Markdown.

    Returns
    -------
    str
        The card, in Markdown.

    Raises
    ------
    VocapError
        For a file that is missing or damaged.
    """
    model = Path(model)
    beside = model.with_name("description.json")
    facts = read_object(beside) if beside.is_file() else {}
    rows = None if evaluation is None else list(read_tsv(evaluation, COLUMNS))
    if model_file.is_bpe(model):
        found = model_file.about(model_file.read_bpe(model))
    else:
        found = About.of(parse_model(model))
    kind = KINDS.get(facts.get("kind", ""))
    method = kind.method if kind else ""
    use = describe_use(model.parent / "huggingface") or describe_use(model.parent)
    written = write_card(model.resolve().parent.name, found, facts, rows, text, method, use)
    if output is not None:
        write_text(output, written)
    return written
