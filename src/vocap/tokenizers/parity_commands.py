"""`vocap parity`, and `vocap parity-words`: what all tokenizers with the same normaliser share of it."""

import logging
import os
import time
from pathlib import Path

import click

from vocap import options
from vocap.errors import VocapError
from vocap.files import scratch_directory
from vocap.tokenizers.output_commands import CORPORA, FILE, LANGUAGES, PATH, find_languages

logger = logging.getLogger(__name__)

SAMPLE = click.option(
    "--sample",
    type=click.IntRange(10_000),
    metavar="LINES",
    help="Compare so many lines a language, all held-out ones among them; all lines unless given.",
)
SEED = click.option("--seed", default=0, show_default=True, type=options.SEED, help="Of the sample.")


@click.command()
@click.option("--tokenizer", required=True, type=PATH, help="Folder with sentencepiece.model and huggingface/.")
@CORPORA
@LANGUAGES
@SAMPLE
@SEED
@click.option("--words", type=FILE, help="File of vocap parity-words; saves normalising the lines again.")
@click.option("-o", "--output", required=True, type=FILE, help="Table to write.")
def parity(
    tokenizer: Path,
    corpora: Path,
    languages: str | None,
    sample: int | None,
    seed: int,
    words: Path | None,
    output: Path,
) -> None:
    """Compare a tokenizer's SentencePiece and Hugging Face forms, line by line.

    Writes, a language a row, the share of lines with identical ids, and for the others how many differ of each
    kind, with an example of each.
    """
    from vocap.tokenizers.parity import COLUMNS, LEAST_SHARE, Pair, compare_languages
    from vocap.tokenizers.parity_words import read_words
    from vocap.tsv import write_tsv

    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workflow starts as many jobs as there are cores
    codes = find_languages(corpora, languages)
    shared = None
    if words is not None:
        shared = read_words(words)
        shared.check(corpora, codes, sample, seed)
    pair = Pair.load(tokenizer)
    begin = time.perf_counter()
    with scratch_directory(output) as scratch:
        results = compare_languages(pair, corpora, codes, sample, seed, shared, scratch)
    for code, result in results.items():
        if result.lines and result.identical < LEAST_SHARE * result.lines:
            logger.warning("%s: only %.3f %% of the lines are identical", code, 100 * result.row(code)[3])
    write_tsv(output, COLUMNS, [result.row(code) for code, result in results.items()])
    lines = sum(result.lines for result in results.values())
    identical = sum(result.identical for result in results.values())
    how = (
        "all lines" if sample is None else f"a sample of {sample} lines a language (seed {seed}) where it has more"
    )
    click.echo(
        f"{output}: {identical} of {lines} lines identical, {how}, {time.perf_counter() - begin:.0f} s", err=True
    )


@click.command("parity-words")
@click.option("--vocabularies", required=True, type=PATH, help="Folder with {language}/models/.")
@CORPORA
@LANGUAGES
@SAMPLE
@SEED
@click.option("-o", "--output", required=True, type=FILE, help="File to write, JSON lines.")
def parity_words(
    vocabularies: Path, corpora: Path, languages: str | None, sample: int | None, seed: int, output: Path
) -> None:
    """Normalise the lines that vocap parity compares, once for all tokenizers.

    Writes every distinct normalised word, and which lines are to be encoded whole. The normaliser is that of the
    models, which all tokenizers of a run have.
    """
    from vocap.tokenizers.parity import normalized_words
    from vocap.vocabularies.model_file import read_model

    codes = find_languages(corpora, languages)
    models = (path for code in codes for path in sorted((vocabularies / code / "models").glob("*.model")))
    model = next(models, None)
    if model is None:
        raise VocapError(f"{vocabularies}: no {{language}}/models/*.model of these languages; train one first")
    words = normalized_words(read_model(model), str(model), corpora, codes, sample, seed, output)
    whole = sum(len(language.whole) for language in words.languages.values())
    lines = sum(language.lines for language in words.languages.values())
    click.echo(f"{output}: the words of {lines - whole} lines; {whole} lines are to be encoded whole", err=True)
