"""`vocap allocate`, and `vocap trunk`, the part of rule pieces that all T share."""

from collections.abc import Callable
from pathlib import Path

import click

from vocap import options
from vocap.allocation.rules import RULES
from vocap.vocabularies import COVERAGE

FILE = click.Path(path_type=Path)
VOCABULARIES = click.option(
    "--vocabularies",
    type=FILE,
    required=True,
    metavar="DIR",
    help="Holds LANG/curve.tsv, characters.tsv, models/SIZE.model; LANG/pieces.npz, an index, is made if missing.",
)
WEIGHTS = click.option(
    "--weights",
    type=FILE,
    required=True,
    metavar="FILE.tsv",
    help="Columns language and n (lines of text, or any other weight).",
)
ALPHA = click.option(
    "--alpha", type=float, default=0.7, show_default=True, help="Q_i = n_i^alpha / sum (Equation 3)."
)
BETA = click.option(
    "--beta", type=float, default=0.7, show_default=True, help="Weight of a language: q_i^beta (Equation 2)."
)
PER = click.option(
    "--per",
    type=click.Choice(["line", "character"]),
    default="line",
    show_default=True,
    help="Unit of a nat: a line of each language, or a character, as lines differ in length.",
)
WITHOUT = click.option("--without", default="", metavar="LANG,LANG", help="Languages to leave out.")
COVERED = options.coverage(COVERAGE, "Share of the multilingual sample's characters that must be pieces.")
THREADS = click.option(
    "--threads",
    type=options.THREADS,
    default=1,
    show_default=True,
    help="Languages at a time, of rule pieces; the results do not depend on it.",
)


@click.command()
@VOCABULARIES
@WEIGHTS
@click.option(
    "--total",
    "totals",
    type=int,
    required=True,
    multiple=True,
    metavar="T",
    help="Rows of the tokenizer, 5 special tokens included; may be repeated, then -o must hold {total}.",
)
@ALPHA
@BETA
@PER
@click.option(
    "--fairness",
    type=float,
    default=0.0,
    show_default=True,
    help="A nat counts (ALP / best ALP of the language)^FAIRNESS as much: 0 is Equation 2, 50 nearly max-min.",
)
@click.option(
    "--rule",
    type=click.Choice(list(RULES)),
    default="paper",
    show_default=True,
    help="Rule of choice. " + "; ".join(f"{rule.name}: {rule.description}" for rule in RULES.values()) + ".",
)
@click.option("--corpora", type=FILE, metavar="DIR", help="Holds LANG/train.txt: rule pieces reads it.")
@click.option(
    "--trunk", type=FILE, metavar="FILE", help="Of rule pieces: what vocap trunk has made, to be used again."
)
@THREADS
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
@COVERED
@WITHOUT
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="OUT",
    help="Folder to write; {total} stands for T.",
)
def allocate(vocabularies, weights, totals, without, coverage, corpora, trunk, threads, output, **settings):
    """Share out a vocabulary of T among languages (Algorithm 1, or another rule).

    Writes OUT/allocation.tsv (the size of each language), OUT/vocabulary.tsv (the T - 5 merged pieces) and
    OUT/summary.json, and says how far the choice is from a bound that no union of whole lists can pass. Rule
    pieces also writes OUT/vocabularies, each language's model on the pieces it holds, as vocap fit reads them.
    """
    import logging

    from vocap.allocation.inputs import gather
    from vocap.allocation.results import describe, write_allocation
    from vocap.corpora.weights import read_weights
    from vocap.errors import UsageError

    entries = [_settings(total=total, without=without, **settings) for total in dict.fromkeys(totals)]
    if len(entries) > 1 and "{total}" not in str(output):
        raise UsageError(
            f"-o {output}: put {{total}} where T stands in the path: it is the folder of several totals"
        )
    needs_text = RULES[settings["rule"]].needs_text
    if needs_text and corpora is None:
        raise UsageError(f"--rule {settings['rule']} reads the languages' text; add --corpora DIR")
    if not needs_text and (corpora or trunk):
        raise UsageError(f"--rule {settings['rule']} reads no text; leave out --corpora and --trunk")
    inputs = gather(vocabularies, read_weights(weights), entries[0].without)
    if needs_text:
        solve = _by_text(inputs, corpora, trunk, coverage, Path(str(output)), threads)
    else:
        solve = _by_curves(inputs, vocabularies, coverage)
    for entry in entries:
        folder = Path(str(output).replace("{total}", str(entry.total)))
        solution, models = solve(entry)
        for warning in solution.warnings:
            logging.getLogger(__name__).warning("warning: %s", warning)
        write_allocation(folder, inputs, entry, coverage, solution, models)
        for line in describe(entry, solution):
            click.echo(line)


@click.command()
@VOCABULARIES
@WEIGHTS
@click.option("--corpora", type=FILE, required=True, metavar="DIR", help="Holds LANG/train.txt.")
@ALPHA
@BETA
@PER
@COVERED
@WITHOUT
@THREADS
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write."
)
def trunk(vocabularies, weights, corpora, coverage, without, threads, output, **settings):
    """Descend from all pieces of all languages to the characters: what every T of rule pieces begins with.

    OUTPUT is for vocap allocate --rule pieces --trunk OUTPUT.
    """
    from vocap.allocation import SPECIALS
    from vocap.allocation.inputs import gather
    from vocap.allocation.pieces.rule import Source, make_trunk, weights_of
    from vocap.allocation.pieces.trunk_file import write_trunk
    from vocap.corpora.weights import read_weights

    entry = _settings(total=SPECIALS + 1, rule="pieces", without=without, **settings)
    inputs = gather(vocabularies, read_weights(weights), entry.without)
    grown = make_trunk(Source(inputs, corpora, coverage, output, threads), entry)
    write_trunk(output, grown, weights_of(inputs, entry))


def _settings(without: str, **settings):
    """The checked settings; raises UsageError for what cannot be used."""
    from pydantic import ValidationError

    from vocap.allocation.settings import Allocation
    from vocap.errors import UsageError

    codes = [code.strip() for code in without.split(",") if code.strip()]
    try:
        return Allocation(**settings, without=codes)
    except ValidationError as error:
        detail = error.errors()[0]
        if not detail["loc"]:
            raise UsageError(detail["msg"].removeprefix("Value error, ")) from None
        raise UsageError(f"--{detail['loc'][0]} {detail['input']}: {detail['msg'].lower()}") from None


def _by_curves(inputs, vocabularies: Path, coverage: float) -> Callable:
    """The solution of settings whose rule chooses sizes."""
    from vocap.allocation.solution import solve
    from vocap.vocabularies.model_file import read_pieces

    def scores(language: str, size: int) -> dict[str, float]:
        model = read_pieces(vocabularies / language / "models" / f"{size}.model")
        return dict(zip(model.pieces, model.scores.tolist(), strict=True))

    return lambda settings: (solve(inputs, settings, scores, coverage), None)


def _by_text(inputs, corpora: Path, file: Path | None, coverage: float, output: Path, threads: int) -> Callable:
    """The solution of settings whose rule reads text; all T share one trunk."""
    from vocap.allocation.pieces.rule import Source, make_trunk, solve, weights_of
    from vocap.allocation.pieces.trunk_file import read_trunk

    source = Source(inputs, corpora, coverage, output, threads)
    held = []

    def solve_one(settings):
        if not held:
            weights = weights_of(inputs, settings)
            held.append(read_trunk(file, weights) if file else make_trunk(source, settings))
        return solve(source, settings, held[0])

    return solve_one
