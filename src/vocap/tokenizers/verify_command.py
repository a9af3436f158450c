"""`vocap verify`: a tokenizer's ids under the versions that are installed here."""

import logging
from importlib.util import find_spec
from pathlib import Path

import click

logger = logging.getLogger(__name__)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def verify(folder: Path) -> int:
    """Check a tokenizer's ids against the golden hashes in FOLDER, under the installed versions.

    FOLDER is a huggingface/ folder of vocap export, trim or extend. Checked are tokenizers, transformers where it
    is installed, and SentencePiece where FOLDER or the folder above it holds sentencepiece.model. Exit status 1
    where any id differs.
    """
    from vocap.tokenizers.golden import check, read_golden
    from vocap.vocabularies.encoders import SentencePieceEncoder, load_encoder
    from vocap.vocabularies.guarded_tokenizer import GuardedTokenizer
    from vocap.vocabularies.model_file import load_processor

    content = read_golden(folder)
    results = []
    model = next((path for path in _models(folder) if path.is_file()), None)
    if model is None:
        logger.info("%s: no sentencepiece.model there or above, so SentencePiece is not checked", folder)
    else:
        encoder = SentencePieceEncoder(load_processor(model))
        results.append(check(content, "sentencepiece", encoder.pieces, encoder.encode_batch))
    encoder = load_encoder(folder / "tokenizer.json")
    results.append(check(content, "tokenizers", encoder.pieces, encoder.encode_batch))
    if find_spec("transformers") is None:
        logger.info("transformers is not installed, so not checked")
    else:
        loaded = GuardedTokenizer("transformers", folder)
        by_id = {number: piece for piece, number in loaded.get_vocab().items()}
        pieces = [by_id.get(number) for number in range(max(by_id, default=-1) + 1)]

        def encode(texts: list[str]) -> list[list[int]]:
            return [entry.ids for entry in loaded.encode_batch_fast(texts)]

        results.append(check(content, "transformers", pieces, encode))
    for result in results:
        if not result.vocabulary:
            verdict = "pieces have other ids"
        elif result.different:
            total = len(content["texts"])
            verdict = f"ids differ in {len(result.different)} of {total} texts, first {result.different[0]!r}"
        else:
            verdict = "all ids as they were made"
        click.echo(f"{result.form} {result.version} (made with {result.made_with}): {verdict}")
    return int(any(result.different or not result.vocabulary for result in results))


def _models(folder: Path) -> tuple[Path, Path]:
    return folder / "sentencepiece.model", folder.resolve().parent / "sentencepiece.model"
