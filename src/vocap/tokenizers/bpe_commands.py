"""`vocap bpe`: tokenizers of byte-pair encoding for many languages.

Imports inside functions are of numpy, numba and `tokenizers`, which `vocap --help` does not need.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

import click

from vocap import options
from vocap.bpe import SPLITS, UNITS
from vocap.errors import UsageError
from vocap.options import text_options
from vocap.progress import Steps
from vocap.unigram import COVERAGE

logger = logging.getLogger(__name__)
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.option("--corpora", required=True, type=FOLDER, help="Folder with {language}/train.txt.")
@click.option("--weights", required=True, type=PATH, help="Table with the columns language, n.")
@options.totals
@click.option(
    "--alpha", default=0.7, show_default=True, type=options.Real(0, 10), help="Share of a language (Equation 3)."
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    default=UNITS[0],
    show_default=True,
    help="Symbols before any merge.",
)
@click.option(
    "--split", type=click.Choice(SPLITS), default=SPLITS[0], show_default=True, help="Where text is cut before."
)
@options.coverage(COVERAGE, "Unit characters: share of each language's characters that must be pieces.")
@click.option("--development", metavar="PATTERN", help="Parallel text for fairness and parity: files with {lang}.")
@click.option(
    "--fairness",
    default=0.0,
    show_default=True,
    type=options.Real(0, 16),
    help="Multiply weights by (tokens on parallel text / mean) to this power, and train again.",
)
@click.option(
    "--rounds", default=2, show_default=True, type=click.IntRange(1, 20), help="Trainings with such weights."
)
@click.option("--parity", is_flag=True, help="Each merge is for the language with the longest parallel text.")
@click.option(
    "--from",
    "first",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Weighted merges of all languages before those of --parity.",
)
@click.option(
    "--window",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Of --parity: no language has more than twice its share of the last N merges.",
)
@text_options
@options.id_layout
@click.option(
    "--curve",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Table to write, for vocap size: tokens and ALP of held-out text at eight T up to the largest.",
)
@click.option("-o", "--output", "out", required=True, type=FOLDER, help="Folder to write.")
def bpe(corpora, weights, totals, alpha, coverage, development, parity, first, curve, out, **settings) -> None:
    """Train byte-pair encoding on the text of all languages, every T at once.

    Pairs are counted over the words of all training lines, each line as often as its language weighs: no sample
    is drawn. Writes tokenizer.json (T ids), tokenizer_config.json, pieces.tsv and description.json. Where the text
    does not hold T pieces the tokenizer stays short, with a warning. {total} in -o stands for T.
    """
    fairness = settings["fairness"]
    folders = options.folders(out, totals)
    if first and not parity:
        raise UsageError("--from counts the merges before those of --parity; give both, or leave it out")
    if settings["window"] and not parity:
        raise UsageError("--window is of the merges of --parity; give both, or leave it out")
    if first > min(totals):
        raise UsageError(f"--from {first}: more merges than T = {min(totals)}; take fewer")
    if parity and fairness:
        raise UsageError("--parity and --fairness are two uses of parallel text; give one of them")
    if (parity or fairness) and development is None:
        raise UsageError("--parity and --fairness follow parallel text; give --development PATTERN")
    if fairness and len(set(totals)) > 1:
        raise UsageError("--fairness depends on T: give one --total, and run the command for each")
    from vocap.tables.sampling_probabilities import read_weights
    from vocap.text_files.named_texts import read_aligned
    from vocap.unigram.kernels import one_compiler

    with one_compiler():
        from vocap.bpe.multilingual import read_languages
    from vocap.bpe.tokenizer_json import Rows
    from vocap.bpe.words import Pretokenization
    from vocap.tokenizers.multilingual_text import whole_text

    # the words of all languages
    how = Pretokenization(settings["unit"], settings["split"], settings["settings"])
    rows = Rows(how, settings["layout"])
    n = {code: count for code, count in read_weights(weights).items() if count}
    text = whole_text(corpora, n, alpha)
    parallel = read_aligned(development, list(n)) if parity or fairness else {}
    paths = {part.path.parent.name: part.path for part in text.parts}
    languages = read_languages(paths, [part.weight for part in text.parts], how, parallel)
    # one training, and a folder for each T
    facts = {
        "alpha": alpha,
        "unit": how.unit,
        "split": how.split,
        **({"coverage": coverage} if how.unit == "characters" else {}),
        **({"from": first} if parity else {}),
        **({"window": settings["window"]} if settings["window"] else {}),
        **({"fairness": fairness, "rounds": settings["rounds"]} if fairness else {}),
        **how.settings.changed(),
    }
    alphabet, merges, weighed = _train(languages, rows, totals, coverage, parity, first, settings)
    if curve:
        _write_curve(curve, corpora, languages, alphabet, merges, rows, max(totals))
    description = {"kind": "parity-bpe" if parity else "bpe", "settings": facts, "text": text.facts, **weighed}
    for total, folder in folders.items():
        _write(folder, alphabet, merges, rows, total, description)


def _train(languages, rows, totals, coverage: float, parity: bool, first: int, settings) -> tuple:
    """The alphabet, the merges of the largest T, and the factors of the weights, for the description."""
    from vocap.bpe.multilingual import common_alphabet, train_fair, train_parity, train_weighted
    from vocap.bpe.training import MERGES

    how = rows.how
    alphabet = common_alphabet(languages, how.unit, coverage, how.settings.required_chars)
    sizes = [rows.tokens(total, alphabet) for total in totals]
    base, wanted = len(alphabet.names), max(sizes)
    rounds = 1 + settings["rounds"] * bool(settings["fairness"]) + bool(parity and first)
    weighed: Mapping = {}
    with Steps("merges", max(1, rounds * wanted // MERGES)) as steps:
        progress = {"progress": lambda _: steps.advance()}
        if parity:
            given = None
            if first:
                most = min(base + first, wanted)
                given = train_weighted(languages, alphabet, most, rows.reserved, **progress)[:first]
                if len(given) >= wanted - base:
                    logger.warning("--from %d: all merges that T holds are weighted; none follows parity", first)
            merges = train_parity(
                languages, alphabet, wanted, rows.reserved, given, settings["window"], **progress
            )
        else:
            merges, weights = train_fair(
                languages, alphabet, wanted, rows.reserved, settings["fairness"], settings["rounds"], **progress
            )
            if settings["fairness"]:
                weighed = {"weights": {one.code: weight for one, weight in zip(languages, weights, strict=True)}}
    return alphabet, merges, weighed


def _write_curve(curve: Path, corpora: Path, languages, alphabet, merges, rows, largest: int) -> None:
    """The table of `vocap size`: each language's heldout.txt at the T that the text gives."""
    import numpy as np

    from vocap.bpe.training import count_tokens, merges_for, token_names
    from vocap.bpe.words import count_words
    from vocap.tables.size_table import Measured, points_below, write_sizes
    from vocap.text_files.lines import read_lines
    from vocap.unigram.alp import average_log_probability
    from vocap.unigram.training_text import Borders

    most, ranks = len(rows.ids(token_names(alphabet, merges))), {}
    for total in sorted({min(total, most) for total in points_below(largest)}):
        with suppress(UsageError):  # below the alphabet
            ranks[total] = len(merges_for(merges, rows.tokens(total, alphabet, exact=False), len(alphabet.names)))
    added, apart, words, texts = Borders([*rows.controls, *rows.symbols, *rows.last]).pattern, [], [], {}
    for path in (corpora / one.code / "heldout.txt" for one in languages):
        if lines := [line for line in read_lines(path) if line] if path.is_file() else []:
            parts = [part for line in lines for part in added.split(line) if part]
            apart.append(Counter(chain.from_iterable(map(added.findall, lines))))  # each one a token
            words.append(count_words([lambda parts=parts: iter([parts])], rows.how))
            texts[path.parent.name] = len(lines), sum(len(line.encode("utf-8")) for line in lines)
    measured = []
    for total, found in zip(ranks, count_tokens(alphabet, words, 0, merges, [*ranks.values()]), strict=True):
        for (code, (lines, size)), others, counts in zip(texts.items(), apart, found, strict=True):
            counts = np.append(counts, np.array([*others.values()], np.int64))
            alp = average_log_probability(counts, lines)
            measured.append(Measured(total, code, lines, size, int(counts.sum()), alp))
    write_sizes(curve, measured)


def _write(out: Path, alphabet, merges, rows, total: int, description: Mapping) -> None:
    """The folder of a tokenizer of `total` ids, or of as many as the text gives."""
    from vocap.bpe.tokenizer_json import write_tokenizer
    from vocap.bpe.training import merges_for
    from vocap.tokenizers.multilingual_text import warn_if_short

    tokens = rows.tokens(total, alphabet)
    ids = write_tokenizer(out, alphabet, merges_for(merges, tokens, len(alphabet.names)), rows, description, total)
    warn_if_short(out, total, ids)
    click.echo(f"{out}: T = {ids}", err=True)
