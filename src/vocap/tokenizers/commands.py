"""`vocap fit`, `vocap joint`, `vocap mono`: the tokenizers as SentencePiece models.

Imports inside functions are of numpy, numba and SentencePiece, which `vocap --help` does not need.
"""

from itertools import chain
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError
from vocap.options import text_keys, text_options
from vocap.text_files.named_texts import find_texts
from vocap.unigram import COVERAGE
from vocap.unigram.text_settings import TextSettings

PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
OUT = click.option("-o", "--output", "out", required=True, type=FOLDER, help="Folder to write.")


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
def fit(allocation, vocabularies, weights, alpha, scores, layout, out, **rows) -> None:
    """Score the pieces of an allocation: the VOCAP tokenizer. The normaliser is that of the languages' models.

    Writes sentencepiece.model (T ids), pieces.tsv (every piece, its languages and its status) and
    description.json.
    """
    settings = TextSettings(**{name: value for name, value in rows.items() if value is not None})
    _check_symbols(settings, layout)
    from vocap.tokenizer_files.layout import write_tokenizer
    from vocap.tokenizers import fitting

    chosen = fitting.read_allocation(allocation, layout)
    shares = fitting.sentence_shares(weights, chosen.sizes, alpha)
    if scores == "mixture":
        shares = fitting.token_shares(vocabularies, chosen.sizes, shares)
    models, normalizer, trained = fitting.read_models(vocabularies, chosen)
    more = (scores, settings, chosen.free_rows, layout, trained)
    proto, rows, facts = fitting.fit(chosen.owners, models, shares, normalizer, *more)
    made = {name: chosen.settings[name] for name in ("rule", "token_fairness") if chosen.settings.get(name)}
    facts["settings"] |= {"alpha": alpha} | made
    facts["text"] = fitting.learnt_from(vocabularies, chosen)
    write_tokenizer(out, proto, rows, facts)
    click.echo(
        f"{out}: T = {facts['total']}; {facts['dead']} of {facts['pieces']} pieces dead, {facts['raised']} raised"
        f", {facts['dropped']} dropped, {facts['characters_added']} required characters from no language's model",
        err=True,
    )


@click.command()
@click.option("--mix", type=PATH, help="A multilingual sample, one sentence a line (vocap mix).")
@click.option("--corpora", type=FOLDER, help="Instead of a sample: {language}/train.txt, all lines, weighted.")
@click.option("--weights", type=PATH, help="Table with the columns language, n; of all languages.")
@click.option(
    "--alpha", default=0.7, show_default=True, type=options.Real(0, 10), help="Share of a language (Equation 3)."
)
@click.option(
    "--characters",
    type=FOLDER,
    help="Folder with {language}/train.txt: hold the characters that VOCAP holds, and no others.",
)
@options.totals
@options.coverage(COVERAGE, "Share of the text's characters that must be pieces.")
@click.option(
    "--threads",
    type=options.THREADS,
    default=1,
    show_default=True,
    help="Of one descent; the results do not depend on it.",
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
def joint(mix, corpora, weights, alpha, characters, totals, curve, heldout, out, **training) -> None:
    """Train a unigram model on the text of all languages: the JOINT tokenizer.

    From every training line (--corpora, --weights), each counted so often that its language has its share, or from
    a sample (--mix). Every T comes from one descent. Writes sentencepiece.model (T ids), pieces.tsv and
    description.json; dead pieces are reported, not repaired. Where the text does not hold T pieces the tokenizer
    stays short, with a warning. {total} in -o stands for T.
    """
    settings, coverage = training["settings"], training["coverage"]
    _check_symbols(settings, training["layout"])
    folders = options.folders(out, totals)
    if weights is None and (corpora or characters):
        option = "--corpora" if corpora else "--characters"
        raise UsageError(f"--weights is missing: {option} needs n of each language")
    if (curve is None) != (heldout is None):
        raise UsageError("--curve and --heldout go together; give both or none")
    from vocap.tables.sampling_probabilities import read_weights
    from vocap.tables.size_table import measure_size, points_below, write_sizes
    from vocap.tokenizer_files.encoders import SentencePieceEncoder
    from vocap.tokenizer_files.layout import write_as_trained
    from vocap.tokenizer_files.model_file import build_processor
    from vocap.tokenizers.joint import descend_joint
    from vocap.tokenizers.multilingual_text import sampled_text, whole_text
    from vocap.unigram.training_text import count_shared_characters

    # the text, and its required characters where they are those of the languages
    if (mix is None) == (corpora is None):
        raise UsageError("give either --mix FILE, a sample, or --corpora DIR, for every training line")
    if corpora is None:
        text = sampled_text(mix, None if weights is None else alpha)
    else:
        text = whole_text(corpora, read_weights(weights), alpha)
    required = None
    if characters is not None:
        required = count_shared_characters(characters, read_weights(weights), alpha, coverage, settings)
        required = sorted({*required, *settings.required_chars})
    # every total of one descent, and the measures of each, for the curve
    facts = {"coverage": coverage, "byte_fallback": False, "user_defined_symbols": [], **settings.changed()}
    found = find_texts((), heldout, None, ["heldout"]) if curve else {}
    texts = {code: files["heldout"] for code, files in found.items()}
    further = points_below(max(totals)) if curve else ()
    measured = {}
    for total, proto, types in descend_joint(text, totals, required=required, further=further, **training):
        reached = len(proto.pieces)
        if curve and reached not in measured:
            encoder = SentencePieceEncoder(build_processor(proto, out))
            measured[reached] = measure_size(encoder, reached, texts)
        if total in folders:
            short, seen = total - reached, {**text.facts, "word_types": types}
            own = {"total": total, **facts}
            written = write_as_trained(folders[total], "joint", proto, own, short=short, text=seen)
            _report(folders[total], written)
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
    from vocap.tables.curve import count_lines
    from vocap.tokenizer_files.layout import relayout, write_as_trained
    from vocap.tokenizer_files.model_file import read_model

    if not model.exists():
        raise VocapError(f"{model}: no such model file{_reason(model)}")
    proto, table = read_model(model), model.parent.parent / "characters.tsv"
    settings = {"language": language, "size": len(proto.pieces)}
    seen = {"lines": count_lines(table)} if table.exists() else {}
    laid_out = relayout(proto, str(model), layout)
    owners = {entry.piece: [language] for entry in laid_out.pieces}
    _report(out, write_as_trained(out, "mono", laid_out, settings, owners, text=seen))


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
