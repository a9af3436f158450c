"""The verbs of the vocabularies stage."""

import logging
from pathlib import Path

import click

from vocap import options
from vocap.errors import VocapError
from vocap.vocabularies import COVERAGE

logger = logging.getLogger(__name__)

file = click.Path(dir_okay=False, path_type=Path)
folder = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option("--size", type=int, required=True, help="Ids of the model; <unk>, <s> and </s> are three of them.")
@click.option("--train", "train_path", type=file, required=True, help="Text, a sentence a line.")
@click.option("--heldout", type=file, required=True, help="Held-out text; may be empty.")
@click.option("--models", type=folder, required=True, help="Folder that gets {size}.model.")
@click.option("--point", type=file, required=True, help="Table to write: the curve's row of this size.")
@options.coverage(COVERAGE, "Share of characters that must be pieces.")
@click.option(
    "--threads", type=options.THREADS, default=1, show_default=True, help="Another number can change pieces."
)
def train(size, train_path, heldout, models, point, coverage, threads):
    """Train one unigram model, and give its ALP on all train and held-out lines.

    A size that the text cannot reach is no error: the table says why.
    """
    from vocap.vocabularies import training
    from vocap.vocabularies.curve import Point, write_points

    training.require_reference()
    model_path = models / f"{size}.model"
    if not heldout.exists():
        raise VocapError(f"{heldout}: no such file; give held-out lines, or an empty file")
    try:
        model = training.train(train_path, size, coverage, threads)
    except training.Unreachable as unreachable:
        logger.info("%s: size %d: %s", train_path, size, unreachable.reason)
        model_path.unlink(missing_ok=True)
        models.mkdir(parents=True, exist_ok=True)
        write_points(point, [Point(size, status=unreachable.reason)])
        return

    import sentencepiece

    from vocap.files import replacing
    from vocap.vocabularies.alp import corpus_alp
    from vocap.vocabularies.encoders import SentencePieceEncoder
    from vocap.vocabularies.text import read_blocks

    encoder = SentencePieceEncoder(sentencepiece.SentencePieceProcessor(model_proto=model))
    on_train = corpus_alp(encoder, read_blocks(train_path))
    on_heldout = corpus_alp(encoder, read_blocks(heldout))
    with replacing(model_path, "wb") as output:
        output.write(model)
    row = Point(
        size,
        pieces=encoder.size,
        alp=on_train.alp,
        alp_heldout=on_heldout.alp if on_heldout else None,
        tokens_per_sentence=on_train.tokens_per_sentence,
    )
    write_points(point, [row])
    logger.info("%s: size %d: ALP %.3f, held-out %s", train_path, size, row.alp, row.alp_heldout)


@click.command()
@click.option("--train", "train_path", type=file, required=True, help="The text that the models were trained on.")
@click.option("--models", type=folder, required=True, help="Folder with {size}.model.")
@click.option("-o", "--output", type=file, required=True, help="Table to write: the curve.")
@click.option("--characters", type=file, required=True, help="Table to write: characters of the normalised text.")
@click.option("--index", type=file, required=True, help="Index of all models' pieces to write.")
@click.argument("points", nargs=-1, required=True, type=file)
def curve(train_path, models, output, characters, index, points):
    """Join the POINTS of one language's sizes into its curve; index its pieces, count its characters."""
    from vocap.vocabularies.character_table import write_characters
    from vocap.vocabularies.coverage import character_counts
    from vocap.vocabularies.curve import read_points, write_points
    from vocap.vocabularies.index import build, fingerprint, save_index, text_pieces
    from vocap.vocabularies.text import read_blocks

    rows, origins = [], {}
    for path in points:
        for row in read_points(path):
            if row.size in origins:
                raise VocapError(f"{path}: size {row.size} again, after {origins[row.size]}; give every size once")
            origins[row.size] = path
            rows.append(row)
    rows.sort(key=lambda row: row.size)
    trained = [row for row in rows if row.ok]
    vocabularies = (  # one at a time: the names of five hundred models' pieces would take a gigabyte
        text_pieces(_checked_model(models / f"{row.size}.model", row, origins[row.size])) for row in trained
    )
    sizes = [row.size for row in trained]
    indexed = build(sizes, vocabularies).of(fingerprint(models, sizes))
    counts = character_counts(read_blocks(train_path))
    lines = sum(map(len, read_blocks(train_path)))

    write_characters(characters, counts, lines)  # whatever can go wrong with the input has gone wrong before
    save_index(indexed, index)
    write_points(output, rows)


def _checked_model(path, row, origin):
    from vocap.vocabularies.model_file import read_pieces

    remedy = f"delete {origin} and run again, and it is trained anew"
    try:
        model = read_pieces(path)
    except VocapError as error:
        raise VocapError(f"{error}; or {remedy}") from None
    if len(model.pieces) != row.pieces:
        raise VocapError(f"{path}: {len(model.pieces)} pieces, but {origin} says {row.pieces}; {remedy}")
    return model


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", type=file)
@click.option("--json", "as_json", is_flag=True, help="Also tokens, sentences, unknown rate, as one JSON object.")
def alp(model, text, as_json):
    """Average log probability of a TEXT under any SentencePiece or Hugging Face tokenizer (Equation 1).

    MODEL is a .model, a tokenizer.json or a folder that holds one. Every line of TEXT counts; natural logarithm.
    """
    import json

    from vocap.vocabularies.alp import corpus_alp
    from vocap.vocabularies.encoders import load_encoder
    from vocap.vocabularies.text import read_blocks

    encoder = load_encoder(model)
    result = corpus_alp(encoder, read_blocks(text))
    if result is None:
        raise VocapError(f"{text}: no lines, so no mean; give a text with a sentence a line")
    if not as_json:
        click.echo(repr(result.alp))
        return
    unknown = 0 if encoder.unk_id is None else int(result.counts[encoder.unk_id])
    click.echo(
        json.dumps(
            {
                "alp": result.alp,
                "tokens": result.tokens,
                "sentences": result.sentences,
                "tokens_per_sentence": result.tokens_per_sentence,
                "vocabulary": encoder.size,
                "unk_rate": unknown / result.tokens if result.tokens else 0.0,
            }
        )
    )
