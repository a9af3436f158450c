"""`vocap fit`, `vocap joint`, `vocap mono`: the tokenizers as SentencePiece models."""

from itertools import chain
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError
from vocap.text_options import text_keys, text_options
from vocap.unigram import COVERAGE
from vocap.unigram.text_settings import TextSettings

PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
OUT = click.option("-o", "--output", "out", required=True, type=FOLDER, help="Folder to write.")
MIX = click.option("--mix", type=PATH, help="A multilingual sample, one sentence a line (vocap mix).")
CORPORA = click.option(
    "--corpora", type=FOLDER, help="Instead of a sample: {language}/train.txt, all lines, weighted."
)


def _text(mix: Path | None, corpora: Path | None, weights: Path | None, alpha: float):
    """The multilingual text that the options name."""
    from vocap.tables.sampling_probabilities import read_weights
    from vocap.tokenizers.multilingual_text import sampled_text, whole_text

    if (mix is None) == (corpora is None):
        raise UsageError("give either --mix FILE, a sample, or --corpora DIR, for every training line")
    if corpora is None:
        return sampled_text(mix, None if weights is None else alpha)
    return whole_text(corpora, read_weights(weights), alpha)


def _check_symbols(settings: TextSettings, layout) -> None:
    from vocap.tokenizers.settings import check_symbols

    for name in ("user_defined_symbols", "control_symbols"):
        try:
            check_symbols(list(getattr(settings, name)), layout)
        except ValueError as error:
            raise UsageError(f"--{name.replace('_', '-')}: {error}") from None


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
    type=click.Choice(["mixture", "max"]),
    help="How pieces are scored (docs/tokenizers.md compares them).",
)
@text_keys("byte_fallback", "user_defined_symbols", "control_symbols")
@options.id_layout
@OUT
def fit(allocation, vocabularies, weights, mix, corpora, alpha, scores, layout, out, **rows) -> None:
    """Score the pieces of an allocation: the VOCAP tokenizer. The normaliser is that of the languages' models.

    Writes sentencepiece.model (T ids), pieces.tsv (every piece, its languages and its status) and
    description.json.
    """
    settings = TextSettings(**{name: value for name, value in rows.items() if value is not None})
    _check_symbols(settings, layout)
    from vocap.tokenizer_files.folder import write_tokenizer
    from vocap.tokenizers.allocated import (
        check_special_rows,
        free_rows,
        learnt_from,
        read_allocation,
        read_models,
        sentence_shares,
        settings_of,
        token_shares,
    )
    from vocap.tokenizers.multilingual import fit as fit_vocap

    chosen = read_allocation(allocation)
    check_special_rows(allocation, layout)
    text = _text(mix, corpora, weights, alpha)
    shares = sentence_shares(weights, chosen.sizes, alpha)
    if scores == "mixture":
        shares = token_shares(vocabularies, chosen.sizes, shares)
    models, normalizer, trained = read_models(vocabularies, chosen)
    free = free_rows(allocation)
    fitted = fit_vocap(chosen.owners, models, shares, normalizer, text, scores, settings, free, layout, trained)
    fitted.description["settings"]["alpha"] = alpha
    made = settings_of(allocation)
    fitted.description["settings"] |= {name: made[name] for name in ("rule", "token_fairness") if made.get(name)}
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
@options.totals
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
@text_options
@options.id_layout
@click.option(
    "--curve",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Table to write, for vocap size: tokens and ALP of held-out text at eight T up to the largest.",
)
@click.option("--heldout", type=FOLDER, help="With --curve: folder with {language}/heldout.txt.")
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
    settings,
    layout,
    curve,
    heldout,
    out,
) -> None:
    """Train a unigram model on the text of all languages: the JOINT tokenizer.

    From every training line (--corpora, --weights), each counted so often that its language has its share, or from
    a sample (--mix). Writes sentencepiece.model (T ids), pieces.tsv and description.json; dead pieces are
    reported, not repaired. Where the text does not hold T pieces the tokenizer stays short, with a warning.
    {total} in -o stands for T.
    """
    _check_symbols(settings, layout)
    if len(set(totals)) > 1 and "{total}" not in str(out):
        raise UsageError(f"-o {out}: put {{total}} for T into the path: it is the folder of several totals")
    if weights is None and (corpora or vocabularies or characters):
        option = "--corpora" if corpora else "--vocabularies" if vocabularies else "--characters"
        raise UsageError(f"--weights is missing: {option} needs n of each language")
    if vocabularies and characters:
        raise UsageError("give --vocabularies or --characters, not both: they say the same")
    if (curve is None) != (heldout is None):
        raise UsageError("--curve and --heldout go together; give both or none")
    if curve and engine != "ladder":
        raise UsageError(f"--curve needs one descent for every T; --engine {engine} trains each alone")
    from vocap.tables.sampling_probabilities import read_weights
    from vocap.tables.size_table import measure_size, points_below, write_sizes
    from vocap.tokenizer_files.encoders import SentencePieceEncoder
    from vocap.tokenizer_files.folder import write_as_trained
    from vocap.tokenizer_files.model_file import build_processor
    from vocap.tokenizers.joint import descend_joint, train_joint
    from vocap.tokenizers.output_commands import find_languages
    from vocap.unigram.training_text import count_shared_characters, read_shared_characters

    text = _text(mix, corpora, weights, alpha)
    required = None
    if vocabularies is not None:
        required = read_shared_characters(vocabularies, read_weights(weights), alpha, coverage)
    elif characters is not None:
        required = count_shared_characters(characters, read_weights(weights), alpha, coverage, settings)
    if required is not None:
        required = sorted({*required, *settings.required_chars})
    facts = {
        "coverage": coverage,
        "engine": engine,
        **({"threads": threads} if engine == "sentencepiece" else {}),
        "byte_fallback": False,
        "user_defined_symbols": [],
        **settings.changed(),
    }
    more = (coverage, threads, required, settings, layout)
    texts = {code: heldout / code / "heldout.txt" for code in find_languages(heldout, None)} if curve else {}
    measured = {}
    if engine == "ladder":
        trained = descend_joint(text, totals, *more, points_below(max(totals)) if curve else ())
    else:
        trained = ((total, train_joint(text, total, *more), None) for total in sorted(set(totals)))
    for total, proto, types in trained:
        reached = len(proto.pieces)
        if curve and reached not in measured:
            encoder = SentencePieceEncoder(build_processor(proto, out))
            measured[reached] = measure_size(encoder, reached, texts)
        if total not in totals:
            continue
        folder = Path(str(out).replace("{total}", str(total)))
        seen = {**text.facts, **({} if types is None else {"word_types": types})}
        written = write_as_trained(
            folder, "joint", proto, {"total": total, **facts}, short=total - len(proto.pieces), text=seen
        )
        _report(folder, written)
    if curve:
        write_sizes(curve, chain.from_iterable(measured.values()))


@click.command()
@click.option("--model", required=True, type=PATH, help="A SentencePiece unigram model of one language.")
@click.option("--language", required=True, type=options.Code(), help="Code of its language.")
@options.id_layout
@OUT
def mono(model, language, layout, out) -> None:
    """Lay one language's model out as a tokenizer: the MONO baseline, in XLM-R's layout two ids larger.

    Writes sentencepiece.model, pieces.tsv and description.json; dead pieces are reported, not repaired.
    """
    from vocap.tokenizer_files.folder import write_as_trained
    from vocap.tokenizer_files.layout import relayout
    from vocap.tokenizer_files.model_file import read_model
    from vocap.tokenizers.allocated import learnt_from_one

    if not model.exists():
        raise VocapError(f"{model}: no such model file{_reason(model)}")
    proto = read_model(model)
    settings = {"language": language, "size": len(proto.pieces)}
    seen = learnt_from_one(model.parent.parent)
    laid_out = relayout(proto, str(model), layout)
    _report(out, write_as_trained(out, "mono", laid_out, settings, [language], text=seen))


def _reason(model: Path) -> str:
    """The status, in the curve beside the folder of models, of a size without a model."""
    from vocap.tables.curve import read_points

    curve = model.parent.parent / "curve.tsv"
    if not curve.exists():
        return "; check the path"
    status = {str(point.size): point.status for point in read_points(curve)}.get(model.stem, "")
    return f": {curve} says {status!r}; choose a size that it calls ok" if status else "; check the path"


def _report(out: Path, facts: dict) -> None:
    click.echo(f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead", err=True)
