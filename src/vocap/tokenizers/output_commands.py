"""`vocap export`, `vocap card`, `vocap evaluate`: a finished tokenizer for Hugging Face, and its measures."""

import logging
import os
import time
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError
from vocap.files.atomic import scratch_directory
from vocap.text_files.named_texts import parse_languages

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
@click.option("--layout", help="That of vocap fit: tokens around a text, longest input. [default: the model's]")
def export(model: Path, out: Path, layout: str | None) -> None:
    """Write a tokenizer for Hugging Face: the same ids, for AutoTokenizer.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of vocap bpe. Writes
    tokenizer.json, tokenizer_config.json and special_tokens_map.json; vocap card writes the model card.
    """
    from vocap.bpe.model_file import is_bpe
    from vocap.tokenizer_files.id_layout import parse_layout

    given = None if layout is None else parse_layout(layout)
    if is_bpe(model):
        from vocap.bpe.export import export as export_model
    else:
        from vocap.tokenizer_files.export import export as export_model
    click.echo(f"{out}: {export_model(model, out, given)} ids", err=True)


@click.command()
@click.argument("model", type=PATH)
@click.option("-o", "--output", required=True, type=FILE, help="File to write: README.md of huggingface/.")
@click.option("--evaluation", type=PATH, help="Table of vocap evaluate: the languages and their measures.")
@click.option("--text", help="Where the text comes from, and its licences, in Markdown.")
def card(model: Path, output: Path, evaluation: Path | None, text: str | None) -> None:
    """Write the model card of a tokenizer: method, text and its licences, languages, limits.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of vocap bpe; method and
    settings are those of the description.json beside it.
    """
    from vocap.bpe.model_file import is_bpe
    from vocap.files.atomic import write_text
    from vocap.files.json_object import read_object
    from vocap.files.tsv import read_tsv
    from vocap.tokenizer_files.card import COLUMNS, About, write_card
    from vocap.tokenizer_files.model_file import read_model

    description = model.with_name("description.json")
    facts = read_object(description) if description.is_file() else {}
    rows = None if evaluation is None else list(read_tsv(evaluation, COLUMNS))
    if is_bpe(model):
        from vocap.bpe.export import about
        from vocap.bpe.model_file import read_bpe

        found = about(read_bpe(model))
    else:
        found = About.of(read_model(model))
    write_text(output, write_card(model.resolve().parent.name, found, facts, rows, text))


@click.command()
@click.option("--tokenizer", required=True, type=PATH, help="A .model, a tokenizer.json, or a folder with one.")
@CORPORA
@LANGUAGES
@click.option(
    "--languages-table", type=PATH, help="Table of scripts and resource groups; the package's unless given."
)
@click.option("-o", "--output", required=True, type=FILE, help="Table to write.")
@click.option("--unknown", type=FILE, help="Table to write: which characters are unknown, how often.")
@click.option("--round-trip", type=FILE, help="Table to write: lines that decode to themselves, and the losses.")
@click.option(
    "--parallel",
    metavar="PATTERN",
    help="Line-aligned files with {lang} in their path (.xz, .gz, .zst too); an empty line: no translation.",
)
@click.option("--parallel-output", type=FILE, help="Table to write, with --parallel.")
def evaluate(
    tokenizer, corpora, languages, languages_table, output, unknown, round_trip, parallel, parallel_output
) -> None:
    """Measure any tokenizer on every language's held-out lines.

    One row a language: ALP, tokens per sentence and word, characters and bytes per token, unknown rate, share of
    the vocabulary used, Rényi efficiency, single-character share, share of words that are one token, digits per
    token, share of numbers cut alike, tokens that are broken UTF-8. On parallel text: tokens relative to English,
    on the lines that both languages have.
    """
    if (parallel is None) != (parallel_output is None):
        raise UsageError("--parallel and --parallel-output go together; give both or none")
    from vocap.files.tsv import write_tsv
    from vocap.languages import DOMAINS, read_languages, select
    from vocap.text_files.lines import read_blocks
    from vocap.tokenizer_files.encoders import load_encoder
    from vocap.tokenizer_files.splitter import Splitter
    from vocap.tokenizers import roundtrip
    from vocap.tokenizers.evaluation import COLUMNS, UNKNOWN_COLUMNS, WITHOUT_SPACES, measure, tally

    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    codes = find_languages(corpora, languages)
    table = select(read_languages(languages_table), codes)
    splitter = Splitter(load_encoder(tokenizer))
    rows, unknown_rows, trips = [], [], {}
    for language in table:
        blocks = (
            [line for line in lines if line] for lines in read_blocks(corpora / language.code / "heldout.txt")
        )
        trips[language.code] = roundtrip.RoundTrips()
        counted, characters = tally(splitter, blocks, trips[language.code] if round_trip else None)
        measures = measure(counted, splitter, language.script not in WITHOUT_SPACES)
        rows.append((language.code, language.resource, *(measures[column] for column in COLUMNS[2:])))
        ordered = sorted(characters.items(), key=lambda entry: (-entry[1], entry[0]))
        unknown_rows += [(language.code, character, count) for character, count in ordered]
    if parallel:
        _write_parallel(splitter.encoder, parallel, codes, parallel_output)
    if unknown:
        write_tsv(unknown, UNKNOWN_COLUMNS, unknown_rows)
    if round_trip:
        domains = {one.code: one.resource if one.resource in DOMAINS else roundtrip.TEXT for one in table}
        write_tsv(round_trip, roundtrip.COLUMNS, [trip.row(code, domains[code]) for code, trip in trips.items()])
    write_tsv(output, COLUMNS, rows)
    click.echo(f"{output}: {len(rows)} languages", err=True)


def _write_parallel(encoder, pattern: str, codes: list[str], output: Path) -> None:
    from vocap.files.tsv import write_tsv
    from vocap.text_files.aligned import check_aligned, find_aligned
    from vocap.tokenizers.evaluation import (
        ENGLISH,
        PARALLEL_COLUMNS,
        compare_with_english,
        count_by_line,
        gini,
        relative_costs,
    )

    paths, without = find_aligned(pattern, codes)
    for language in without:
        logger.warning("%s: no parallel text, left out", pattern.replace("{lang}", language))
    english = count_by_line(encoder, paths[ENGLISH]) if ENGLISH in paths else None
    lines = {} if english is None else {ENGLISH: len(english)}
    rows = []
    for code, path in paths.items():
        own = english if english is not None and code == ENGLISH else count_by_line(encoder, path)
        check_aligned(lines := {**lines, code: len(own)}, paths)
        rows.append({"language": code, **compare_with_english(own, english)})
        if not rows[-1]["lines"]:
            logger.warning(
                "%s: no line%s", path, "" if english is None else " in common with English, so no ratio"
            )
    write_tsv(output, PARALLEL_COLUMNS, [tuple(row[column] for column in PARALLEL_COLUMNS) for row in rows])
    if any(costs := relative_costs(rows)):
        click.echo(f"{output}: on {pattern}, Gini coefficient of tokens per sentence {gini(costs):.4f}", err=True)


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
def parity(tokenizer, corpora, languages, sample, seed, words, output) -> None:
    """Compare a tokenizer's SentencePiece and Hugging Face forms, line by line.

    Writes, a language a row, the share of lines with identical ids, and the number of others by kind of
    difference, with an example of each.
    """
    from vocap.files.tsv import write_tsv
    from vocap.tokenizers.parity import COLUMNS, LEAST_SHARE, TokenizerForms, compare_languages
    from vocap.tokenizers.parity_words import read_words

    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workflow starts as many jobs as there are cores
    codes = find_languages(corpora, languages)
    shared = None
    if words is not None:
        shared = read_words(words)
        shared.check(corpora, codes, sample, seed)
    pair = TokenizerForms.load(tokenizer)
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
def parity_words(vocabularies, corpora, languages, sample, seed, output) -> None:
    """Normalise the lines that vocap parity compares, once for all tokenizers.

    Writes every distinct normalised word, and which lines are to be encoded whole. The normaliser is that of the
    models, which all tokenizers of a run have.
    """
    from vocap.tokenizer_files.model_file import read_model
    from vocap.tokenizers.parity import normalized_words

    codes = find_languages(corpora, languages)
    models = (path for code in codes for path in sorted((vocabularies / code / "models").glob("*.model")))
    model = next(models, None)
    if model is None:
        raise VocapError(f"{vocabularies}: no {{language}}/models/*.model of these languages; train one first")
    words = normalized_words(read_model(model), str(model), corpora, codes, sample, seed, output)
    whole = sum(len(language.whole) for language in words.languages.values())
    lines = sum(language.lines for language in words.languages.values())
    click.echo(f"{output}: the words of {lines - whole} lines; {whole} lines are to be encoded whole", err=True)
