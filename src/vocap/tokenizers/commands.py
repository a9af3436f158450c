"""`vocap fit`, `joint`, `mono`, `bpe`: tokenizers; `export`, `card`: a finished one for
Hugging Face; `evaluate`: many on one text; `parity`: both forms of one.

Functions are imported when they are called: numba's kernels take a second that short
jobs save.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vocap import options
from vocap.files.io import write_tsv
from vocap.text_files.named_texts import find_texts, parse_files, parse_languages
from vocap.tokenizer_files import DIGITS, REGEX, SPLITS, UNITS
from vocap.unigram.text_settings import COVERAGE, TextSettings

if TYPE_CHECKING:
    from vocap.tokenizer_files.id_layout import IdLayout
    from vocap.tokenizers.trained import TrainedTokenizer

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
OUT = click.option("-o", "--output", "out", required=True, type=FOLDER, help="Folder to write.")
WEIGHTS = click.option(
    "--weights", required=True, type=PATH, help="Table with the columns language, n."
)
ALPHA = click.option(
    "--alpha", default=0.7, type=options.Real(0, 10), help="Share of a language (Equation 3)."
)
PER = click.option(
    "--per",
    type=click.Choice(["line", "character"]),
    default="line",
    help="Unit of the languages' shares.",
)
CURVE = click.option(
    "--curve",
    type=FILE,
    help="Table to write, for vocap size: tokens and ALP of held-out text at eight T up to the "
    "largest.",
)


@click.command()
@click.option(
    "--allocation", required=True, type=PATH, help="Folder with allocation.tsv and vocabulary.tsv."
)
@click.option(
    "--vocabularies",
    required=True,
    type=PATH,
    help="Folder with {language}/curve.tsv and {language}/models/{size}.model.",
)
@WEIGHTS
@ALPHA
@options.text_keys("byte_fallback", "user_defined_symbols", "control_symbols")
@options.id_layout
@OUT
def fit(
    allocation: Path,
    vocabularies: Path,
    weights: Path,
    alpha: float,
    layout: "IdLayout",
    out: Path,
    **text: Any,
) -> None:
    """Score the pieces of an allocation: the VOCAP tokenizer. The normaliser is that of
    the languages' models.

    Writes sentencepiece.model (T ids), pieces.tsv (every piece, its languages and its
    status) and description.json.
    """
    from vocap.tokenizers import fitting

    settings = TextSettings(**{name: value for name, value in text.items() if value is not None})
    made = fitting.fit(
        allocation, vocabularies, weights, out, alpha=alpha, settings=settings, layout=layout
    )
    facts = made.description
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead, "
        f"{facts['raised']} raised"
        f", {facts['dropped']} dropped, {facts['characters_added']} required characters from no "
        "language's model",
        err=True,
    )


@click.command()
@click.option("--mix", type=PATH, help="A multilingual sample, one sentence a line (vocap mix).")
@click.option(
    "--corpora", type=FOLDER, help="Instead of a sample: {language}/train.txt, all lines, weighted."
)
@click.option("--weights", type=PATH, help="Table with the columns language, n; of all languages.")
@ALPHA
@PER
@click.option(
    "--characters",
    type=FOLDER,
    help="Folder with {language}/train.txt: hold the characters that VOCAP holds, and no others.",
)
@options.totals
@options.coverage(COVERAGE, "Share of the text's characters that must be pieces.")
@options.threads("Of one descent; the results do not depend on it.")
@options.text_options
@options.id_layout
@CURVE
@click.option("--heldout", type=FOLDER, help="With --curve: folder with {language}/heldout.txt.")
@click.option(
    "--points", type=FOLDER, help="With --curve: folder of each of its T, with {total} for T."
)
@OUT
def joint(totals: tuple[int, ...], out: Path, **given: Any) -> None:
    """Train a unigram model on the text of all languages: the JOINT tokenizer.

    From every training line (--corpora, --weights), each counted so often that its
    language has its share, or from a sample (--mix). Every T comes from one descent.
    Writes sentencepiece.model (T ids), pieces.tsv and description.json; dead pieces are
    reported, not repaired. Where the text does not hold T pieces the tokenizer stays
    short, with a warning. {total} in -o stands for T.
    """
    from vocap.tokenizers.joint import train_joint

    folders = options.folders(out, totals)
    made = train_joint(totals, out, **given)
    for total, one in made.items():
        _report(folders[total], one)


@click.command()
@click.option(
    "--model", required=True, type=PATH, help="A SentencePiece unigram model of one language."
)
@click.option("--language", required=True, type=options.Code(), help="Code of its language.")
@options.id_layout
@OUT
def mono(model: Path, language: str, layout: "IdLayout", out: Path) -> None:
    """Lay one language's model out as a tokenizer: the MONO baseline, in XLM-R's layout
    two ids larger.

    Writes sentencepiece.model, pieces.tsv and description.json; dead pieces are
    reported, not repaired.
    """
    from vocap.tokenizers.mono import lay_out_mono

    made = lay_out_mono(model, language, layout)
    made.write(out)
    _report(out, made)


def _report(out: Path, made: "TrainedTokenizer") -> None:
    facts = made.description
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead", err=True
    )


@click.command()
@click.argument("larger", type=FOLDER)
@options.totals
@options.text_options
@options.id_layout
@OUT
def cut_bpe(larger: Path, totals: tuple[int, ...], out: Path, **given: Any) -> None:
    """Take the first merges of a tokenizer of vocap bpe: the one of a smaller T.

    LARGER: its folder. No text is read; options of the text and the layout are those
    that it was trained with. {total} in -o stands for T.
    """
    from vocap.tokenizers.byte_pairs import cut_bpe

    for total, folder in options.folders(out, totals).items():
        cut_bpe(larger, total, **given).write(folder)


@click.command()
@click.option("--corpora", required=True, type=FOLDER, help="Folder with {language}/train.txt.")
@WEIGHTS
@options.totals
@ALPHA
@PER
@click.option(
    "--unit", type=click.Choice(UNITS), default=UNITS[0], help="Symbols before any merge."
)
@click.option(
    "--split", type=click.Choice(SPLITS), default=SPLITS[0], help="Where text is cut before."
)
@click.option(
    f"--{REGEX}", metavar="EXPRESSION", help="In place of --split: its matches are the words."
)
@click.option(
    "--digits",
    type=click.Choice(DIGITS),
    help="Single digits, threes from the left or right, or whole numbers. [default: the split's]",
)
@click.option(
    "--contractions/--no-contractions",
    default=None,
    help="English ones ('s, 'll) are words of their own. [default: the split's]",
)
@options.coverage(
    COVERAGE, "Unit characters: share of each language's characters that must be pieces."
)
@click.option(
    "--development",
    metavar="PATTERN",
    help="Parallel text for fairness and parity: files with {lang}.",
)
@click.option(
    "--fairness",
    default=0.0,
    type=options.Real(0, 16),
    help="Multiply weights by (tokens on parallel text / mean) to this power, and train again.",
)
@click.option(
    "--rounds", default=2, type=click.IntRange(1, 20), help="Trainings with such weights."
)
@click.option(
    "--parity", is_flag=True, help="Each merge is for the language with the longest parallel text."
)
@click.option(
    "--from",
    "first",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Weighted merges of all languages before those of --parity.",
)
@click.option(
    "--window",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Of --parity: no language has more than twice its share of the last N merges.",
)
@options.without
@options.text_options
@options.id_layout
@CURVE
@OUT
def bpe(corpora: Path, weights: Path, totals: tuple[int, ...], out: Path, **given: Any) -> None:
    """Train byte-pair encoding on the text of all languages, every T at once.

    Pairs are counted over the words of all training lines, each line as often as its
    language weighs: no sample is drawn. Writes tokenizer.json (T ids),
    tokenizer_config.json, pieces.tsv and description.json. Where the text does not hold
    T pieces the tokenizer stays short, with a warning. {total} in -o stands for T.
    """
    from vocap.tokenizers.byte_pairs import train_bpe

    folders = options.folders(out, totals)
    made = train_bpe(corpora, weights, totals, out, **given)
    for total, one in made.items():
        click.echo(f"{folders[total]}: T = {one.total}", err=True)


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=PATH,
    help="Folder to write: results' huggingface/.",
)
@click.option(
    "--layout",
    help="That of vocap fit: tokens around a text, longest input. [default: the model's]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["huggingface", "tiktoken", "gguf"]),
    default="huggingface",
    help="Form to write; tiktoken takes byte-pair encoding of bytes, text as it is; gguf, the "
    "vocabulary file of llama.cpp, also unigram models without bytes (docs/clients.md).",
)
def export(model: Path, out: Path, layout: str | None, form: str) -> None:
    """Write a tokenizer for Hugging Face: the same ids, for AutoTokenizer; or for
    tiktoken or llama.cpp.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of
    vocap bpe. Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json;
    vocap card writes the model card. For tiktoken: ranks.tiktoken, and encoding.json
    with the other arguments of tiktoken.Encoding. For llama.cpp: the file that -o names.
    """
    from vocap.tokenizer_files.id_layout import parse_layout
    from vocap.tokenizers import exporting

    given = None if layout is None else parse_layout(layout)
    click.echo(f"{out}: {exporting.export(model, out, layout=given, format=form)} ids", err=True)


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "-o", "--output", required=True, type=FILE, help="File to write: README.md of huggingface/."
)
@click.option(
    "--evaluation", type=PATH, help="Table of vocap evaluate: the languages and their measures."
)
@click.option("--text", help="Where the text comes from, and its licences, in Markdown.")
def card(model: Path, output: Path, evaluation: Path | None, text: str | None) -> None:
    """Write the model card of a tokenizer: method, text and its licences, languages, limits.

    MODEL is a sentencepiece.model of vocap fit, joint or mono, or a tokenizer.json of
    vocap bpe; method and settings are those of the description.json beside it.
    """
    from vocap.tokenizers import exporting

    exporting.card(model, output, evaluation=evaluation, text=text)


@click.command()
@click.option(
    "--tokenizer",
    "tokenizers",
    required=True,
    multiple=True,
    metavar="[NAME=]PATH",
    help="A .model, a tokenizer.json, tiktoken's ranks, a tekken.json, or a folder with one; "
    "may be repeated.",
)
@options.split
@click.option("--corpora", type=PATH, help="Folder with {language}/train.txt and heldout.txt.")
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="LANG=FILE",
    help="Text of a language; may be repeated.",
)
@click.option(
    "--languages", metavar="CODES", help="Comma-separated; all that have text unless given."
)
@click.option(
    "--languages-table", type=PATH, help="Scripts and resource groups; the package's unless given."
)
@click.option(
    "--parallel",
    metavar="PATTERN",
    help="Line-aligned files with {lang} in their path (.xz, .gz, .zst too; of .jsonl, .tsv and "
    ".parquet each record is a line); an empty line: no translation.",
)
@click.option(
    "--gates", is_flag=True, help="Check what breaks in use: pass or fail, with an example."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Summary to write (TSV).",
)
@click.option(
    "--tables",
    type=PATH,
    help="Folder to write tables by language to: NAME/evaluation.tsv and others.",
)
def evaluate(
    tokenizers: tuple[str, ...],
    splits: tuple[str, ...],
    corpora: Path | None,
    texts: tuple[str, ...],
    languages: str | None,
    languages_table: Path | None,
    parallel: str | None,
    gates: bool,
    output: Path | None,
    tables: Path | None,
) -> None:
    """Measure tokenizers on text: a row each.

    Tokens, ratio to English, Gini coefficient and worst language are of the parallel
    text; bits per byte and round trip of --text and of the held-out lines of --corpora,
    or else of the parallel text too. Bits per byte are those of a bigram of the
    train.txt of --corpora; without it of ten folds of each text, from 1,000 lines on.
    Tokens, and what follows from them, count an unknown character as its bytes in
    UTF-8; unknown bytes are all of that text.
    --tables has, in a folder a tokenizer, evaluation.tsv, parallel.tsv, unknown.tsv and
    roundtrip.tsv, a row a language, and bits.npz, bits and bytes of every line. --gates
    checks: every line comes back, no unknown characters, all bytes, dead ids, runs of
    one character, ids longer than 64 characters, fragments of characters.
    """
    from vocap.tokenizers.evaluate import evaluate as measure
    from vocap.tokenizers.evaluate import name_tokenizers
    from vocap.tokenizers.summary_text import gate_lines, summary_lines

    found = measure(
        name_tokenizers(tokenizers),
        split=splits,
        corpora=corpora,
        text=parse_files(texts),
        languages=parse_languages(languages),
        languages_table=languages_table,
        parallel=parallel,
        gates=gates,
        output=output,
        tables=tables,
    )
    click.echo("\n".join(summary_lines(found)))
    if gates:
        click.echo("\n" + "\n".join(gate_lines(found)))


@click.command()
@click.option(
    "--tokenizer",
    required=True,
    type=PATH,
    help="Folder with sentencepiece.model and huggingface/.",
)
@click.option(
    "--corpora", required=True, type=PATH, help="Folder with {language}/train.txt and heldout.txt."
)
@click.option(
    "--languages", metavar="CODES", help="Comma-separated; all in --corpora unless given."
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="LINES",
    help="Lines of each language. [default: 1,000 where there are 10 languages or more, else "
    "10,000 in all]",
)
@click.option("--seed", default=0, type=options.SEED, help="Of the sample.")
@click.option("-o", "--output", required=True, type=PATH, help="Table to write.")
def parity(
    tokenizer: Path,
    corpora: Path,
    languages: str | None,
    sample: int | None,
    seed: int,
    output: Path,
) -> None:
    """Compare a tokenizer's SentencePiece and Hugging Face forms, line by line.

    Writes, a language a row, the share of lines with identical ids, and the number of
    others by kind of difference, with an example of each.
    """
    from vocap.tokenizers.parity import (
        PARITY_COLUMNS,
        PARITY_KINDS,
        compare_forms,
        lines_of_each,
    )

    codes = list(find_texts((), corpora, parse_languages(languages), ["heldout", "train"]))
    sample = sample or lines_of_each(len(codes))
    results = compare_forms(tokenizer, corpora, codes, sample, seed)
    rows = [(code, *found.cells(PARITY_KINDS)) for code, found in results.items()]
    write_tsv(output, PARITY_COLUMNS, rows)
    lines = sum(found.lines for found in results.values())
    identical = sum(found.identical for found in results.values())
    click.echo(
        f"{output}: {identical} of {lines} lines identical, at most {sample} of a language (seed "
        f"{seed})",
        err=True,
    )
