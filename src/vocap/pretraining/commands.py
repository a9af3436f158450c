"""`vocap tokenize`, `vocap pretrain`, `vocap code-length`: blocks of a language, a
model, its bits per byte.

Imports in functions keep torch away until its environment is set.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.errors import UsageError, log
from vocap.options import PATH
from vocap.pretraining.settings import PretrainingJob, parse_recipe
from vocap.pretraining.tokenizing import tokenize_language
from vocap.storage.listing import named_text
from vocap.text_files.filters import StoredText
from vocap.text_files.named_texts import find_aligned, find_texts, parse_files
from vocap.training import prepare_torch


@click.command
@click.argument("files", nargs=-1, metavar="FILE...")
@options.path("--listing", PATH, "List that vocap list-files wrote, in place of FILEs.")
@options.path(
    "--tokenizer",
    PATH,
    "The sentencepiece.model of vocap fit, joint or mono, or the tokenizer.json of vocap bpe.",
    required=True,
)
@options.language("Code of the language.")
@options.path("--heldout", PATH, "Lines to measure on, which are left out of FILEs.", required=True)
@options.of(StoredText)
@click.option(
    "--length", type=click.IntRange(8, 1 << 16), default=512, help="Number of ids of a block."
)
@options.output(PATH, "Folder to write the blocks to.")
def tokenize(
    files: tuple[str, ...],
    listing: Path | None,
    tokenizer: Path,
    language: str,
    heldout: Path,
    length: int,
    output: Path,
    **stored: Any,
) -> None:
    """Turn the text of one language into blocks of ids, for pre-training.

    FILEs are files, folders (all files in them) or quoted patterns, with one sentence
    on each line. They may be on another machine (hf://, s3://, gs://, https://), and
    compressed (gzip, xz, zstd, bzip2). They are read once, to their end, in bounded
    memory. A block is the start token of the tokenizer (<s>) and whole sentences, each
    followed by the end token (</s>). When the command was interrupted, the same command
    goes on after the last whole file.
    """
    text = StoredText(**stored)
    made = tokenize_language(
        language=language,
        files=named_text(files, listing),
        layout=text.layout,
        heldout=heldout,
        model=tokenizer,
        folder=output,
        length=length,
        filters=text.filters,
    )
    train = made["train"]
    if not train["blocks"]:
        log.warning("%s: no text to pre-train on; models are trained without it", language)
        return
    log.info(
        "%s: %s lines, %s tokens in %s blocks (%.2f bytes a token); held out: %s blocks",
        language, f"{train['lines']:,}", f"{train['text_tokens']:,}", f"{train['blocks']:,}",
        train["bytes"] / max(1, train["text_tokens"]), f"{made['heldout']['blocks']:,}",
    )  # fmt: skip


@click.command
@options.path(
    "--tokenizer", PATH, "Folder of a tokenizer, with its file and huggingface/.", required=True
)
@options.path(
    "--tokens", PATH, "Folder with {language}/, which vocap tokenize wrote.", required=True
)
@options.languages("all of --tokens")
@options.path(
    "--weights",
    PATH,
    "Table with the columns language and n, for settings with `weights: corpora`.",
)
@click.option(
    "--settings",
    "file",
    type=PATH,
    help="File of settings, YAML or JSON, with the keys of `pretraining: models: NAME` of "
    "a configuration.",
)
@click.option("--settings-json", metavar="TEXT", help="The content of --settings as JSON text.")
@options.of(PretrainingJob)
@options.output(PATH, "Folder to write model/, metrics.jsonl and checkpoints/ to.")
def pretrain(
    file: Path | None,
    settings_json: str | None,
    threads: int = 2,
    **named: Any,
) -> None:
    """Pre-train one language model.

    The command goes on from a checkpoint of the same command where there is one.
    SIGTERM, SIGURG and Ctrl-C leave a checkpoint and end it with status 75. Start it
    with torchrun for several processes.
    """
    if file is None and settings_json is None:
        raise UsageError("give either --settings or --settings-json")
    values = options.read_settings(file, settings_json)
    recipe = parse_recipe(values, str(file or "--settings-json"))
    prepare_torch(threads)
    from vocap.pretraining.training import pretrain_model

    pretrain_model(settings=recipe, threads=threads, **named)


@click.command("code-length")
@options.path(
    "--model", PATH, "Folder of a causal Hugging Face model with its tokenizer.", required=True
)
@options.path("--corpora", PATH, "Folder with {language}/heldout.txt to measure on.")
@options.text
@click.option(
    "--parallel",
    metavar="PATTERN",
    help="Parallel text to measure on, as a path of line-aligned files with {lang} in it.",
)
@options.languages()
@click.option(
    "--lines", type=click.IntRange(1), default=500, help="Largest number of lines of each file."
)
@options.threads("Number of threads on a CPU.", default=2)
@options.output(PATH, "Table to write. A .npz beside it has the bits of every line.")
def code_length(model: Path, lines: int, threads: int, output: Path, **texts: Any) -> None:
    """Measure the bits per byte of text under a causal language model, line by line.

    The bits are the sum of -log2 p over all tokens of a line and its end token, after
    the start token, and 8 more for each byte of an unknown character. They are divided
    by the UTF-8 bytes of the raw line.
    """
    found = _find_texts(**texts)
    prepare_torch(threads)
    from vocap.pretraining.code_length import measure_code_length

    name, parts = measure_code_length(model, found, lines, threads, output)
    shown = ", ".join(f"{part} {bits:.4f}" for part, bits in parts.items())
    log.info("%s: bits per byte (%s): %s", output, name, shown)


def _find_texts(
    corpora: Path | None, text: Sequence[str], parallel: str | None, languages: list[str] | None
) -> dict[tuple[str, str], Path | str]:
    """The files to measure, by part ("heldout", "parallel") and language."""
    found: dict[tuple[str, str], Path | str] = {}
    if corpora or text or not parallel:
        named = find_texts(parse_files(text), corpora, languages, ["heldout"])
        found = {("heldout", code): next(iter(files.values())) for code, files in named.items()}
    if parallel:
        wanted = languages or [code for _, code in found]
        if not wanted:
            raise UsageError("--parallel alone does not say which languages; give --languages")
        aligned, without = find_aligned(parallel, wanted)
        found |= {("parallel", code): path for code, path in aligned.items()}
        if without:
            log.warning("no parallel text, left out: %s", " ".join(without))
    return found
