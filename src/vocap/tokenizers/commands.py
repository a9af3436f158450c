"""`vocap fit`, `joint`, `mono`, `bpe`: tokenizers; `export`, `card`: a finished one for
Hugging Face.

Functions are imported when they are called: numba's kernels take a second that short
jobs save.
"""

from pathlib import Path
from typing import Any

import click

from vocap import options
from vocap.tokenizer_files import DIGITS, REGEX, SPLITS, UNITS
from vocap.tokenizer_files.id_layout import IdLayout, parse_layout
from vocap.tokenizers.trained import TrainedTokenizer
from vocap.unigram.text_settings import COVERAGE, TextSettings

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
    layout: IdLayout,
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
    assert isinstance(made, dict)  # of several totals
    for total, one in made.items():
        _report(folders[total], one)


@click.command()
@click.option(
    "--model", required=True, type=PATH, help="A SentencePiece unigram model of one language."
)
@click.option("--language", required=True, type=options.Code(), help="Code of its language.")
@options.id_layout
@OUT
def mono(model: Path, language: str, layout: IdLayout, out: Path) -> None:
    """Lay one language's model out as a tokenizer: the MONO baseline, in XLM-R's layout
    two ids larger.

    Writes sentencepiece.model, pieces.tsv and description.json; dead pieces are
    reported, not repaired.
    """
    from vocap.tokenizers.mono import lay_out_mono

    made = lay_out_mono(model, language, layout)
    made.write(out)
    _report(out, made)


def _report(out: Path, made: TrainedTokenizer) -> None:
    facts = made.description
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead", err=True
    )


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
    assert isinstance(made, dict)  # of several totals
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
