"""`vocap export`, `vocap evaluate`: what is made of a finished tokenizer, and how good it is."""

import logging
import os
from pathlib import Path

import click

from vocap.errors import UsageError, VocapError
from vocap.tokenizers.texts import parse_languages

logger = logging.getLogger(__name__)

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
CORPORA = click.option(
    "--corpora", required=True, type=PATH, help="Folder with {language}/train.txt and heldout.txt."
)
LANGUAGES = click.option(
    "--languages", metavar="CODES", help="Comma-separated; all that have a folder in --corpora unless given."
)


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "-o", "--output", "out", required=True, type=PATH, help="Folder to write: the results' huggingface/."
)
@click.option("--evaluation", type=PATH, help="Table of vocap evaluate, for the model card.")
@click.option("--text", help="Where the text comes from, and its licences, for the model card.")
def export(model: Path, out: Path, evaluation: Path | None, text: str | None) -> None:
    """Write a tokenizer for Hugging Face: the same ids, for AutoTokenizer.

    MODEL is a sentencepiece.model of vocap fit, joint or mono. Writes tokenizer.json, tokenizer_config.json,
    special_tokens_map.json, golden.json (for vocap verify) and README.md, the model card.
    """
    from vocap.tokenizers.card import COLUMNS
    from vocap.tokenizers.export import export as export_model
    from vocap.tsv import read_tsv

    rows = None if evaluation is None else list(read_tsv(evaluation, COLUMNS))
    click.echo(f"{out}: {export_model(model, out, rows, text)} ids", err=True)


@click.command()
@click.option("--tokenizer", required=True, type=PATH, help="A .model, a tokenizer.json, or a folder with one.")
@CORPORA
@LANGUAGES
@click.option(
    "--languages-table", type=PATH, help="Table of scripts and resource groups; the package's unless given."
)
@click.option("-o", "--output", required=True, type=FILE, help="Table to write.")
@click.option("--unknown", type=FILE, help="Table to write: which characters are unknown, how often.")
@click.option(
    "--parallel", metavar="PATTERN", help="Line-aligned files with {lang} in their path (.xz, .gz, .zst too)."
)
@click.option("--parallel-output", type=FILE, help="Table to write, with --parallel.")
def evaluate(
    tokenizer: Path,
    corpora: Path,
    languages: str | None,
    languages_table: Path | None,
    output: Path,
    unknown: Path | None,
    parallel: str | None,
    parallel_output: Path | None,
) -> None:
    """Measure any tokenizer on every language's held-out lines.

    One row a language: ALP, tokens per sentence and word, characters and bytes per token, unknown rate, share of
    the vocabulary used, Rényi efficiency, single-character share. On parallel text: tokens relative to English.
    """
    if (parallel is None) != (parallel_output is None):
        raise UsageError("--parallel and --parallel-output go together; give both or none")
    from vocap.languages import read_languages, select
    from vocap.tokenizers.evaluation import COLUMNS, UNKNOWN_COLUMNS, WITHOUT_SPACES, measure, tally
    from vocap.tsv import write_tsv
    from vocap.vocabularies.encoders import load_encoder
    from vocap.vocabularies.text import read_blocks

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    codes = find_languages(corpora, languages)
    table = select(read_languages(languages_table), codes)
    encoder = load_encoder(tokenizer)
    pieces = encoder.pieces
    rows, unknown_rows = [], []
    for language in table:
        blocks = (
            [line for line in lines if line] for lines in read_blocks(corpora / language.code / "heldout.txt")
        )
        counted, characters = tally(encoder, blocks)
        measures = measure(counted, pieces, encoder.unk_id, language.script not in WITHOUT_SPACES)
        rows.append((language.code, language.resource, *(measures[column] for column in COLUMNS[2:])))
        ordered = sorted(characters.items(), key=lambda entry: (-entry[1], entry[0]))
        unknown_rows += [(language.code, character, count) for character, count in ordered]
    if parallel:
        _write_parallel(encoder, parallel, codes, parallel_output)
    if unknown:
        write_tsv(unknown, UNKNOWN_COLUMNS, unknown_rows)
    write_tsv(output, COLUMNS, rows)
    click.echo(f"{output}: {len(rows)} languages", err=True)


def _write_parallel(encoder, pattern: str, codes: list[str], output: Path) -> None:
    from vocap.tokenizers.parallel import COLUMNS, check_aligned, count_tokens, find_files, gini, premiums
    from vocap.tsv import write_tsv

    paths, without = find_files(pattern, codes)
    if not paths:
        raise VocapError(f"--parallel {pattern}: no file for any of {', '.join(codes)}; check the path")
    for language in without:
        logger.warning("%s: no parallel text, left out", pattern.replace("{lang}", language))
    counted = {language: count_tokens(encoder, path) for language, path in paths.items()}
    lines = {language: count for language, (count, _) in counted.items()}
    check_aligned(lines, paths)
    tokens = {language: count for language, (_, count) in counted.items()}
    ratios = premiums(tokens)
    write_tsv(output, COLUMNS, [(code, lines[code], tokens[code], ratios[code]) for code in paths])
    if any(tokens.values()):
        click.echo(
            f"{output}: Gini coefficient of tokens per sentence {gini(list(tokens.values())):.4f}", err=True
        )


def find_languages(corpora: Path, codes: str | None) -> list[str]:
    """The codes of a comma-separated list; all languages of the folder of corpora for None."""
    if codes is None:
        if not corpora.is_dir():
            raise VocapError(f"{corpora}: no such folder; run vocap sample first")
        found = sorted(path.parent.name for path in corpora.glob("*/heldout.txt"))
        if not found:
            raise VocapError(f"{corpora}: no {{language}}/heldout.txt in it; run vocap sample first")
        return found
    return parse_languages(codes)
