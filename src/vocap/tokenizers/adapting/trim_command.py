"""`vocap trim`: a tokenizer, and its model, for some of its languages."""

import logging
from pathlib import Path

import click

from vocap.errors import UsageError, VocapError

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
@click.option("--vocabulary", type=PATH, help="Table of which pieces are whose [default: pieces.tsv]")
@click.option("--only-used", is_flag=True, help="Drop the languages' own pieces, too, where the text lacks them.")
@click.option("--min-count", default=1, show_default=True, type=click.IntRange(1), help="Uses that keep a piece.")
@click.option("--all-characters", is_flag=True, help="Keep every single character, of any language.")
@click.option("--model", "model_folder", type=PATH, help="Its Hugging Face model, to be cut too.")
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
    """Cut a tokenizer down to the pieces that some languages need.

    TOKENIZER is results/tokenizers/NAME, or a SentencePiece unigram .model. Kept is what the text uses, what
    belongs to the languages, and the characters of both; then every line is segmented again and compared. Writes
    a tokenizer's folder, ids.tsv (old and new ids), comparison.tsv and, with --model, model/.
    """
    if vocabulary is not None and only_used:
        raise UsageError("--vocabulary keeps the languages' own pieces and --only-used does not; give one of them")
    from vocap.tokenizers.adapting.source import load_source
    from vocap.tokenizers.texts import find_texts, parse_files, parse_languages

    source = load_source(tokenizer)
    if corpora is None:
        beside = source.path.parent.parent.parent / "corpora"
        corpora = beside if not texts and beside.is_dir() else None
    files = find_texts(texts, corpora, parse_languages(languages), ["train", "heldout"])
    for code, path in parse_files(heldouts, "--heldout").items():
        if code not in files:
            raise UsageError(f"--heldout {code}={path}: {code} is not among the languages; give it text too")
        files[code]["heldout"] = path
    model = _load_model(model_folder, source) if model_folder is not None else None
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
    for line in rows:
        click.echo(line)
    click.echo(f"{out}: {total} of {source.total} ids", err=True)


def _load_model(folder: Path, source):
    from vocap.tokenizers.adapting import model_rows
    from vocap.tokenizers.adapting.source import special_ids
    from vocap.tokenizers.settings import META

    if missing := [token for token in META if token not in source.ids]:
        raise VocapError(
            f"{source.path}: no id for {', '.join(missing)}, which a model needs; name the folder of the "
            "tokenizer, with its tokenizer.json"
        )
    model_rows.check_ids(folder, source.ids)
    model = model_rows.load_model(folder)
    after = {token: number for number, token in enumerate(META[:-1])} | {META[-1]: -1}
    model_rows.check_specials(model, special_ids(source.ids), after)
    return model


def _trim(source, files, owners, owned, settings, model, out: Path) -> tuple[list[str], int]:
    """Choose, build, compare, write. Returns the lines to print and T."""
    from sentencepiece import SentencePieceProcessor

    from vocap.tokenizers.adapting import trimming
    from vocap.tokenizers.adapting.writing import write_adapted
    from vocap.tokenizers.layout import lay_out, serialize
    from vocap.vocabularies.encoders import SentencePieceEncoder

    uses = _count_uses(source, files)
    options = (owned, settings["min_count"], settings["all_characters"])
    kept = trimming.choose(source.contents, uses["text"], uses["heldout"], *options)
    foreseen = trimming.choose(source.contents, uses["text"], {}, *options)
    proto = lay_out(trimming.trim(source.contents, kept), source.proto.normalizer_spec)
    after = SentencePieceEncoder(SentencePieceProcessor(model_proto=serialize(proto)))
    proofs = _compare(source, after, files, foreseen)
    ids = [
        (source.ids.get(entry.piece), number, entry.piece, kept.get(entry.piece, "special"))
        for number, entry in enumerate(proto.pieces)
    ]
    if model is not None:
        from vocap.tokenizers.adapting.model_rows import replace_rows

        replace_rows(model, [[old] for old, *_ in ids])
    reasons = {reason: sum(why == reason for why in kept.values()) for reason in trimming.REASONS}
    lines = sum(found.lines for found in proofs.values())
    identical = sum(found.identical for found in proofs.values())
    write_adapted(
        out,
        "trimmed",
        proto,
        settings,
        ids,
        proofs,
        {piece: codes for piece, codes in owners.items() if piece in kept},
        "as in the tokenizer that was trimmed, every one",
        model,
        rounding="none: every score is as it was",
        total_before=source.total,
        kept_for=reasons,
        lines_compared=lines,
        lines_identical=identical,
    )
    return _summary(proofs, reasons, lines, identical), len(proto.pieces)


def _count_uses(source, files) -> dict[str, dict[str, int]]:
    """How often each piece stands in the segmented text, and in the held-out text."""
    import numpy as np

    from vocap.tokenizers.texts import read_sentences
    from vocap.vocabularies.word_counts import count_by_words

    counts = {name: np.zeros(source.encoder.size, np.int64) for name in ("text", "heldout")}
    for parts in files.values():
        for part, path in parts.items():
            name = "heldout" if part == "heldout" else "text"
            counts[name] += count_by_words(source.encoder, read_sentences(path))[0]
    if not any(count.any() for count in counts.values()):
        raise VocapError("no line in any text; give text with a sentence a line")
    pieces = source.encoder.pieces
    return {name: {pieces[n]: int(count[n]) for n in np.flatnonzero(count)} for name, count in counts.items()}


def _compare(source, after, files, foreseen) -> dict:
    """The proof of every language and part; of held-out text also what was not `foreseen` without it."""
    import numpy as np

    from vocap.tokenizers.adapting import proof
    from vocap.tokenizers.texts import read_sentences

    pieces, removable = source.encoder.pieces, set(source.contents.pieces)
    number = {piece: new for new, piece in enumerate(after.pieces)}
    renamed = {old: number[piece] for old, piece in enumerate(pieces) if piece in number}
    known = np.array([piece not in removable or piece in foreseen for piece in pieces])
    return {
        (code, part): proof.compare(
            source.encoder, after, renamed, read_sentences(path), known if part == "heldout" else None
        )
        for code, parts in files.items()
        for part, path in parts.items()
    }


def _summary(proofs, reasons, lines: int, identical: int) -> list[str]:
    """What a person wants to know: what was kept and why, and whether anything changed."""
    shown = [f"kept: {', '.join(f'{count:,} {reason}' for reason, count in reasons.items() if count)}"]
    for (code, part), found in proofs.items():
        if found.lines:
            note = f"{code} {part}: {found.identical:,} of {found.lines:,} lines as before"
            if found.unforeseen is not None:
                share = 100 * found.unforeseen / found.lines
                note += f"; {found.unforeseen:,} ({share:.2f} %) use pieces that only this text kept"
            shown += [note, *(f"  {example}" for example in found.examples)]
    verdict = "all the same" if lines == identical else f"{lines - identical:,} differ"
    return [*shown, f"{lines:,} lines compared, {verdict}"]
