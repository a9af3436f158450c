"""`vocap allocate`, and `vocap trunk`, the part of rule pieces that all T share.

Imports inside functions are of numba's kernels, which rules of sizes do not need.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import get_args

import click
from pydantic import ValidationError

from vocap import options
from vocap.allocation import solution
from vocap.allocation.inputs import gather
from vocap.allocation.rules import RULES
from vocap.allocation.settings import Allocation, rows_beside_pieces
from vocap.errors import UsageError, log
from vocap.tables.sampling_probabilities import read_weights
from vocap.text_files.named_texts import read_development
from vocap.tokenizer_files import SPECIALS
from vocap.unigram.text_settings import COVERAGE

FILE = click.Path(path_type=Path)


def _setting(name: str) -> Callable:
    """The option of a field of `Allocation`, with its values, default and
    description.
    """
    field = Allocation.model_fields[name]
    description = field.description or ""
    # of a Literal; the types of one that may be None
    values = get_args(field.annotation) or [field.annotation]
    return click.option(
        f"--{name.replace('_', '-')}",
        type=values[0] if isinstance(values[0], type) else click.Choice(values),
        default=field.default,
        help=f"{description[0].upper()}{description[1:]}.",
    )


def _shared(command: Callable) -> Callable:
    """The options of both commands."""
    decorators: tuple[Callable[[Callable], Callable], ...] = (
        # files
        click.option(
            "--vocabularies",
            type=FILE,
            required=True,
            metavar="DIR",
            help="Holds LANG/curve.tsv, characters.tsv, models/SIZE.model; LANG/pieces.npz, an "
            "index, is made if "
            "missing.",
        ),
        click.option(
            "--weights",
            type=FILE,
            required=True,
            metavar="FILE.tsv",
            help="Columns language and n (lines of text, or any other weight).",
        ),
        click.option(
            "--corpora",
            type=FILE,
            metavar="DIR",
            help="Holds LANG/train.txt: rule pieces reads it.",
        ),
        # settings
        *map(_setting, ("alpha", "beta", "per")),
        options.coverage(
            COVERAGE, "Share of the multilingual sample's characters that must be pieces."
        ),
        click.option(
            "--without",
            default="",
            metavar="LANG,LANG",
            show_default=False,
            help="Languages to leave out.",
        ),
        options.threads("Languages at a time, of rule pieces; the results do not depend on it."),
        options.text_options,
    )
    # as if written above the command one by one: --help shows this order
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@click.command()
@_shared
@click.option(
    "--total",
    "totals",
    type=int,
    required=True,
    multiple=True,
    metavar="T",
    help="Rows of the tokenizer, special tokens included; may be repeated, then -o must hold "
    "{total}.",
)
@_setting("rule")
@_setting("fairness")
@click.option(
    "--trunk",
    type=FILE,
    metavar="FILE",
    help="Of rule pieces: the file of vocap trunk, used again.",
)
@_setting("core")
@_setting("token_fairness")
@click.option(
    "--development",
    metavar="PATTERN",
    help="Parallel text for --token-fairness: aligned files with {lang}.",
)
@click.option(
    "--other-rows",
    type=click.IntRange(0),
    help="Rows of T that byte fallback and symbols take; without it those of the text options.",
)
@_setting("special_tokens")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="OUT",
    help="Folder to write; {total} stands for T.",
)
def allocate(
    vocabularies,
    weights,
    corpora,
    coverage,
    without,
    threads,
    settings,
    totals,
    trunk,
    output,
    **fields,
):
    """Allocate a vocabulary of T to languages (Algorithm 1, or another rule).

    Writes OUT/allocation.tsv (the size of each language), OUT/vocabulary.tsv (the
    merged pieces) and OUT/summary.json, and prints the optimality gap: the distance
    from a bound on all unions of whole lists. Rule pieces also writes OUT/vocabularies,
    each language's model on the pieces it holds, as vocap fit reads them.
    """
    if fields["other_rows"] is None:
        fields["other_rows"] = rows_beside_pieces(settings, fields["rule"])
    development = fields.pop("development")
    entries = [_entry(total=total, without=without, **fields) for total in dict.fromkeys(totals)]
    folders = options.folders(output, totals)
    rule = RULES[fields["rule"]]
    if rule.needs_text and corpora is None:
        raise UsageError(f"--rule {rule.name} reads the languages' text; add --corpora DIR")
    if not rule.needs_text and (corpora or trunk):
        raise UsageError(f"--rule {rule.name} reads no text; leave out --corpora and --trunk")
    if bool(fields["token_fairness"]) != bool(development):
        raise UsageError(
            "--token-fairness follows the parallel text of --development PATTERN; give both, or "
            "none"
        )
    # the solver of the rule, for all totals
    inputs = gather(vocabularies, read_weights(weights), entries[0].without)
    if rule.needs_text:
        from vocap.allocation.pieces import Source

        parallel = (
            read_development(development, [entry.language for entry in inputs.languages])
            if development
            else {}
        )
        source = Source(inputs, corpora, coverage, Path(str(output)), threads, settings, parallel)
        module, function = rule.solver.split(":")
        solve = getattr(import_module(module), function)(source, trunk)
    else:
        solve = solution.solver(inputs, vocabularies, coverage)
    for entry in entries:
        found, models = solve(entry)
        for warning in found.warnings:
            log.warning("warning: %s", warning)
        solution.write_allocation(folders[entry.total], inputs, entry, coverage, found, models)
        for line in solution.describe(entry, found):
            click.echo(line)


@click.command()
@_shared
@click.option(
    "--largest",
    type=click.IntRange(min=1),
    default=500_000,
    help="The largest T that it is for: more tokens of byte-pair encoding take longer.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write.",
)
def trunk(
    vocabularies, weights, corpora, coverage, without, threads, settings, largest, output, **fields
):
    """Descend from all pieces of all languages to the characters: the part of rule
    pieces that all T share.

    OUTPUT is for vocap allocate --rule pieces --trunk OUTPUT.
    """
    from vocap.allocation.pieces import Source, make_trunk, weights_of, write_trunk

    if corpora is None:
        raise UsageError("a trunk is made from the languages' text; add --corpora DIR")
    entry = _entry(total=SPECIALS + 1, rule="pieces", without=without, **fields)
    inputs = gather(vocabularies, read_weights(weights), entry.without)
    grown = make_trunk(
        Source(inputs, corpora, coverage, output, threads, settings), entry, largest=largest
    )
    write_trunk(output, grown, weights_of(inputs, entry))


def _entry(without: str, **fields):
    """The checked settings; raises UsageError for invalid ones."""
    codes = [code.strip() for code in without.split(",") if code.strip()]
    try:
        return Allocation(**fields, without=codes)
    except ValidationError as error:
        detail = error.errors()[0]
        if not detail["loc"]:
            raise UsageError(detail["msg"].removeprefix("Value error, ")) from None
        raise UsageError(
            f"--{detail['loc'][0]} {detail['input']}: {detail['msg'].lower()}"
        ) from None
