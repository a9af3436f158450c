"""`vocap extend`: a language added to a finished tokenizer, and to its model."""

import logging
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError
from vocap.unigram import COVERAGE

logger = logging.getLogger(__name__)
PATH = click.Path(path_type=Path)
SHARE = 0.01  # docs/adapting.md compares other shares
OMP = "omp"
INITS = ("mean", OMP)
ATOMS = 64  # of a new row: as in mergekit-tokensurgeon


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option("--language", required=True, type=options.Code(), metavar="CODE", help="The language to add.")
@click.option("--text", "--train", "text", type=PATH, help="Its training text [default: train.txt of --corpora]")
@click.option("--heldout", type=PATH, help="Its held-out text [default: heldout.txt of --corpora]")
@click.option(
    "--pieces",
    metavar="N",
    help="Number of new pieces; FIRST:LAST:STEP or a list with commas: a table of their effect, and no tokenizer.",
)
@click.option("--total", type=click.IntRange(1), metavar="T", help="Or: number of ids of the result.")
@click.option(
    "--multiple-of",
    "multiple",
    default=1,
    show_default=True,
    type=click.IntRange(1, 1 << 20),
    metavar="N",
    help="Add pieces until the number of ids is a multiple.",
)
@click.option(
    "--corpora",
    type=PATH,
    help="Folder with {language}/heldout.txt, to measure changes for the languages already served "
    "[default: the corpora of the run that made TOKENIZER]",
)
@click.option(
    "--languages", metavar="CODES", help="Languages to measure, comma-separated; all of --corpora unless given."
)
@click.option(
    "--check", "checks", multiple=True, metavar="LANG=FILE", help="Other text to measure; may be repeated."
)
@click.option("--share", default=SHARE, show_default=True, help="Assumed share of the tokens, for the scores.")
@options.coverage(COVERAGE, "Share of its characters that are pieces.")
@click.option("--model", "model_folder", type=PATH, help="Its Hugging Face model, to be extended too.")
@click.option(
    "--init",
    type=click.Choice(INITS),
    help="Rows of new pieces: the mean of the rows of their old pieces, or a sparse combination of rows, after "
    f"neighbours in the text.  [default: {INITS[0]}]",
)
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def extend(
    tokenizer,
    language,
    text,
    heldout,
    pieces,
    total,
    multiple,
    corpora,
    languages,
    checks,
    share,
    coverage,
    model_folder,
    init,
    out,
) -> None:
    """Add a language to a finished tokenizer; all old ids stay.

    TOKENIZER is results/tokenizers/NAME, XLM-R's folder, or a tokenizer.json of byte-pair encoding, whose merges
    are followed by those of the new language. Only this one is trained; its new pieces get the ids after all
    others. Writes a tokenizer's folder, ids.tsv, additions.tsv, comparison.tsv (changes for every language
    measured) and, with --model, model/. With several numbers in --pieces, it prints and writes sweep.tsv alone, a
    row a number: tokens saved, lines of the other languages that change, pieces never used, rows and memory.
    """
    if (pieces is None) == (total is None):
        raise UsageError("give --pieces or --total, exactly one of them")
    from vocap.tables.curve import parse_option

    counts = [] if pieces is None else parse_option("--pieces", pieces, "1500, 500:20000:500 or 500,1000", least=1)
    if init is not None and (model_folder is None or len(counts) > 1):
        raise UsageError(f"--init {init}: rows are made for one number of pieces, with --model FOLDER; give both")
    if not 0 < share <= 1:
        raise UsageError(f"--share {share}: give a share above 0, and at most 1")
    from vocap.adapt.folder import in_order, load_source
    from vocap.bpe.model_file import is_bpe
    from vocap.text_files.named_texts import check_file, find_texts, parse_languages

    if pairs := is_bpe(tokenizer):
        from vocap.adapt.pair_files import load_pairs

        if share != SHARE:
            raise UsageError(f"--share {share}: byte-pair encoding has no scores; leave it out")
        source = load_pairs(tokenizer)
    else:
        source = in_order(load_source(tokenizer))
    if total is not None:
        counts = [total - source.total]
        if counts[0] < 1:
            raise UsageError(f"--total {total}: {tokenizer} has {source.total} ids already; give a larger total")
    from vocap.adapt.sweep import round_up

    counts = sorted({round_up(source.total, count, multiple) for count in counts})
    corpora = corpora or source.corpora
    own = {"train": text, "heldout": heldout}
    for part, path in own.items():
        named = corpora / language / f"{part}.txt" if corpora is not None else None
        own[part] = path or (named if named is not None and named.is_file() else None)
        if own[part] is not None:
            check_file(own[part])
    if own["train"] is None:
        raise UsageError(f"no text of {language}: give --text FILE, or --corpora with {language}/train.txt")
    others = {}
    if corpora is not None or checks:
        others = find_texts(checks, corpora, parse_languages(languages), ["heldout"])
        others.pop(language, None)
    model = None
    if model_folder is not None:
        from vocap.adapt import model_rows

        model_rows.check_ids(model_folder, source.ids)
        model = model_rows.load_model(model_folder)
        model_rows.check_rows(model, source.total - 1)
    settings = {"language": language, "pieces": counts[-1], "share": share, "coverage": coverage}
    if pairs:
        del settings["share"]
    if multiple > 1:
        settings["multiple_of"] = multiple
    if len(counts) > 1:
        from vocap.adapt.sweep_command import PieceLadder, sweep

        ladder = _pair_ladder(source, own, settings) if pairs else PieceLadder(source, own["train"], settings)
        lines = sweep(source, ladder, own, others, settings, counts, model, out)
    else:
        lines = (_extend_pairs if pairs else _extend)(source, own, others, settings, model, init or INITS[0], out)
    for line in lines:
        click.echo(line)


def _pair_ladder(source, own, settings):
    from vocap.unigram.kernels import one_compiler

    with one_compiler():
        from vocap.adapt.pair_extend import PairLadder

    return PairLadder(source, own["train"], settings["coverage"])


def _extend_pairs(source, own, others, settings, model, init: str, out: Path) -> list[str]:
    """Train, build, compare, write, of byte-pair encoding. Returns the lines to print."""
    ladder = _pair_ladder(source, own, settings)
    from vocap.adapt.pair_extend import origins_of, write_extended

    ladder.train([settings["pieces"]])
    count = _reachable(source, own["train"], settings, len(ladder.added))
    after = ladder.extended(count)
    origins = origins_of(source, ladder.added.first(count)[0])
    checks, alps = _measure(source.encoder, after, own, others, settings["language"])
    more = _fill_rows(source, after, own, origins, model, init)
    write_extended(
        out, source, after, ladder.added, count, own["train"], settings, checks, alps, origins, model, **more
    )
    return _summary(source, settings, f"merges of {settings['language']}", count, checks, alps, out)


def _fill_rows(source, after, own, origins, model, init: str) -> dict[str, str]:
    """Make the new rows of a model's tables, if there is one, from those of `origins`; the fact to record."""
    if model is None:
        return {}
    from vocap.adapt.model_rows import replace_rows

    sums = _sparse_sums(source.encoder, after, own["train"]) if init == OMP else None
    replace_rows(model, [*([number] for number in range(source.total)), *origins], sums)
    return {"rows": init}


def _extend(source, own, others, settings, model, init: str, out: Path) -> list[str]:
    """Choose, score, build, compare, write. Returns the lines to print."""
    from sentencepiece import SentencePieceProcessor

    from vocap.adapt import extending
    from vocap.adapt.folder import write_adapted
    from vocap.adapt.language_text import read_words
    from vocap.tokenizer_files.encoders import SentencePieceEncoder
    from vocap.tokenizer_files.layout import serialize

    count, symbols = settings["pieces"], source.contents.symbols
    words = read_words(source, own["train"], settings["coverage"])
    models = extending.choose_models(words, source.ids, symbols, [count], settings["coverage"])
    size, own_scores = models[count]
    available = extending.additions(own_scores, source.ids, symbols)
    if not available:
        raise VocapError(
            f"{own['train']}: every piece of its vocabulary is in the tokenizer already; nothing to add"
        )
    new = extending.clip(available, _reachable(source, own["train"], settings, len(available)))
    scores = extending.score_additions(source.contents, new, settings["share"])
    proto = extending.append(source.proto, scores)
    after = SentencePieceEncoder(SentencePieceProcessor(model_proto=serialize(proto)))
    origins = extending.find_origins(source.proto, [entry.piece for entry in proto.pieces[source.total :]])
    checks, alps = _measure(source.encoder, after, own, others, settings["language"])
    more = _fill_rows(source, after, own, origins, model, init)
    owners = source.owners()
    for piece in own_scores.keys() & {entry.piece for entry in proto.pieces}:
        owners[piece] = sorted({*owners.get(piece, ()), settings["language"]})
    names = source.encoder.pieces
    added = [
        (entry.piece, source.total + place, entry.score, new[entry.piece], " ".join(names[old] for old in origin))
        for place, (entry, origin) in enumerate(zip(proto.pieces[source.total :], origins, strict=True))
    ]
    ids = [(number, number, entry.piece, "old") for number, entry in enumerate(proto.pieces[: source.total])]
    ids += [(None, number, piece, "new") for piece, number, *_ in added]
    write_adapted(
        out,
        source.layout,
        "extended",
        proto,
        settings,
        ids,
        checks,
        owners,
        f"old pieces as they were; new ones log({settings['share']} p(x)), p of the model of {size} ids that the "
        "language's text gives, not below the lowest old score, and raised above their best split",
        model,
        additions=added,
        rounding="old scores as they were, new ones to multiples of 2^-10",
        total_before=source.total,
        added=len(new),
        size=size,
        language_alp=alps,
        **more,
    )
    origin = f"a model of {size:,} of {settings['language']}"
    return _summary(source, settings, origin, len(new), checks, alps, out)


def _reachable(source, path: Path, settings, available: int) -> int:
    """The number of pieces to add, of so many that the text gives."""
    from vocap.adapt.sweep import round_down

    wanted, multiple = settings["pieces"], settings.get("multiple_of", 1)
    if available >= wanted:
        return wanted
    count = round_down(source.total, available, multiple)
    if not count:
        raise VocapError(
            f"{path}: it gives {available} new pieces, too few for a multiple of {multiple} ids; give more text"
        )
    logger.warning("%s: too little text for %d new pieces: %d", path, wanted, count)
    return count


def _sparse_sums(before, after, path: Path):
    """For each new id with a vector, the old ids and the factors of its row."""
    from vocap.adapt.contexts import context_vectors, segment
    from vocap.adapt.pursuit import orthogonal_matching_pursuit
    from vocap.text_files.named_texts import read_sentences

    segmented = []
    for side in (before, after):
        ids = {piece: number for number, piece in enumerate(side.pieces)}
        segmented.append(segment(side.split_batch, ids, read_sentences(path)))
    anchors, atoms, wanted, targets = context_vectors(*segmented, before.size, after.size)
    if not len(anchors):
        logger.warning("%s: no old piece is frequent enough in it; all new rows are means", path)
        return {}
    logger.info("%s: %d of %d new rows as sums of %d old ones, the others as means", path, len(wanted),
                after.size - before.size, len(anchors))  # fmt: skip
    chosen, factors = orthogonal_matching_pursuit(targets, atoms, ATOMS)
    rows = zip(wanted.tolist(), anchors[chosen].tolist(), factors.tolist(), strict=True)
    return {number: (ids, weights) for number, ids, weights in rows}


def _measure(before, after, own, others, language: str) -> tuple[dict, dict]:
    """Every text under both tokenizers, and the new language's ALP under both by part."""
    from vocap.adapt.folder import compare_texts
    from vocap.text_files.named_texts import read_sentences
    from vocap.unigram.alp import corpus_alp

    same = {number: number for number in range(before.size)}
    texts = {language: {part: path for part, path in own.items() if path is not None}, **others}
    checks = compare_texts(before, after, same, texts)
    alps = {}
    for part, path in texts[language].items():
        found = [corpus_alp(side, read_sentences(path)) for side in (before, after)]
        if found[0] is not None:
            alps[part] = {"before": found[0].alp, "after": found[1].alp}
    return checks, alps


def _summary(source, settings, origin: str, added: int, checks, alps, out: Path) -> list[str]:
    """The summary: pieces added, where from, their effect on the language and on the others."""
    language = settings["language"]
    total = source.total + added
    shown = [f"{out}: {source.total:,} + {added:,} = {total:,} ids, from {origin}"]
    for part, alp in alps.items():
        found = checks[language, part]
        tokens = found.tokens_before / found.lines, found.tokens_after / found.lines
        shown.append(
            f"{language} {part}: {tokens[0]:.2f} to {tokens[1]:.2f} tokens a line, ALP {alp['before']:.2f} to "
            f"{alp['after']:.2f}"
        )
    others = {code: found for (code, _), found in checks.items() if code != language and found.lines}
    if not others:
        return [*shown, "no text of other languages was given: changes for them are not measured"]
    lines = sum(found.lines for found in others.values())
    changed = lines - sum(found.identical for found in others.values())
    before, after = (
        sum(getattr(found, name) for found in others.values()) for name in ("tokens_before", "tokens_after")
    )
    moved = 100 * (after - before) / before if before else 0.0
    shown.append(
        f"{len(others)} other languages: {changed:,} of {lines:,} lines segmented differently "
        f"({100 * changed / lines:.2f} %), tokens {moved:+.3f} %; the most:"
    )
    worst = sorted(others.items(), key=lambda pair: (pair[1].identical / pair[1].lines, pair[0]))
    for code, found in worst[:5]:
        if found.identical < found.lines:
            share = 100 * (found.lines - found.identical) / found.lines
            shown += [f"  {code}: {share:.2f} % of its lines", *(f"    {one}" for one in found.examples[:1])]
    return shown
