"""`vocap export`, `card`, `evaluate`, `parity`: a finished tokenizer for Hugging Face, and its measures.

Imports inside functions are of numpy, SentencePiece and `tokenizers`, which `vocap --help` does not need.
"""

import logging
import os
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError
from vocap.text_files.named_texts import find_texts, parse_languages

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
        from vocap.bpe.model_file import export as export_model
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
    from vocap.files.plain_data import read_object
    from vocap.files.tsv import read_tsv
    from vocap.tokenizer_files.card import COLUMNS, About, write_card
    from vocap.tokenizer_files.model_file import read_model
    from vocap.tokenizers.settings import KINDS

    description = model.with_name("description.json")
    facts = read_object(description) if description.is_file() else {}
    rows = None if evaluation is None else list(read_tsv(evaluation, COLUMNS))
    if is_bpe(model):
        from vocap.bpe.model_file import about, read_bpe

        found = about(read_bpe(model))
    else:
        found = About.of(read_model(model))
    kind = KINDS.get(facts.get("kind"))
    method = kind.method if kind else ""
    write_text(output, write_card(model.resolve().parent.name, found, facts, rows, text, method))


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
@click.option("--bits", type=FILE, help="File to write: bits and bytes of every line, for intervals (NumPy).")
@click.option(
    "--parallel",
    metavar="PATTERN",
    help="Line-aligned files with {lang} in their path (.xz, .gz, .zst too); an empty line: no translation.",
)
@click.option("--parallel-output", type=FILE, help="Table to write, with --parallel.")
def evaluate(
    tokenizer, corpora, languages, languages_table, output, unknown, round_trip, bits, parallel, parallel_output
) -> None:
    """Measure any tokenizer on every language's held-out lines.

    One row a language: ALP, tokens per sentence and word, characters and bytes per token, unknown rate, share of
    the vocabulary used, Rényi efficiency, single-character share, share of words that are one token, digits per
    token, share of numbers cut alike, tokens that are broken UTF-8, bits per byte under a bigram of the training
    lines' tokens (empty without train.txt), lines that normalisation changes. On parallel text: tokens relative to
    English, on the lines that both languages have, and bits per byte.
    """
    if (parallel is None) != (parallel_output is None):
        raise UsageError("--parallel and --parallel-output go together; give both or none")
    from vocap.files.tsv import write_tsv
    from vocap.languages import DOMAINS, read_languages, select
    from vocap.text_files.lines import read_blocks
    from vocap.text_files.named_texts import find_aligned
    from vocap.tokenizer_files.encoders import load_encoder
    from vocap.tokenizer_files.splitter import Splitter
    from vocap.tokenizers import bigram, evaluation

    # one language after another
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = find_texts((), corpora, parse_languages(languages), ["heldout"])
    paths, without = find_aligned(parallel, list(texts)) if parallel else ({}, [])
    for code in without:
        logger.warning("%s: no parallel text, left out", parallel.replace("{lang}", code))
    splitter = Splitter(load_encoder(tokenizer))
    rows, unknown_rows, trip_rows, lengths, aligned = [], [], [], {}, dict.fromkeys(paths)
    for language in select(read_languages(languages_table), list(texts)):
        code, heldout = language.code, texts[language.code]["heldout"]
        model = bigram.train_on(heldout.with_name("train.txt"), splitter.encoder)
        blocks = ([line for line in lines if line] for lines in read_blocks(heldout))
        counted = evaluation.tally(splitter, blocks, model)
        measures = evaluation.measure(counted, splitter, language.script not in evaluation.WITHOUT_SPACES)
        rows.append((code, language.resource, *(measures[column] for column in evaluation.COLUMNS[2:])))
        ordered = sorted(counted.unknown.items(), key=lambda entry: (-entry[1], entry[0]))
        unknown_rows += [(code, character, count) for character, count in ordered]
        domain = language.resource if language.resource in DOMAINS else evaluation.TEXT
        trip_rows.append((code, domain, *counted.trips.cells(evaluation.LOSSES)))
        lengths["heldout", code] = counted.lengths
        if code in paths:
            aligned[code] = evaluation.code_aligned(splitter.encoder, paths[code], model)
    # the tables
    if parallel:
        lengths |= _write_parallel(aligned, paths, parallel, parallel_output)
    if unknown:
        write_tsv(unknown, evaluation.UNKNOWN_COLUMNS, unknown_rows)
    if round_trip:
        write_tsv(round_trip, evaluation.ROUND_TRIP_COLUMNS, trip_rows)
    if bits:
        bigram.write_lengths(bits, lengths)
    write_tsv(output, evaluation.COLUMNS, rows)
    click.echo(f"{output}: {len(rows)} languages{_mean_bits(row[-2] for row in rows)}", err=True)


def _write_parallel(aligned, paths, pattern: str, output: Path) -> dict:
    """Write the table of lines coded by language; returns the bits and bytes of the lines that it counts."""
    from vocap.files.tsv import write_tsv
    from vocap.text_files.named_texts import check_aligned
    from vocap.tokenizers.evaluation import ENGLISH, PARALLEL_COLUMNS, compare_with_english, gini, relative_costs

    check_aligned({code: own.shape[1] for code, own in aligned.items()}, paths)
    english, rows, lengths = aligned.get(ENGLISH), [], {}
    for code, own in aligned.items():
        row, lengths["parallel", code] = compare_with_english(own, english)
        rows.append({"language": code, **row})
        if not row["lines"]:
            why = "" if english is None else " in common with English, so no ratio"
            logger.warning("%s: no line%s", paths[code], why)
    write_tsv(output, PARALLEL_COLUMNS, [tuple(row[column] for column in PARALLEL_COLUMNS) for row in rows])
    if any(costs := relative_costs(rows)):
        by_byte = gini([row["tokens"] / row["bytes"] for row in rows if row["bytes"]])
        said = f"Gini coefficient of tokens per sentence {gini(costs):.4f}, per byte {by_byte:.4f}"
        click.echo(
            f"{output}: on {pattern}, {said}{_mean_bits(row[PARALLEL_COLUMNS[-1]] for row in rows)}", err=True
        )
    return lengths


def _mean_bits(found) -> str:
    known = [bits for bits in found if bits is not None]
    return f"; bits per byte {sum(known) / len(known):.4f} (mean of {len(known)} languages)" if known else ""


@click.command()
@click.option("--tokenizer", required=True, type=PATH, help="Folder with sentencepiece.model and huggingface/.")
@CORPORA
@LANGUAGES
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="LINES",
    help="Lines of each language. [default: 1,000 where there are 10 languages or more, else 10,000 in all]",
)
@click.option("--seed", default=0, show_default=True, type=options.SEED, help="Of the sample.")
@click.option("-o", "--output", required=True, type=FILE, help="Table to write.")
def parity(tokenizer, corpora, languages, sample, seed, output) -> None:
    """Compare a tokenizer's SentencePiece and Hugging Face forms, line by line.

    Writes, a language a row, the share of lines with identical ids, and the number of others by kind of
    difference, with an example of each.
    """
    from vocap.files.tsv import write_tsv
    from vocap.progress import Steps
    from vocap.tokenizers.parity import COLUMNS, KINDS, LEAST_SHARE, TokenizerForms, lines_of_each, sampled_blocks

    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the workflow starts as many jobs as there are cores
    codes = list(find_texts((), corpora, parse_languages(languages), ["heldout", "train"]))
    forms, sample = TokenizerForms.load(tokenizer), sample or lines_of_each(len(codes))
    results = {}
    with Steps("parity", len(codes)) as steps:
        for code in codes:
            found = results[code] = forms.compare(sampled_blocks(corpora / code, sample, seed))
            if found.lines and found.identical < LEAST_SHARE * found.lines:
                share = 100 * found.identical / found.lines
                logger.warning("%s: only %.3f %% of the lines are identical", code, share)
            steps.advance()
    write_tsv(output, COLUMNS, [(code, *found.cells(KINDS)) for code, found in results.items()])
    lines, identical = (sum(getattr(one, name) for one in results.values()) for name in ("lines", "identical"))
    click.echo(
        f"{output}: {identical} of {lines} lines identical, at most {sample} of a language (seed {seed})", err=True
    )
