"""`vocap allocate`."""

from pathlib import Path

import click

from vocap import options
from vocap.vocabularies import COVERAGE


@click.command()
@click.option(
    "--vocabularies",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Holds LANG/curve.tsv, characters.tsv, models/SIZE.model; LANG/pieces.npz, an index, is made if missing.",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE.tsv",
    help="Columns language and n (lines of text, or any other weight).",
)
@click.option(
    "--total", type=int, required=True, metavar="T", help="Rows of the tokenizer, 5 special tokens included."
)
@click.option("--alpha", type=float, default=0.7, show_default=True, help="Q_i = n_i^alpha / sum (Equation 3).")
@click.option(
    "--beta", type=float, default=0.7, show_default=True, help="Weight of a language: q_i^beta (Equation 2)."
)
@click.option(
    "--fairness",
    type=float,
    default=0.0,
    show_default=True,
    help="A nat counts (ALP / best ALP of the language)^FAIRNESS as much: 0 is Equation 2, 50 nearly max-min.",
)
@click.option(
    "--rule",
    type=click.Choice(["paper", "cost-aware"]),
    default="paper",
    show_default=True,
    help="Price of a step: the language's own size (Algorithm 1), or the growth of the union.",
)
@click.option(
    "--search",
    type=click.Choice(["greedy", "bisect"]),
    default="greedy",
    show_default=True,
    help="Of the paper's rule: step by step (Algorithm 1), or one gain threshold (the published code).",
)
@click.option(
    "--curve",
    type=click.Choice(["hull", "raw"]),
    default="hull",
    show_default=True,
    help="Gains on the concave hull of the ALP curve, or on the curve as measured.",
)
@options.coverage(COVERAGE, "Share of the multilingual sample's characters that must be pieces.")
@click.option("--without", default="", metavar="LANG,LANG", help="Languages to leave out.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="OUT",
    help="Folder to write.",
)
def allocate(vocabularies, weights, total, alpha, beta, fairness, rule, search, curve, coverage, without, output):
    """Share out a vocabulary of T among languages by their curves (Algorithm 1).

    Writes OUT/allocation.tsv (the size of each language), OUT/vocabulary.tsv (the T - 5 merged pieces) and
    OUT/summary.json, and says how far the choice is from a bound that no allocation can pass.
    """
    import logging

    from pydantic import ValidationError

    from vocap.allocation.inputs import gather
    from vocap.allocation.results import describe, write_allocation
    from vocap.allocation.settings import Allocation
    from vocap.allocation.solution import solve
    from vocap.corpora.weights import read_weights
    from vocap.errors import UsageError
    from vocap.vocabularies.model_file import read_pieces

    log = logging.getLogger(__name__)
    codes = [code.strip() for code in without.split(",") if code.strip()]
    try:
        settings = Allocation(
            total=total,
            alpha=alpha,
            beta=beta,
            fairness=fairness,
            rule=rule,
            search=search,
            curve=curve,
            without=codes,
        )
    except ValidationError as error:
        detail = error.errors()[0]
        raise UsageError(f"--{detail['loc'][0]} {detail['input']}: {detail['msg'].lower()}") from None

    def scores(language: str, size: int) -> dict[str, float]:
        model = read_pieces(vocabularies / language / "models" / f"{size}.model")
        return dict(zip(model.pieces, model.scores.tolist(), strict=True))

    inputs = gather(vocabularies, read_weights(weights), codes)
    solution = solve(inputs, settings, scores, coverage)
    for warning in solution.warnings:
        log.warning("warning: %s", warning)
    write_allocation(output, inputs, settings, coverage, solution)
    for line in describe(settings, solution):
        click.echo(line)
