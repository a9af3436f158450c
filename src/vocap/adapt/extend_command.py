"""`vocap extend`: a language added to a finished tokenizer, and to its model."""

import logging
from dataclasses import replace
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError
from vocap.unigram import COVERAGE

logger = logging.getLogger(__name__)
PATH = click.Path(path_type=Path)
SHARE = 0.01  # docs/adapting.md compares other shares


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option("--language", required=True, type=options.Code(), metavar="CODE", help="The language to add.")
@click.option("--text", "--train", "text", type=PATH, help="Its training text [default: train.txt of --corpora]")
@click.option("--heldout", type=PATH, help="Its held-out text [default: heldout.txt of --corpora]")
@click.option("--pieces", "count", type=click.IntRange(1), metavar="N", help="Number of new pieces.")
@click.option("--total", type=click.IntRange(1), metavar="T", help="Or: number of ids of the result.")
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
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def extend(
    tokenizer,
    language,
    text,
    heldout,
    count,
    total,
    corpora,
    languages,
    checks,
    share,
    coverage,
    model_folder,
    out,
) -> None:
    """Add a language to a finished tokenizer; all old ids stay.

    TOKENIZER is results/tokenizers/NAME. Only the new language's ladder runs; its new pieces get the ids after
    <mask>. Writes a tokenizer's folder, ids.tsv, additions.tsv, comparison.tsv (what changed for every language
    measured) and, with --model, model/, whose new rows are the means of the old rows of their pieces.
    """
    if (count is None) == (total is None):
        raise UsageError("give --pieces or --total, exactly one of them")
    if not 0 < share <= 1:
        raise UsageError(f"--share {share}: give a share above 0, and at most 1")
    from vocap.adapt.folder import in_order, load_source
    from vocap.text_files.named_texts import check_file, find_texts, parse_languages

    source = in_order(load_source(tokenizer))
    if total is not None:
        count = total - source.total
        if count < 1:
            raise UsageError(f"--total {total}: {tokenizer} has {source.total} ids already; give a larger total")
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
    settings = {"language": language, "pieces": count, "share": share, "coverage": coverage}
    for line in _extend(source, own, others, settings, model, out):
        click.echo(line)


def _extend(source, own, others, settings, model, out: Path) -> list[str]:
    """Choose, score, build, compare, write. Returns the lines to print."""
    from sentencepiece import SentencePieceProcessor

    from vocap.adapt import extending
    from vocap.adapt.folder import write_adapted
    from vocap.tokenizer_files.encoders import SentencePieceEncoder
    from vocap.tokenizer_files.layout import serialize

    size, own_scores = _train(source, own["train"], settings)
    available = extending.additions(own_scores, source.ids, source.contents.symbols)
    if not available:
        raise VocapError(
            f"{own['train']}: every piece of its vocabulary is in the tokenizer already; nothing to add"
        )
    new = extending.clip(available, settings["pieces"])
    if len(new) < settings["pieces"]:
        logger.warning("%s: too little text for %d new pieces: %d", own["train"], settings["pieces"], len(new))
    scores = extending.score_additions(source.contents, new, settings["share"])
    proto = extending.append(source.proto, scores)
    after = SentencePieceEncoder(SentencePieceProcessor(model_proto=serialize(proto)))
    origins = extending.find_origins(source.proto, [entry.piece for entry in proto.pieces[source.total :]])
    checks, alps = _measure(source.encoder, after, own, others, settings["language"])
    if model is not None:
        from vocap.adapt.model_rows import replace_rows

        replace_rows(model, [*([number] for number in range(source.total)), *origins])
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
    )
    return _summary(source, settings, size, len(new), checks, alps, out)


def _train(source, path: Path, settings) -> tuple[int, dict[str, float]]:
    """The size of the language's model, and its pieces with their scores."""
    from vocap.adapt import extending
    from vocap.text_files.lines import read_blocks
    from vocap.unigram.kernels import one_compiler

    with one_compiler():
        from vocap.unigram.word_types import load_word_types
    from vocap.unigram.text_settings import NFC, settings_of

    trained_with = settings_of(source.proto)
    composing = replace(trained_with, normalization=NFC)  # a table, which the file does not name
    if extending.normalises_alike(source.proto, composing, settings["coverage"]):
        trained_with = composing
    words = load_word_types(
        {"train": lambda: read_blocks(path)}, coverage=settings["coverage"], settings=trained_with
    )
    logger.info("%s: %d lines, %d word types", path, words.sentences["train"], words.trained)
    if not extending.normalises_alike(source.proto, trained_with, settings["coverage"]):
        logger.warning(
            "%s: another normaliser than this SentencePiece trains with; some new pieces may never be used",
            source.path,
        )
    if not words.required:
        raise VocapError(f"{path}: no text in it; give text with a sentence a line")
    wanted, symbols = settings["pieces"], source.contents.symbols
    return extending.choose_model(words, source.ids, symbols, wanted, settings["coverage"])


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


def _summary(source, settings, size: int, added: int, checks, alps, out: Path) -> list[str]:
    """The summary: pieces added, their effect on the language and on the others."""
    language = settings["language"]
    total = source.total + added
    shown = [f"{out}: {source.total:,} + {added:,} = {total:,} ids, from a model of {size:,} of {language}"]
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
