"""`vocap fit`, `vocap joint`, `vocap mono`: the tokenizers as SentencePiece models."""

from pathlib import Path

import click

from vocap import options
from vocap.allocation import SPECIALS
from vocap.errors import UsageError, VocapError
from vocap.vocabularies import COVERAGE

PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
OUT = click.option("-o", "--output", "out", required=True, type=FOLDER, help="Folder to write.")
BYTE_FALLBACK = click.option(
    "--byte-fallback", is_flag=True, help="256 byte pieces for characters that are no piece."
)
SYMBOLS = click.option(
    "--symbol", "symbols", multiple=True, metavar="STRING", help="A string that stays one piece; may be repeated."
)


def _checked(symbols: tuple[str, ...]) -> list[str]:
    from vocap.tokenizers.settings import check_symbols

    try:
        return check_symbols(list(symbols))
    except ValueError as error:
        raise UsageError(f"--symbol: {error}") from None


@click.command()
@click.option("--allocation", required=True, type=PATH, help="Folder with allocation.tsv and vocabulary.tsv.")
@click.option(
    "--vocabularies",
    required=True,
    type=PATH,
    help="Folder with {language}/curve.tsv and {language}/models/{size}.model.",
)
@click.option("--weights", required=True, type=PATH, help="Table with the columns language, n.")
@click.option("--mix", required=True, type=PATH, help="The multilingual sample, one sentence a line.")
@click.option(
    "--alpha", default=0.7, show_default=True, type=options.Real(0, 10), help="The allocation's (Equation 3)."
)
@click.option(
    "--scores",
    default="mixture",
    show_default=True,
    type=click.Choice(["mixture", "max", "viterbi", "em"]),
    help="How pieces are scored (docs/tokenizers.md compares them).",
)
@BYTE_FALLBACK
@SYMBOLS
@OUT
def fit(allocation, vocabularies, weights, mix, alpha, scores, byte_fallback, symbols, out) -> None:
    """Score the pieces of an allocation: the VOCAP tokenizer.

    Writes sentencepiece.model (T ids), pieces.tsv (every piece, its languages and its fate) and description.json.
    """
    symbols = _checked(symbols)
    from vocap.tokenizers.accounts import write_tokenizer
    from vocap.tokenizers.allocated import read_allocation, read_models, sentence_shares, token_shares
    from vocap.tokenizers.multilingual import MIXED
    from vocap.tokenizers.multilingual import fit as fit_vocap

    chosen = read_allocation(allocation)
    shares = sentence_shares(weights, chosen.sizes, alpha)
    if scores in MIXED:
        shares = token_shares(vocabularies, chosen.sizes, shares)
    models, normalizer = read_models(vocabularies, chosen)
    fitted = fit_vocap(chosen.owners, models, shares, normalizer, mix, scores, byte_fallback, symbols)
    fitted.description["settings"]["alpha"] = alpha
    write_tokenizer(out, fitted.proto, fitted.rows, fitted.description)
    facts = fitted.description
    change = facts["raising"]["alp_after"] - facts["raising"]["alp_before"]
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead, {facts['raised']} raised "
        f"(ALP {change:+.4f} on the sample), {facts['dropped']} dropped, "
        f"{facts['characters_added']} required characters from no language's model",
        err=True,
    )


@click.command()
@click.option("--mix", required=True, type=PATH, help="The multilingual sample, one sentence a line.")
@click.option(
    "--total",
    "totals",
    required=True,
    multiple=True,
    type=click.IntRange(SPECIALS + 1),
    help="T: every id counted; may be repeated, then -o must hold {total}.",
)
@options.coverage(COVERAGE, "Share of the sample's characters that must be pieces.")
@click.option(
    "--engine",
    default="ladder",
    show_default=True,
    type=click.Choice(["ladder", "sentencepiece"]),
    help="One descent for every T, or one SentencePiece training for each.",
)
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=options.THREADS,
    help="With engine sentencepiece a setting like the others: another number gives slightly other pieces.",
)
@BYTE_FALLBACK
@SYMBOLS
@OUT
def joint(mix, totals, coverage, engine, threads, byte_fallback, symbols, out) -> None:
    """Train a unigram model on the multilingual sample: the JOINT tokenizer.

    Writes sentencepiece.model (T ids), pieces.tsv and description.json; dead pieces are reported, not repaired.
    Where the text does not hold T pieces the tokenizer stays short, with a warning. {total} in -o stands for T.
    """
    symbols = _checked(symbols)
    if len(set(totals)) > 1 and "{total}" not in str(out):
        raise UsageError(f"-o {out}: put {{total}} where T stands in the path: it is the folder of several totals")
    from vocap.tokenizers.accounts import write_as_trained
    from vocap.tokenizers.joint import descend_joint, train_joint

    settings = {
        "coverage": coverage,
        "engine": engine,
        **({"threads": threads} if engine == "sentencepiece" else {}),
        "byte_fallback": byte_fallback,
        "user_defined_symbols": symbols,
    }
    if engine == "ladder":
        trained = descend_joint(mix, totals, coverage, threads, byte_fallback, symbols)
    else:
        trained = (
            (total, train_joint(mix, total, coverage, threads, byte_fallback, symbols))
            for total in sorted(set(totals))
        )
    for total, proto in trained:
        folder = Path(str(out).replace("{total}", str(total)))
        facts = {"total": total, **settings}
        _report(folder, write_as_trained(folder, "joint", proto, facts, short=total - len(proto.pieces)))


@click.command()
@click.option("--model", required=True, type=PATH, help="A SentencePiece unigram model of one language.")
@click.option("--language", required=True, type=options.Code(), help="Code of its language.")
@OUT
def mono(model, language, out) -> None:
    """Lay one language's model out as a tokenizer: the MONO baseline, two ids larger.

    Writes sentencepiece.model, pieces.tsv and description.json; dead pieces are reported, not repaired.
    """
    from vocap.tokenizers.accounts import write_as_trained
    from vocap.tokenizers.mono import relayout
    from vocap.vocabularies.model_file import read_model

    if not model.exists():
        raise VocapError(f"{model}: no such model file{_reason(model)}")
    proto = read_model(model)
    settings = {"language": language, "size": len(proto.pieces)}
    _report(out, write_as_trained(out, "mono", relayout(proto, str(model)), settings, [language]))


def _reason(model: Path) -> str:
    """What the curve beside the folder of models says of a size that has none."""
    from vocap.vocabularies.curve import read_points

    curve = model.parent.parent / "curve.tsv"
    if not curve.exists():
        return "; check the path"
    status = {str(point.size): point.status for point in read_points(curve)}.get(model.stem, "")
    return f": {curve} says {status!r}; choose a size that it calls ok" if status else "; check the path"


def _report(out: Path, facts: dict) -> None:
    click.echo(f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead", err=True)
