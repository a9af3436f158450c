"""`vocap tokenize`, `vocap pretrain`, `vocap code-length`: blocks of a language, a
model, its bits per byte.

Imports in functions keep torch away until its environment is set.
"""

import os
from pathlib import Path

import click

from vocap import options
from vocap.errors import UsageError, VocapError, log
from vocap.files.paths import expand_all
from vocap.pretraining.settings import read_recipe
from vocap.pretraining.tokenizing import tokenize_language
from vocap.text_files import Layout
from vocap.text_files.named_texts import find_aligned, find_texts, parse_languages
from vocap.text_files.records import check_present

PATH = click.Path(path_type=Path)


@click.command
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--tokenizer",
    required=True,
    type=PATH,
    help="Of vocap fit, joint or mono: sentencepiece.model; of vocap bpe: tokenizer.json.",
)
@click.option("--language", required=True, type=options.Code(), help="Its code.")
@click.option(
    "--heldout", required=True, type=PATH, help="Lines to measure on; they are left out of FILEs."
)
@options.layout
@click.option("--length", type=click.IntRange(8, 1 << 16), default=512, help="Ids of a block.")
@click.option("-o", "--output", "out", required=True, type=PATH, help="Folder for the blocks.")
def tokenize(
    files,
    tokenizer,
    language,
    heldout,
    layout,
    split_sentences,
    escaped_newlines,
    documents,
    length,
    out,
) -> None:
    """Turn one language's text into blocks of token ids, for pre-training.

    FILEs are files, folders (all files in them) or quoted patterns; plain, gzip, xz,
    zstd or bzip2, one sentence a line, read once, in bounded memory, without a limit. A
    block is whole sentences, each ended by the tokenizer's end token (</s>), behind its
    start token (<s>).
    """
    parsed = Layout.parse(layout, split_sentences, escaped_newlines, documents)
    # an empty file stands for a language that its source lacks
    files = [
        path
        for path in expand_all(files)
        if not (Path(path).is_file() and not Path(path).stat().st_size)
    ]
    check_present(language, files)
    if not heldout.exists():
        raise VocapError(f"{heldout}: no such file; make it with: vocap sample")
    made = tokenize_language(language, files, parsed, heldout, tokenizer, out, length)
    train = made["train"]
    if not train["blocks"]:
        log.warning("%s: no text to pre-train on; models are trained without it", language)
        return
    log.info(
        "%s: %s lines, %s tokens in %s blocks (%.2f bytes a token); held out: %s blocks",
        language, f"{train['lines']:,}", f"{train['text_tokens']:,}", f"{train['blocks']:,}",
        train["bytes"] / max(1, train["text_tokens"]), f"{made['heldout']['blocks']:,}",
    )  # fmt: skip


@click.command
@click.option(
    "--tokenizer",
    required=True,
    type=PATH,
    help="Folder of a tokenizer: its file, and huggingface/.",
)
@click.option("--tokens", required=True, type=PATH, help="Holds {language}/ of vocap tokenize.")
@click.option("--languages", metavar="CODES", help="Comma-separated; default: all of --tokens.")
@click.option(
    "--weights", type=PATH, help="Table with language and n, where the settings weigh by corpora."
)
@click.option(
    "--settings", "file", type=PATH, help="YAML or JSON: the keys of pretraining: models: NAME."
)
@click.option("--settings-json", metavar="TEXT", help="The same as JSON text.")
@click.option("--seed", type=options.SEED, default=1, help="Where the settings have none.")
@options.threads("On a CPU.", default=2)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=1),
    help="Instead of the settings' number of steps.",
)
@click.option("--keep-checkpoints", is_flag=True, help="Keep them when the run has ended well.")
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=PATH,
    help="Gets model/, metrics.jsonl, checkpoints/.",
)
def pretrain(
    tokenizer,
    tokens,
    languages,
    weights,
    file,
    settings_json,
    seed,
    threads,
    checkpoint_every,
    keep_checkpoints,
    out,
) -> None:
    """Pre-train one language model.

    Resumes from checkpoints of the same command, if any. SIGTERM, SIGURG and Ctrl-C
    leave a checkpoint and end with status 75. Start it with torchrun for several
    processes.
    """
    recipe = read_recipe(file, settings_json)
    if checkpoint_every:
        recipe = recipe.model_copy(update={"checkpoint_every": checkpoint_every})
    found = sorted(path.parent.name for path in tokens.glob("*/description.json"))
    if not found:
        raise UsageError(f"{tokens}: no language's blocks there; make them with: vocap tokenize")
    _prepare_torch(threads)
    from vocap.pretraining.training import Folders, train

    folders = Folders(tokenizer, tokens, weights, out)
    seed = seed if recipe.seed is None else recipe.seed
    codes = languages.split(",") if languages else found
    train(recipe, seed, folders, codes, threads, keep_checkpoints)


def _prepare_torch(threads: int) -> None:
    """Set threads and memory, before torch starts."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    # waiting threads that spin take the cores of other jobs: with ten times as many
    # threads as cores a step took 14 s, with this 3 s
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # the first touch of fresh memory is a tenth of a k-NN head's time on a CPU; of huge
    # pages there are fewer
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


@click.command("code-length")
@click.option(
    "--model",
    required=True,
    type=PATH,
    help="Folder of a causal Hugging Face model with its tokenizer.",
)
@click.option("--corpora", type=PATH, help="Folder with {language}/heldout.txt, to measure on.")
@click.option(
    "--text", "texts", multiple=True, metavar="LANG=FILE", help="Or a file, may be repeated."
)
@click.option(
    "--parallel", metavar="PATTERN", help="Line-aligned text to measure on, as text/{lang}.txt."
)
@click.option(
    "--languages", metavar="CODES", help="Comma-separated; all that have text unless given."
)
@click.option("--lines", type=click.IntRange(1), default=500, help="Of each file, at most.")
@options.threads("On a CPU.", default=2)
@click.option(
    "-o",
    "--output",
    required=True,
    type=PATH,
    help="Table to write; .npz beside it has every line.",
)
def code_length(model, corpora, texts, parallel, languages, lines, threads, output) -> None:
    """Measure the bits per byte of text under a causal language model, line by line.

    The sum of -log2 p over all tokens of a line and its end token, behind the start
    token, and 8 bits for each byte of an unknown character, over the UTF-8 bytes of the
    raw line.
    """
    codes, found = parse_languages(languages), {}
    if corpora or texts or not parallel:
        named = find_texts(texts, corpora, codes, ["heldout"])
        found = {("heldout", code): next(iter(files.values())) for code, files in named.items()}
    if parallel:
        wanted = codes or [code for _, code in found]
        if not wanted:
            raise UsageError("--parallel alone does not say which languages; give --languages")
        aligned, without = find_aligned(parallel, wanted)
        found |= {("parallel", code): path for code, path in aligned.items()}
        if without:
            log.warning("no parallel text, left out: %s", " ".join(without))
    _prepare_torch(threads)
    from vocap.pretraining.code_length import measure_code_length

    name, parts = measure_code_length(model, found, lines, threads, output)
    shown = ", ".join(f"{part} {bits:.4f}" for part, bits in parts.items())
    log.info("%s: bits per byte (%s): %s", output, name, shown)
