"""`vocap fit`, `joint`, `mono`, `bpe`: tokenizers; `export`, `card`: a finished one for
Hugging Face; `evaluate`: many on one text.

Functions are imported when they are called: numba's kernels take a second that short
jobs save.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vocap import options
from vocap.files.paths import folders
from vocap.options import ANY_FOLDER, FILE, PATH
from vocap.text_files.named_texts import parse_files
from vocap.tokenizers.settings import BpeTraining, EvaluationSettings, Joint, JointTraining
from vocap.unigram.text_settings import text_settings
from vocap.unigram.training_settings import TextSection

if TYPE_CHECKING:
    from vocap.tokenizer_files.id_layout import IdLayout
    from vocap.tokenizers.trained import TrainedTokenizer

OUT = options.output(ANY_FOLDER, "Folder to write.")
WEIGHTS = options.path("--weights", PATH, "Table with the columns language and n.", required=True)
CURVE = options.path(
    "--curve",
    FILE,
    "Table to write for vocap size, with the tokens and the ALP of held-out text at "
    "eight T up to the largest.",
)


@click.command()
@options.path("--allocation", PATH, "Folder with allocation.tsv and vocabulary.tsv.", required=True)
@options.path(
    "--vocabularies",
    PATH,
    "Folder with {language}/curve.tsv and {language}/models/{size}.model.",
    required=True,
)
@WEIGHTS
@options.of(Joint, "alpha")
@options.of(TextSection, "byte_fallback", "user_defined_symbols", "control_symbols")
@options.id_layout
@OUT
def fit(
    allocation: Path,
    vocabularies: Path,
    weights: Path,
    layout: "IdLayout",
    output: Path,
    alpha: float = 0.7,
    **text: Any,
) -> None:
    """Make the VOCAP tokenizer, by giving scores to the pieces of an allocation.

    The command writes sentencepiece.model (T ids), pieces.tsv (every piece with its
    languages and its status) and description.json. The tokenizer normalises text as the
    models of the languages do.
    """
    from vocap.tokenizers import fitting

    made = fitting.fit(
        *(allocation, vocabularies, weights, output),
        alpha=alpha,
        text=text_settings(**text),
        layout=layout,
    )
    facts = made.description
    click.echo(
        f"{output}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead, "
        f"{facts['raised']} raised, {facts['dropped']} dropped, {facts['characters_added']} "
        "required characters from no language's model",
        err=True,
    )


@click.command()
@options.path("--mix", PATH, "Multilingual sample of vocap mix, with one sentence on each line.")
@options.path(
    "--corpora",
    ANY_FOLDER,
    "Folder with {language}/train.txt, of which all lines are used, in place of a sample.",
)
@options.path("--weights", PATH, "Table with the columns language and n, for all languages.")
@options.totals
@options.of(
    JointTraining,
    *("alpha", "per", "coverage", "threads", "memory", "text", "layout"),
    *("characters", "points", "counts"),
)
@CURVE
@options.path("--heldout", ANY_FOLDER, "Folder with {language}/heldout.txt, for --curve.")
@OUT
def joint(totals: tuple[int, ...], output: Path, **given: Any) -> None:
    """Make the JOINT tokenizer, by training one unigram model on the text of all
    languages.

    With --corpora and --weights the model is trained on every training line, counted so
    often that its language has its share. With --mix it is trained on a sample. One
    descent gives the models of all T. The command writes sentencepiece.model (T ids),
    pieces.tsv and description.json. Dead pieces are reported and stay. Where the text
    has fewer than T pieces, the tokenizer is smaller, and a warning says so. {total} in
    -o stands for T.
    """
    from vocap.tokenizers.joint import train_joint

    made = train_joint(totals, output, **given)
    for total, one in made.items():
        _report(folders(output, totals)[total], one)


@click.command()
@options.path("--model", PATH, "SentencePiece unigram model of one language.", required=True)
@options.language("Code of the model's language.")
@options.id_layout
@OUT
def mono(output: Path, **given: Any) -> None:
    """Make the MONO baseline, a tokenizer from the model of one language. In XLM-R's
    layout it has two ids more than the model.

    The command writes sentencepiece.model, pieces.tsv and description.json. Dead pieces
    are reported and stay.
    """
    from vocap.tokenizers.mono import lay_out_mono

    made = lay_out_mono(**given)
    made.write(output)
    _report(output, made)


def _report(output: Path, made: "TrainedTokenizer") -> None:
    facts = made.description
    click.echo(
        f"{output}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead",
        err=True,
    )


@click.command()
@click.argument("larger", type=ANY_FOLDER)
@options.totals
@options.text_options
@options.id_layout
@OUT
def cut_bpe(larger: Path, totals: tuple[int, ...], output: Path, **given: Any) -> None:
    """Make a tokenizer of smaller T from the first merges of one that vocap bpe made.

    LARGER is the folder of the larger tokenizer. Give the options of the text and the
    layout that it was trained with. No text is read. {total} in -o stands for T.
    """
    from vocap.tokenizers.byte_pairs import cut_bpe

    for total, folder in folders(output, totals).items():
        cut_bpe(larger, total, **given).write(folder)


@click.command()
@options.path("--corpora", ANY_FOLDER, "Folder with {language}/train.txt.", required=True)
@WEIGHTS
@options.totals
@options.of(
    BpeTraining,
    *("alpha", "per", "split", "regex", "digits", "contractions"),
    *("parity", "first", "window", "without", "memory", "text", "layout", "counts"),
)
@click.option(
    "--development",
    metavar="PATTERN",
    help="Parallel text for --parity, as a path of line-aligned files with {lang} in it.",
)
@CURVE
@OUT
def bpe(corpora: Path, weights: Path, totals: tuple[int, ...], output: Path, **given: Any) -> None:
    """Train byte-pair encoding on the text of all languages, for every T at once.

    Pairs are counted over the words of all training lines, weighted by their languages.
    No sample is drawn. The command writes tokenizer.json (T ids),
    tokenizer_config.json, pieces.tsv and description.json. Where the text has fewer
    than T pieces, the tokenizer is smaller, and a warning says so. {total} in -o stands
    for T.
    """
    from vocap.tokenizers.byte_pairs import train_bpe

    made = train_bpe(corpora, weights, totals, output, **given)
    for total, one in made.items():
        click.echo(f"{folders(output, totals)[total]}: T = {one.total}", err=True)


@click.command()
@click.argument("model", type=PATH)
@options.output(PATH, "Folder to write, or the file to write for gguf.")
@click.option(
    "--layout",
    help="Tokens around a text and longest input, as in --layout of vocap fit.  [default: "
    "the model's]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["huggingface", "tiktoken", "gguf"]),
    default="huggingface",
    help="Form to write. tiktoken is for byte-pair encoding of bytes that keeps the text "
    "as it is. gguf, the vocabulary file of llama.cpp, is also for unigram models "
    "without bytes (docs/clients.md).",
)
@options.path(
    "--corpora",
    PATH,
    "Folder with {language}/heldout.txt and train.txt, for a unigram model. The first "
    "200 lines of each language are compared.  [default: hard strings of the package]",
)
def export(model: Path, output: Path, layout: str | None, form: str, corpora: Path | None) -> None:
    """Write a tokenizer in the form of Hugging Face, tiktoken or llama.cpp, with the
    same ids.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of
    vocap bpe. For Hugging Face the command writes tokenizer.json, tokenizer_config.json
    and special_tokens_map.json, which AutoTokenizer loads. For tiktoken it writes
    ranks.tiktoken, and encoding.json with the other arguments of tiktoken.Encoding. For
    llama.cpp it writes the file that -o names. vocap card writes the model card.

    Before a unigram model is exported for Hugging Face, the model and tokenizer.json encode
    the same lines. A line with other ids stops the export, and nothing is written.
    """
    from vocap.tokenizers import exporting

    given = None if layout is None else options.parse_layout(layout)
    total = exporting.export(model, output, layout=given, format=form, corpora=corpora)
    click.echo(f"{output}: {total} ids", err=True)


@click.command()
@click.argument("model", type=PATH)
@options.output(FILE, "File to write, the README.md of a folder huggingface/.")
@options.path(
    "--evaluation", PATH, "Table of vocap evaluate with the languages and their measures."
)
@click.option("--text", help="Where the text comes from, and its licences, in Markdown.")
def card(**given: Any) -> None:
    """Write the model card of a tokenizer, with its method, text, licences, languages
    and limits.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of
    vocap bpe. The description.json beside it gives the method and the settings.
    """
    from vocap.tokenizers import exporting

    exporting.card(**given)


@click.command()
@click.option(
    "--tokenizer",
    "tokenizers",
    required=True,
    multiple=True,
    metavar="[NAME=]PATH",
    help="A .model of SentencePiece, a tokenizer.json, tiktoken's ranks, a tekken.json, "
    "or a folder with one of them. May be repeated.",
)
@options.split
@options.path("--corpora", PATH, "Folder with {language}/train.txt and heldout.txt.")
@options.text
@options.languages()
@click.option(
    "--parallel",
    metavar="PATTERN",
    help="Parallel text, as a path of line-aligned files with {lang} in it. They may be "
    "compressed (.xz, .gz, .zst). In .jsonl, .tsv and .parquet each record is a "
    "line. An empty line means that there is no translation.",
)
@options.of(EvaluationSettings)
@click.option("-o", "--output", type=FILE, help="Table (TSV) to write the summary to.")
@options.path(
    "--tables", PATH, "Folder to write the tables by language to, NAME/evaluation.tsv and others."
)
def evaluate(
    tokenizers: tuple[str, ...], splits: tuple[str, ...], text: tuple[str, ...], **given: Any
) -> None:
    """Measure tokenizers on text, and print a row for each.

    Tokens, the ratio to English, the Gini coefficient and the worst language are
    measured on the parallel text. Bits per byte and the round trip are measured on
    --text and the held-out lines of --corpora, or on the parallel text where neither is
    given. For bits per byte a bigram is trained on the train.txt of --corpora. Without
    --corpora it is trained on ten folds of each text, which must have 1,000 lines.
    Counts of tokens count an unknown character as its bytes in UTF-8. Unknown bytes are
    the bytes of all such text.

    --tables writes a folder for each tokenizer. In it evaluation.tsv, parallel.tsv,
    unknown.tsv and roundtrip.tsv have a row for each language, and bits.npz has the
    bits and bytes of every line, and the tokens of those of parallel text.

    --gates checks that every line comes back and has no unknown characters, and that
    the tokenizer covers all bytes. It also looks for dead ids, runs of one character,
    ids longer than 64 characters, and fragments of characters.
    """
    from vocap.tokenizers.evaluate import evaluate as measure
    from vocap.tokenizers.evaluate import name_tokenizers
    from vocap.tokenizers.summary_text import gate_lines, summary_lines

    found = measure(name_tokenizers(tokenizers), split=splits, text=parse_files(text), **given)
    click.echo("\n".join(summary_lines(found)))
    if given.get("gates"):
        click.echo("\n" + "\n".join(gate_lines(found)))
