"""A finished tokenizer in the forms of other programs, and its model card."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from vocap.bpe import model_file, tiktoken_files
from vocap.errors import SettingError
from vocap.files.io import read_object, read_tsv, write_text
from vocap.text_files.named_texts import find_texts
from vocap.text_files.records import read_lines
from vocap.tokenizer_files.card import COLUMNS, About, describe_use, write_card
from vocap.tokenizer_files.encoders import refuse_definition
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.hard_strings import HARD
from vocap.tokenizer_files.id_layout import IdLayout
from vocap.tokenizer_files.model_file import parse_model
from vocap.tokenizers.gguf_file import export_gguf
from vocap.tokenizers.settings import KINDS

FORMATS = {"huggingface": None, "tiktoken": tiktoken_files.export_tiktoken, "gguf": export_gguf}
COMPARED = 200  # lines of a language that both forms of a tokenizer encode
LONGEST = 1000  # characters of them: a longer line may have several best segmentations


def export(
    model: str | Path,
    output: str | Path,
    *,
    layout: IdLayout | None = None,
    format: str = "huggingface",
    corpora: str | Path | None = None,
) -> int:
    """Write a tokenizer in the form of Hugging Face, tiktoken or llama.cpp, with the
    same ids.

    Before the folder of a unigram model gets its name, both forms encode some lines, and
    have to give the same ids.

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
    corpora
        Folder with {language}/heldout.txt and train.txt: the lines that both forms of a
        unigram model encode are the first `COMPARED` of each language. By default they are
        those of `vocap.tokenizer_files.hard_strings`.

    Returns
    -------
    int
        The number of ids.

    Raises
    ------
    UsageError
        For a layout that does not fit the format, `corpora` for a tokenizer of one form,
        and an output that holds anything else.
    VocapError
        For a tokenizer that the format cannot hold with the same ids, with the first line
        that gets others.
    """
    model = Path(model)
    write = FORMATS[format]
    if corpora is not None and (write is not None or model_file.is_bpe(model)):
        raise SettingError(
            "corpora",
            "for the Hugging Face form of a unigram model, which is compared with the model; "
            "leave it out",
        )
    if write is not None:
        if layout is not None:
            raise SettingError("layout", f"{format} keeps no tokens around a text; leave it out")
        return write(model, output)
    if model_file.is_bpe(model):
        return model_file.export_bpe(model, output, layout)
    refuse_definition(model)
    lines = HARD if corpora is None else first_lines(corpora)
    return export_unigram(model, output, layout, lines)


def first_lines(corpora: str | Path) -> Iterator[str]:
    """The first `COMPARED` lines of heldout.txt and train.txt of each language in
    `corpora`, each cut at `LONGEST` characters.
    """
    for parts in find_texts({}, Path(corpora), None, ["heldout", "train"]).values():
        lines = chain.from_iterable(map(read_lines, parts.values()))
        yield from (line[:LONGEST] for line in islice(lines, COMPARED))


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
