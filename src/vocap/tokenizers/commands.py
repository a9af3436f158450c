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
MIX = click.option("--mix", type=PATH, help="A multilingual sample, one sentence a line (vocap mix).")
CORPORA = click.option("--corpora", type=FOLDER, help="In its place: {language}/train.txt, all lines, weighted.")


def _text(mix: Path | None, corpora: Path | None, weights: Path | None, alpha: float):
    """The multilingual text that the options name."""
    from vocap.corpora.weights import read_weights
    from vocap.tokenizers.multilingual_text import sampled_text, whole_text

    if (mix is None) == (corpora is None):
        raise UsageError("give either --mix FILE, a sample, or --corpora DIR, for every training line")
    if corpora is None:
        return sampled_text(mix, None if weights is None else alpha)
    return whole_text(corpora, read_weights(weights), alpha)


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
@MIX
@CORPORA
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
def fit(allocation, vocabularies, weights, mix, corpora, alpha, scores, byte_fallback, symbols, out) -> None:
    """Score the pieces of an allocation: the VOCAP tokenizer.

    Writes sentencepiece.model (T ids), pieces.tsv (every piece, its languages and its fate) and description.json.
    """
    symbols = _checked(symbols)
    from vocap.tokenizers.accounts import write_tokenizer
    from vocap.tokenizers.allocated import learnt_from, read_allocation, read_models, sentence_shares, token_shares
    from vocap.tokenizers.multilingual import MIXED
    from vocap.tokenizers.multilingual import fit as fit_vocap

    chosen = read_allocation(allocation)
    text = _text(mix, corpora, weights, alpha)
    shares = sentence_shares(weights, chosen.sizes, alpha)
    if scores in MIXED:
        shares = token_shares(vocabularies, chosen.sizes, shares)
    models, normalizer = read_models(vocabularies, chosen)
    fitted = fit_vocap(chosen.owners, models, shares, normalizer, text, scores, byte_fallback, symbols)
    fitted.description["settings"]["alpha"] = alpha
    fitted.description["text"] = learnt_from(allocation, vocabularies, chosen.sizes)
    write_tokenizer(out, fitted.proto, fitted.rows, fitted.description)
    facts = fitted.description
    change = facts["raising"]["alp_after"] - facts["raising"]["alp_before"]
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead, {facts['raised']} raised "
        f"(ALP {change:+.4f} on the first lines), {facts['dropped']} dropped, "
        f"{facts['characters_added']} required characters from no language's model",
        err=True,
    )


@click.command()
@MIX
@CORPORA
@click.option("--weights", type=PATH, help="Table with the columns language, n; of all languages.")
@click.option(
    "--alpha", default=0.7, show_default=True, type=options.Real(0, 10), help="Share of a language (Equation 3)."
)
@click.option(
    "--vocabularies",
    type=FOLDER,
    help="Folder with {language}/characters.tsv: hold the characters that VOCAP holds, and no others.",
)
@click.option("--characters", type=FOLDER, help="The same, counted in {language}/train.txt of this folder.")
@click.option(
    "--total",
    "totals",
    required=True,
    multiple=True,
    type=click.IntRange(SPECIALS + 1),
    help="T: every id counted; may be repeated, then -o must hold {total}.",
)
@options.coverage(COVERAGE, "Share of the text's characters that must be pieces.")
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
def joint(
    mix,
    corpora,
    weights,
    alpha,
    vocabularies,
    characters,
    totals,
    coverage,
    engine,
    threads,
    byte_fallback,
    symbols,
    out,
) -> None:
    """Train a unigram model on the text of all languages: the JOINT tokenizer.

    From every training line (--corpora, --weights), each counted so often that its language has its share, or from
    a sample (--mix). Writes sentencepiece.model (T ids), pieces.tsv and description.json; dead pieces are
    reported, not repaired. Where the text does not hold T pieces the tokenizer stays short, with a warning.
    {total} in -o stands for T.
    """
    symbols = _checked(symbols)
    if len(set(totals)) > 1 and "{total}" not in str(out):
        raise UsageError(f"-o {out}: put {{total}} where T stands in the path: it is the folder of several totals")
    if weights is None and (corpora or vocabularies or characters):
        option = "--corpora" if corpora else "--vocabularies" if vocabularies else "--characters"
        raise UsageError(f"--weights is missing: {option} needs n of each language")
    if vocabularies and characters:
        raise UsageError("give --vocabularies or --characters, not both: they say the same")
    from vocap.allocation.characters import count_shared_characters, read_shared_characters
    from vocap.corpora.weights import read_weights
    from vocap.tokenizers.accounts import write_as_trained
    from vocap.tokenizers.joint import descend_joint, train_joint

    text = _text(mix, corpora, weights, alpha)
    required = None
    if vocabularies is not None:
        required = read_shared_characters(vocabularies, read_weights(weights), alpha, coverage)
    elif characters is not None:
        required = count_shared_characters(characters, read_weights(weights), alpha, coverage)
    settings = {
        "coverage": coverage,
        "engine": engine,
        **({"threads": threads} if engine == "sentencepiece" else {}),
        "byte_fallback": byte_fallback,
        "user_defined_symbols": symbols,
    }
    more = (coverage, threads, byte_fallback, symbols, required)
    if engine == "ladder":
        trained = descend_joint(text, totals, *more)
    else:
        trained = ((total, train_joint(text, total, *more), None) for total in sorted(set(totals)))
    for total, proto, types in trained:
        folder = Path(str(out).replace("{total}", str(total)))
        seen = {**text.facts, **({} if types is None else {"word_types": types})}
        facts = write_as_trained(
            folder, "joint", proto, {"total": total, **settings}, short=total - len(proto.pieces), text=seen
        )
        _report(folder, facts)


@click.command()
@click.option("--model", required=True, type=PATH, help="A SentencePiece unigram model of one language.")
@click.option("--language", required=True, type=options.Code(), help="Code of its language.")
@OUT
def mono(model, language, out) -> None:
    """Lay one language's model out as a tokenizer: the MONO baseline, two ids larger.

    Writes sentencepiece.model, pieces.tsv and description.json; dead pieces are reported, not repaired.
    """
    from vocap.tokenizers.accounts import write_as_trained
    from vocap.tokenizers.allocated import learnt_from_one
    from vocap.tokenizers.mono import relayout
    from vocap.vocabularies.model_file import read_model

    if not model.exists():
        raise VocapError(f"{model}: no such model file{_reason(model)}")
    proto = read_model(model)
    settings = {"language": language, "size": len(proto.pieces)}
    seen = learnt_from_one(model.parent.parent)
    _report(out, write_as_trained(out, "mono", relayout(proto, str(model)), settings, [language], text=seen))


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
