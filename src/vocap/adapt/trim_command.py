"""`vocap trim`: a tokenizer, and its model, for some of its languages."""

import logging
from collections.abc import Collection, Mapping
from pathlib import Path

import click
import numpy as np

from vocap.errors import UsageError, VocapError
from vocap.tokenizer_files.layout import Contents

logger = logging.getLogger(__name__)
PATH = click.Path(path_type=Path)


@click.command()
@click.argument("tokenizer", type=PATH)
@click.option("--languages", metavar="CODES", help="Comma-separated; all that have text unless given.")
@click.option("--text", "texts", multiple=True, metavar="LANG=FILE", help="Text of a language; may be repeated.")
@click.option(
    "--heldout", "heldouts", multiple=True, metavar="LANG=FILE", help="Its held-out text; may be repeated."
)
@click.option(
    "--corpora",
    type=PATH,
    help="Folder with {language}/train.txt and heldout.txt [default: the corpora of the run that made TOKENIZER]",
)
@click.option("--vocabulary", type=PATH, help="Table of pieces and their languages [default: pieces.tsv]")
@click.option("--only-used", is_flag=True, help="Drop the languages' own pieces, too, where the text lacks them.")
@click.option("--min-count", default=1, show_default=True, type=click.IntRange(1), help="Uses of a kept piece.")
@click.option("--all-characters", is_flag=True, help="Keep every single character, of any language.")
@click.option("--model", "model_folder", type=PATH, help="Its Hugging Face model, to be reduced too.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder to write.")
def trim(
    tokenizer,
    languages,
    texts,
    heldouts,
    corpora,
    vocabulary,
    only_used,
    min_count,
    all_characters,
    model_folder,
    out,
) -> None:
    """Reduce a tokenizer to the pieces that some languages need.

    TOKENIZER is results/tokenizers/NAME, a SentencePiece unigram .model, or a tokenizer.json of byte-pair
    encoding. Kept are the pieces that the text uses, those of the languages, and the characters of both; of merges
    those applied in the text, and their parts. Then every line is segmented again and compared.
    Writes a tokenizer's folder, ids.tsv (old and new ids), comparison.tsv and, with --model, model/.
    """
    if vocabulary is not None and only_used:
        raise UsageError("--vocabulary keeps the languages' own pieces, --only-used drops them; give one of them")
    from vocap.adapt.folder import load_source
    from vocap.bpe.model_file import is_bpe
    from vocap.text_files.named_texts import find_texts, parse_files, parse_languages

    if pairs := is_bpe(tokenizer):
        from vocap.adapt.pair_files import load_pairs

        if vocabulary is not None:
            raise UsageError("--vocabulary: pieces of byte-pair encoding belong to no language; leave it out")
        source = load_pairs(tokenizer)
    else:
        source = load_source(tokenizer)
    if corpora is None and not texts:
        corpora = source.corpora
    files = find_texts(texts, corpora, parse_languages(languages), ["train", "heldout"])
    for code, path in parse_files(heldouts, "--heldout").items():
        if code not in files:
            raise UsageError(f"--heldout {code}={path}: {code} is not among the languages; give it text too")
        files[code]["heldout"] = path
    model = _load_model(model_folder, source) if model_folder is not None else None
    if pairs:
        from vocap.adapt.pair_trim import trim_pairs

        settings = {"languages": list(files), "min_count": min_count, "all_characters": all_characters}
        checks, facts, total = trim_pairs(source, files, settings, model, out)
        _show(_summary(checks, facts), out, total, source.total)
        return
    owners = {} if only_used else source.owners(vocabulary)
    owned = {piece for piece, codes in owners.items() if not files.keys().isdisjoint(codes)}
    if vocabulary is not None and not owned:
        raise VocapError(f"{vocabulary}: no piece of {', '.join(files)} there; name another table")
    settings = {
        "languages": list(files),
        "min_count": min_count,
        "only_used": only_used,
        "all_characters": all_characters,
    }
    rows, total = _trim(source, files, owners, owned, settings, model, out)
    _show(rows, out, total, source.total)


def _show(rows: list[str], out: Path, total: int, before: int) -> None:
    for line in rows:
        click.echo(line)
    click.echo(f"{out}: {total} of {before} ids", err=True)


def _load_model(folder: Path, source):
    from vocap.adapt import model_rows
    from vocap.adapt.folder import SourceTokenizer

    names = source.layout.names if isinstance(source, SourceTokenizer) else []
    if missing := [token for token in names if token not in source.ids]:
        raise VocapError(
            f"{source.path}: no id for {', '.join(missing)}, which a model needs; name the folder of the "
            "tokenizer, with its tokenizer.json"
        )
    model_rows.check_ids(folder, source.ids)
    model = model_rows.load_model(folder)
    if not names:
        model_rows.check_rows(model, source.total - 1)
        return model
    after = {entry.token: number for number, entry in enumerate(source.layout.special)}
    model_rows.check_specials(model, {token: source.ids[token] for token in names}, after)
    return model


def _trim(source, files, owners, owned, settings, model, out: Path) -> tuple[list[str], int]:
    """Choose, build, compare, write. Returns the lines to print and T."""
    from sentencepiece import SentencePieceProcessor

    from vocap.adapt.folder import compare_texts, count_uses, trim_facts, write_adapted
    from vocap.tokenizer_files.encoders import SentencePieceEncoder
    from vocap.tokenizer_files.layout import lay_out, serialize

    pieces, removable = source.encoder.pieces, set(source.contents.pieces)
    text, heldout = (
        {pieces[n]: int(count[n]) for n in np.flatnonzero(count)} for count in count_uses(source.encoder, files)
    )
    options = (owned, settings["min_count"], settings["all_characters"])
    kept = choose(source.contents, text, heldout, *options)
    foreseen = choose(source.contents, text, {}, *options)
    proto = lay_out(
        with_pieces(source.contents, kept), source.proto.normalizer_spec, source.layout, source.proto.trainer_spec
    )
    after = SentencePieceEncoder(SentencePieceProcessor(model_proto=serialize(proto)))
    number = {piece: new for new, piece in enumerate(after.pieces)}
    renamed = {old: number[piece] for old, piece in enumerate(pieces) if piece in number}
    known = np.array([piece not in removable or piece in foreseen for piece in pieces])
    checks = compare_texts(source.encoder, after, renamed, files, known)
    ids = [
        (source.ids.get(entry.piece), number, entry.piece, kept.get(entry.piece, "special"))
        for number, entry in enumerate(proto.pieces)
    ]
    if model is not None:
        from vocap.adapt.model_rows import replace_rows

        replace_rows(model, [[old] for old, *_ in ids])
    facts = trim_facts(kept.values(), REASONS, checks)
    write_adapted(
        out,
        source.layout,
        "trimmed",
        proto,
        settings,
        ids,
        checks,
        {piece: codes for piece, codes in owners.items() if piece in kept},
        "as in the tokenizer that was trimmed, every one",
        model,
        rounding="none: every score is as it was",
        total_before=source.total,
        **facts,
    )
    return _summary(checks, facts), len(proto.pieces)


def _summary(checks, facts) -> list[str]:
    """The summary: pieces kept by reason, and lines that changed."""
    lines, identical = facts["lines_compared"], facts["lines_identical"]
    reasons = (f"{count:,} {reason}" for reason, count in facts["kept_for"].items() if count)
    shown = [f"kept: {', '.join(reasons)}"]
    for (code, part), found in checks.items():
        if found.lines:
            note = f"{code} {part}: {found.identical:,} of {found.lines:,} lines as before"
            if found.unforeseen is not None:
                share = 100 * found.unforeseen / found.lines
                note += f"; {found.unforeseen:,} ({share:.2f} %) use pieces that only this text kept"
            shown += [note, *(f"  {example}" for example in found.examples)]
    verdict = "all the same" if lines == identical else f"{lines - identical:,} differ"
    return [*shown, f"{lines:,} lines compared, {verdict}"]


# reasons to keep a piece, in this order
TEXT, HELDOUT, LANGUAGE, CHARACTER, EXTREME = "text", "heldout", "language", "character", "extreme"
REASONS = (TEXT, HELDOUT, LANGUAGE, CHARACTER, EXTREME)


def choose(
    contents: Contents,
    text: Mapping[str, int],
    heldout: Mapping[str, int],
    owned: Collection[str] = (),
    least: int = 1,
    all_characters: bool = False,
) -> dict[str, str]:
    """The pieces that stay, in the order of `contents`, each with its reason.

    `text` and `heldout`: counts of each piece in the segmented training and held-out text (absent: 0). A piece of
    several characters stays if it occurs `least` times in both together, a single character if it occurs at all;
    all of `owned`; the characters of every piece that stays (or, with `all_characters`, all there are); and the
    pieces of the lowest and of the highest score.
    """
    kept: dict[str, str] = {}
    for piece in contents.pieces:
        times = text.get(piece, 0) + heldout.get(piece, 0)
        if times >= least or (times and len(piece) == 1):
            kept[piece] = TEXT if text.get(piece) else HELDOUT
        elif piece in owned:
            kept[piece] = LANGUAGE
    written = set("".join(kept))
    for piece in contents.pieces:
        if len(piece) == 1 and (all_characters or piece in written):
            kept.setdefault(piece, CHARACTER)
    scores = np.asarray(contents.scores)
    for extreme in (int(scores.argmin()), int(scores.argmax())):
        kept.setdefault(contents.pieces[extreme], EXTREME)
    return {piece: kept[piece] for piece in contents.pieces if piece in kept}


def with_pieces(contents: Contents, kept: Collection[str]) -> Contents:
    """`contents` with these pieces alone, scores as they are; symbols and byte pieces stay."""
    places = [place for place, piece in enumerate(contents.pieces) if piece in kept]
    pieces = [contents.pieces[place] for place in places]
    return Contents(
        pieces, np.asarray(contents.scores)[places], contents.symbols, contents.byte_fallback, contents.controls
    )
