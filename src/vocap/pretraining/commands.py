"""`vocap tokenize`: the text of one language as blocks of token ids."""

import logging
import time
from pathlib import Path

import click

from vocap import options
from vocap.errors import VocapError

log = logging.getLogger(__name__)
PATH = click.Path(path_type=Path)


@click.command
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option("--tokenizer", required=True, type=PATH, help="A sentencepiece.model of vocap fit, joint or mono.")
@click.option("--language", required=True, type=options.Code(), help="Its code.")
@click.option("--heldout", required=True, type=PATH, help="Lines to measure on; they are left out of FILEs.")
@click.option(
    "--format",
    "layout",
    default="text",
    show_default=True,
    help="Text, jsonl:FIELD, tsv:COLUMN or parquet:COLUMN.",
)
@click.option("--split-sentences", is_flag=True, help="Cut lines into sentences: for whole articles.")
@click.option("--escaped-newlines", is_flag=True, help="A backslash and an n stand for a line end.")
@click.option("--length", type=click.IntRange(8, 1 << 16), default=512, show_default=True, help="Ids of a block.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder for the blocks.")
def tokenize(files, tokenizer, language, heldout, layout, split_sentences, escaped_newlines, length, out) -> None:
    """Turn one language's text into blocks of token ids, for pre-training.

    FILEs are files, folders (all files in them) or quoted patterns; plain, gzip, xz, zstd or bzip2, one sentence
    a line, read once, in bounded memory, without a limit. A block is <s> and whole sentences, each ended by </s>.
    The same call resumes one that was killed.
    """
    from vocap.corpora.corpus import check_present
    from vocap.corpora.patterns import expand_all
    from vocap.corpora.records import Layout
    from vocap.pretraining.tokenizing import tokenize_language

    parsed = Layout.parse(layout, split_sentences, escaped_newlines)
    files = [path for path in expand_all(files) if not _is_empty(path)]
    check_present(language, files)
    if not heldout.exists():
        raise VocapError(f"{heldout}: no such file; make it with: vocap sample")
    told = tokenize_language(language, files, parsed, heldout, tokenizer, out, length, _progress(language))
    train = told["train"]
    if not train["blocks"]:
        log.warning("%s: no text to pre-train on; models are trained without it", language)
        return
    log.info(
        "%s: %s lines, %s tokens in %s blocks (%.2f bytes a token); held out: %s blocks",
        language, f"{train['lines']:,}", f"{train['text_tokens']:,}", f"{train['blocks']:,}",
        train["bytes"] / max(1, train["text_tokens"]), f"{told['heldout']['blocks']:,}",
    )  # fmt: skip


def _is_empty(path: str) -> bool:
    """Whether the file is there and holds nothing: a language that its source lacks."""
    return Path(path).is_file() and not Path(path).stat().st_size


def _progress(language: str, every_s: float = 30.0):
    """A line on standard error every so often, with the time left."""
    start = last = time.monotonic()

    def tell(file, lines: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= every_s:
            last = now
            share = file.consumed / file.size if file.size else 0.0
            left = f", about {(now - start) * (1 - share) / share / 60:.0f} min left" if share else ""
            log.info("%s: %s lines, %.0f %% of %s%s", language, f"{lines:,}", 100 * share, file.path, left)

    return tell
